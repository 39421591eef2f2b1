import Foundation
import MessagePack
import ProcessSupport
import SamovarCore
import SamovarWire
import Testing
import ZeroMQ

/// A worker of the counter that does what a test says, right or wrong.
struct ScriptedWorker: ~Copyable {
    private let context: Context
    private var socket: Socket
    private var timeline = Timeline.zero
    private var poller: Poller

    init(at address: String) throws {
        let context = try Context()
        let socket = try Self.connected(context, address)
        var poller = Poller()
        _ = poller.add(socket)
        self.context = context
        self.socket = socket
        self.poller = poller
    }

    private static func connected(_ context: Context, _ address: String) throws -> Socket {
        var socket = try Socket(context, .dealer, options: .worker)
        try socket.connect(address)
        return socket
    }

    mutating func greet() throws {
        var offer = WorkerOffer(id: UniqueID(high: 7, low: 7), slots: 1, queues: [.default])
        offer.running = []
        try send(.hello(Hello(role: .worker(offer), schema: Schema(name: "Counter", version: 1))))
        let welcome = try next { if case .welcome = $0 { true } else { false } }
        timeline = welcome.timeline
        try send(.credit(10))
    }

    mutating func nextTask() throws -> JobTask {
        let envelope = try next { if case .task = $0 { true } else { false } }
        guard case .task(let tasks, _) = envelope.frame, let task = tasks.first else { throw Missing() }
        return task
    }

    mutating func answer(_ task: JobTask, count: Int) throws {
        let message: MessagePackValue = ["finished": ["count": .int(Int64(count))]]
        var writer = MessagePackWriter()
        writer.write(message)
        let result = JobResult(effect: task.effect, lease: task.lease, token: task.token, answer: .done([writer.bytes]))
        try send(.result([result], credit: 10))
    }

    mutating func waitForAcknowledgements(_ number: Int) throws {
        var count = 0
        while count < number {
            let envelope = try next { if case .acknowledge = $0 { true } else { false } }
            if case .acknowledge(let leases) = envelope.frame { count += leases.count }
        }
    }

    private mutating func send(_ frame: Frame) throws {
        let parts = Envelope(frame, timeline: timeline).parts
        let end = ContinuousClock.now + patience
        while try socket.send(parts) != .sent {
            guard ContinuousClock.now < end else { throw Missing() }
            try poller.wait(timeoutMilliseconds: 10)
        }
    }

    private mutating func next(_ isWanted: (Frame) -> Bool) throws -> Envelope {
        let end = ContinuousClock.now + patience
        while ContinuousClock.now < end {
            try poller.wait(timeoutMilliseconds: 100)
            while let message = try socket.receive() {
                let envelope = try Envelope(parts: message.frames)
                if isWanted(envelope.frame) { return envelope }
            }
        }
        throw Missing()
    }

    /// The store did not send what the test waits for.
    private struct Missing: Error {}
}

struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        var random = Random(seed: state)
        state &+= 1
        return random.next()
    }
}

/// Writes to a Unix socket as somebody would who speaks another protocol.
func writeRaw(_ bytes: [UInt8], to path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
    try #require(connected == 0)
    #expect(send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0)
}
