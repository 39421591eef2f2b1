import CZeroMQ
import MessagePack
import ProcessSupport
import Testing

@testable import ZeroMQ

/// Somebody at a door of a store, who says there what the peers of that door say. Who is sent away knocks again, until the visit is over.
final class Visitor {
    enum Outcome: Equatable {
        case served
        /// No frame was heard or taken.
        case turnedAway(ConnectionEnd)
        /// A frame was answered so.
        case refused(Code?)
    }

    enum Proof {
        case security(SocketOptions.Security)
        /// A user and a password, of ZMTP's PLAIN.
        case password
    }

    let door: Door
    let id: [UInt8]
    private let context: Context
    private var socket: Socket
    private var monitor: ConnectionMonitor
    private var timeline = RawFrame.noTimeline
    /// How many messages it has heard.
    private(set) var heard = 0
    /// A task that it has been given.
    var task: RawTask?
    /// Of its inputs, by their numbers.
    private(set) var outcomes: [Int64: Value] = [:]

    init(_ address: String, _ door: Door, _ proof: Proof, id: [UInt8] = randomID()) throws {
        self.door = door
        self.id = id
        context = try Context()
        var options = door == .view ? SocketOptions.subscriber : .client
        if case .security(let security) = proof { options.security = security }
        var socket = try Socket(context, door == .view ? .subscriber : .dealer, options: options)
        let pointer = socket.handle.pointer
        if case .password = proof {
            for (option, text) in [(ZMQ_PLAIN_USERNAME, "root"), (ZMQ_PLAIN_PASSWORD, Canary.password)] {
                #expect(zmq_setsockopt(pointer, option, text, text.utf8.count) == 0)
            }
        }
        var pause: Int32 = 50
        #expect(zmq_setsockopt(pointer, ZMQ_RECONNECT_IVL, &pause, 4) == 0)
        // One topic that others have asked for, too, and one that nobody else has.
        if door == .view { for topic in [Array("main".utf8), id] { try socket.subscribe(Array("view/".utf8) + topic + [0]) } }
        monitor = try ConnectionMonitor(socket, in: context)
        try socket.connect(address)
        self.socket = socket
    }

    // MARK: The visit

    /// Does what is done at that door, as far as it comes.
    func visit() async throws -> Outcome {
        var end: ConnectionEnd?
        try await eventually("somebody comes in at \(door), or is turned away") {
            end = try monitor.connectionEnd()
            return end != nil || monitor.wasConnected
        }
        if !monitor.wasConnected, let end { return .turnedAway(end) }
        switch door {
        case .front: return try await send()
        case .work: return try await work()
        case .view:
            try await eventually("a view or a tick comes") { try listen() > 0 }
            return .served
        case .admin: return try await pause()
        }
    }

    /// A client's input, with a session of its own.
    private func send() async throws -> Outcome {
        try await say(.hello, 1, [.nil, 0, "client", .binary(id)])
        guard let refusal = try await refusal(instead: .welcome) else { return try await submit(1) }
        return refusal
    }

    /// Another input.
    func submit(_ number: Int64) async throws -> Outcome {
        try await say(.send, 0, [[.int(number), .nil, binary(.increment)]])
        return try await refusal(instead: .receipt) ?? .served
    }

    /// What it is told of an input that it sends again.
    func outcome(of number: Int64) async throws -> Value? {
        outcomes[number] = nil
        _ = try await submit(number)
        return outcomes[number]
    }

    private func work() async throws -> Outcome {
        try await say(.hello, 1, [["Counter", 1], 0, "worker", [.binary(id), 1, ["default"], []]])
        return try await refusal(instead: .welcome) ?? .served
    }

    /// Wants a job, and keeps it.
    func takeTask() async throws {
        try await say(.credit, 1)
        task = try await next(.task).body.first?[0].map { try RawTask($0) }
    }

    /// Answers its job.
    func answer() async throws -> Outcome {
        let task = try #require(task)
        try await say(.result, 2, [task.done(.finished(7))])
        return try await refusal(instead: .acknowledge) ?? .served
    }

    func ask(_ verb: String, _ arguments: Value = .nil) async throws -> Outcome {
        try await say(.request, 0, [.int(.random(in: 1 ... .max)), .string(verb), arguments])
        return try await refusal(instead: .reply) ?? .served
    }

    /// An operator's request that changes something.
    func pause() async throws -> Outcome {
        try await ask("pause", ["queue": "default"])
    }

    /// Goes, and waits until the store knows it.
    func leave() async throws {
        guard door == .front || door == .work else { return }
        try await say(.goodbye)
        try await say(.ping)
        #expect(try await refusal(instead: .pong) == .refused(.unknownPeer))
    }

    // MARK: Frames

    private func say(_ kind: Kind, _ number: Int64 = 0, _ body: Value...) async throws {
        var frame = RawFrame(kind, number, timeline: timeline)
        frame.body = body
        try await eventually("a message is taken at \(door)") { try offer(frame) }
    }

    /// Whether the socket takes a message now.
    func offer(_ frame: RawFrame) throws -> Bool { try socket.send(frame.parts) == .sent }

    private func next() async throws -> RawFrame {
        try await eventually("a frame comes at \(door)") {
            guard let message = try socket.receive() else { return nil }
            heard += 1
            return try RawFrame(parts: message.frames)
        }
    }

    private func next(_ kind: Kind) async throws -> RawFrame {
        let frame = try await next()
        guard frame.kind == kind.rawValue else { throw Unexpected("not a \(kind): \(frame)") }
        return frame
    }

    /// The next frame, if it is an ERROR or a refusal; nil if it is what was waited for.
    func refusal(instead kind: Kind) async throws -> Outcome? {
        let frame = try await next()
        if frame.kind == Kind.error.rawValue { return .refused(frame.body.first?[0]?.integer.flatMap { Code(rawValue: $0) }) }
        guard frame.kind == kind.rawValue else { throw Unexpected("neither \(kind) nor ERROR: \(frame)") }
        if kind == .reply, frame.body.first?[1] != .nil { return .refused(nil) }
        if kind == .welcome { timeline = frame.timeline }
        if kind == .receipt {
            for outcome in frame.body.first?.elements ?? [] { outcomes[outcome[0]?.integer ?? 0] = outcome }
        }
        return nil
    }

    /// Whether the connection is gone, as far as it is known.
    func isCutOff() throws -> Bool { try monitor.connectionEnd() != nil }

    /// Takes what has come, and says how many messages there were in all.
    @discardableResult
    func listen() throws -> Int {
        while try socket.receive() != nil { heard += 1 }
        return heard
    }
}
