import ChaosSupport
import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarPeers
import SamovarWire
import ZeroMQ

/// Many subscribers in one process: each has a SUB socket and a machine of its own; one client asks for the views that any of
/// them misses. Writes down what the first and the last are shown, and once a second how many show which turn.
struct CrowdRole {
    private let endpoint: Endpoint
    private let count: Int

    init(_ arguments: RoleArguments) throws {
        endpoint = try Endpoint(try arguments.text("endpoint"), dataFolder: try arguments.text("data"))
        count = try arguments.number("count")
    }

    private final class Member {
        var socket: Socket?
        var slot: Poller.Slot?
        var machine: SubscriberMachine
        var shown: (turn: Int, bytes: [UInt8]) = (0, [])
        var isAsking = false

        init(_ number: Int) { machine = SubscriberMachine(random: Random(seed: UInt64(number))) }
    }

    func run() throws {
        _ = try raiseDescriptorLimit()
        let context = try Context(maximumSockets: 2 * count + 64)
        var poller = Poller()
        let members = (0..<count).map { Member($0) }
        var front = try Asker(context, endpoint.front, &poller)
        var reported = ContinuousClock.now
        while true {
            try poller.wait(timeoutMilliseconds: 50)
            let now = Timestamp(microseconds: Int64(machineTime()) * 1_000)
            let answer = try front.turn(now, &poller)
            for member in members {
                var actions: [SubscriberMachine.Action] = []
                while let message = try member.socket?.receive() {
                    let envelope = try Envelope(parts: Array(message.frames.dropFirst()))
                    actions += member.machine.received(envelope, now: now)
                }
                if let answer, member.isAsking {
                    member.isAsking = false
                    actions += member.machine.answered(turn: answer.turn, bytes: answer.bytes, timeline: answer.timeline, now: now)
                }
                actions += member.machine.ticked(now: now)
                for action in actions { try perform(action, member, context, &poller, &front) }
            }
            guard ContinuousClock.now - reported > .seconds(1) else { continue }
            reported = .now
            try report(members)
        }
    }

    private func perform(
        _ action: SubscriberMachine.Action, _ member: Member, _ context: Context, _ poller: inout Poller, _ front: inout Asker
    ) throws {
        switch action {
        case .reconnect:
            if let slot = member.slot.take() { poller.remove(slot) }
            member.socket = nil
            var socket = try Socket(context, .subscriber, options: .subscriber)
            try socket.subscribe(viewTopic(of: .main))
            try socket.connect(endpoint.view)
            member.slot = poller.add(socket)
            member.socket = consume socket
        case .show(let turn, let bytes, _): member.shown = (turn, bytes)
        case .requestView(let turn, _):
            member.isAsking = true
            front.wanted = max(front.wanted ?? 0, turn)
        case .live, .stale, .idle, .checkKey, .note: break
        }
    }

    /// `{"members":…,"showing":…,"view":…}`: how many there are, and how many show the newest view that anybody shows.
    private func report(_ members: [Member]) throws {
        guard let newest = members.max(by: { $0.shown.turn < $1.shown.turn })?.shown, !newest.bytes.isEmpty else { return }
        let line = CrowdReport(
            members: members.count, showing: members.count { $0.shown.bytes == newest.bytes },
            view: try MessagePackDecoder().decode(Slate.ViewState.self, from: newest.bytes).bare)
        say(String(decoding: try JSONEncoder().encode(line), as: UTF8.self))
    }
}

/// The front connection that a crowd shares.
private struct Asker: ~Copyable {
    /// The turn that somebody wants a view of.
    var wanted: Int?
    private let context: Context
    private let address: String
    private var slot: Poller.Slot
    private var socket: Socket
    private var machine: ClientMachine
    private var waiting: [Envelope] = []

    init(_ context: Context, _ address: String, _ poller: inout Poller) throws {
        self.context = context
        self.address = address
        let socket = try Self.connected(context, address)
        slot = poller.add(socket)
        self.socket = socket
        machine = ClientMachine(session: .random(), schema: Slate.schema, random: Random(seed: 1))
    }

    private static func connected(_ context: Context, _ address: String) throws -> Socket {
        var socket = try Socket(context, .dealer, options: .client)
        try socket.connect(address)
        return socket
    }

    /// The newest view that came, if one did.
    mutating func turn(_ now: Timestamp, _ poller: inout Poller) throws -> StoreClient.View? {
        var actions: [ClientMachine.Action] = []
        while let message = try socket.receive() {
            actions += machine.received(try Envelope(parts: message.frames), now: now)
        }
        if let turn = wanted {
            wanted = nil
            actions += try machine.requestView(atLeast: turn, now: now)
        }
        actions += machine.ticked(now: now)
        actions += machine.flush(now: now)
        var newest: StoreClient.View?
        for action in actions {
            switch action {
            case .connect, .disconnect:
                waiting.removeAll()
                poller.remove(slot)
                socket = try Self.connected(context, address)
                slot = poller.add(socket)
            case .send(let envelope): waiting.append(envelope)
            case .view(_, let turn, let bytes):
                newest = StoreClient.View(timeline: machine.timeline, turn: turn, bytes: bytes)
            default: break
            }
        }
        while let envelope = waiting.first {
            guard try socket.send(envelope.parts) == .sent else { break }
            waiting.removeFirst()
        }
        return newest
    }
}
