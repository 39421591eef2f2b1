import ChaosSupport
import Foundation
import SamovarCore
import SamovarHost
import SamovarWire
import ZeroMQ

/// Connects to a store again and again, at each listener in turn; every second peer says HELLO before it leaves.
///
/// With `--hold` seconds it keeps all connections that long and is silent on them: half-open peers.
struct ChurnRole {
    private let endpoint: Endpoint
    private let count: Int
    private let hold: Int
    private let listeners: [String]

    init(_ arguments: RoleArguments) throws {
        endpoint = try Endpoint(try arguments.text("endpoint"), dataFolder: try arguments.text("data"))
        count = try arguments.number("count")
        hold = try arguments.number("hold", default: 0)
        listeners = try arguments.text("listeners").split(separator: ",").map(String.init)
    }

    private final class Peer {
        var socket: Socket

        init(_ socket: consuming Socket) { self.socket = socket }
    }

    func run() throws {
        _ = try raiseDescriptorLimit()
        let context = try Context(maximumSockets: 16_384)
        var held: [Peer] = []
        for number in 0..<count {
            let peer = try connect(number, context)
            if hold > 0 { held.append(peer) }
        }
        say("connected \(count)")
        if hold > 0 { sleep(UInt32(hold)) }
    }

    private func connect(_ number: Int, _ context: Context) throws -> Peer {
        let listener = listeners[number % listeners.count]
        // Not 0: that is no identity.
        let id = UniqueID(high: UInt64(getpid()), low: UInt64(number + 1))
        switch listener {
        case "view":
            var socket = try Socket(context, .subscriber, options: .subscriber)
            try socket.subscribe(viewTopic(of: .main))
            try socket.connect(endpoint.view)
            return Peer(socket)
        case "work":
            let offer = WorkerOffer(id: id, slots: 1, queues: ["nobody"])
            return try greet(endpoint.work, .worker(offer), number, context)
        case "misplaced": return try greet(endpoint.work, .client(session: id), number, context)
        default:
            return try greet(endpoint.front, .client(session: id), number, context)
        }
    }

    private func greet(_ address: String, _ role: Hello.Role, _ number: Int, _ context: Context) throws -> Peer {
        var socket = try Socket(context, .dealer, options: .worker)
        try socket.connect(address)
        let hello = Hello(role: role, schema: Slate.schema, witness: 0, epoch: 1)
        guard number % 2 == 0 else { return Peer(socket) }
        var poller = Poller()
        let slot = poller.add(socket)
        poller.setInterest([.writable], for: slot)
        // The handshake has to be over before a message can leave; a store that sheds load never ends it.
        for _ in 0..<3 {
            if try socket.send(Envelope(.hello(hello), timeline: .zero).parts) == .sent { break }
            try poller.wait(timeoutMilliseconds: 50)
        }
        return Peer(socket)
    }
}
