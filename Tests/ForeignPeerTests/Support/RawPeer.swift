import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// A connection to one listener of a store, and nothing that helps: what is sent is what the test writes.
///
/// Each wait has a deadline, and gives way to other tests meanwhile.
final class RawPeer {
    private let context: Context
    private var socket: Socket
    private var monitor: ConnectionMonitor
    private var isBroken = false
    /// What frames carry: nothing before the first WELCOME, and then what that said.
    var timeline = RawFrame.noTimeline

    /// Connects, and does not wait: nothing can be sent before the connection stands.
    init(_ address: String, options: SocketOptions = .client) throws {
        let context = try Context()
        var socket = try Socket(context, .dealer, options: options)
        let monitor = try ConnectionMonitor(socket, in: context)
        try socket.connect(address)
        self.context = context
        self.socket = socket
        self.monitor = monitor
    }

    // MARK: Sending

    /// Whether the socket takes a message now.
    func trySend(_ parts: [[UInt8]]) throws -> Bool { try socket.send(parts) == .sent }

    func send(parts: [[UInt8]]) async throws {
        try await eventually("the socket takes a message") { try trySend(parts) }
    }

    /// Sends a frame of this peer's timeline.
    func send(_ kind: Kind, _ number: Int64 = 0, flags: UInt8 = 0, _ body: Value...) async throws {
        var frame = RawFrame(kind, number, timeline: timeline)
        frame.flags = flags
        frame.body = body
        try await send(parts: frame.parts)
    }

    // MARK: Receiving

    /// What has arrived, nil if nothing has.
    private func arrived() throws -> RawFrame? {
        guard let parts = try socket.receive()?.frames else { return nil }
        return try RawFrame(parts: parts)
    }

    /// Takes all that has arrived. A socket in which nothing is left learns of what comes next and of a broken connection together.
    func passOver() throws {
        while try arrived() != nil {}
    }

    /// The next frame.
    func next() async throws -> RawFrame {
        try await eventually("a frame comes") { try arrived() }
    }

    /// The next frame, which must be of this kind.
    func next(_ kind: Kind) async throws -> RawFrame {
        let frame = try await next()
        guard frame.kind == kind.rawValue else { throw Unexpected("not a \(kind): \(frame)") }
        return frame
    }

    /// The first frame of this kind; those before it are passed over.
    func first(_ kind: Kind, where isWanted: (RawFrame) -> Bool = { _ in true }) async throws -> RawFrame {
        try await eventually("a \(kind) comes") {
            while let frame = try arrived() {
                if frame.kind == kind.rawValue, isWanted(frame) { return frame }
            }
            return nil
        }
    }

    /// The next frame, which must be an ERROR: its code and text.
    func nextError() async throws -> (code: Code?, text: String, body: Value) {
        let body = try await next(.error).body.first ?? .nil
        return (body[0]?.integer.flatMap { Code(rawValue: $0) }, body[1]?.string ?? "", body)
    }

    /// Waits until the socket's monitor tells that the connection is gone.
    func waitForDisconnect() async throws {
        try await eventually("the connection is dropped") {
            if try monitor.connectionEnd() != nil { isBroken = true }
            return isBroken
        }
    }

    // MARK: Greeting

    /// Says HELLO as a client and waits for WELCOME.
    @discardableResult
    func greet(session: [UInt8] = randomID(), epoch: Int64 = 1, role: Value = "client", schema: Value = .nil) async throws
        -> Value
    {
        try await hello(epoch, schema: schema, role: role, .binary(session))
        return try await welcome()
    }

    /// Says HELLO as a worker and waits for WELCOME.
    @discardableResult
    func greet(
        worker: [UInt8] = randomID(), epoch: Int64 = 1, slots: Int64 = 1, queues: Value = ["default"], claims: [Value] = [],
        schema: Value
    ) async throws -> Value {
        try await hello(
            epoch, schema: schema, role: "worker", [.binary(worker), .int(slots), queues, .array(claims)])
        return try await welcome()
    }

    func hello(_ epoch: Int64, schema: Value = .nil, witness: Int64 = 0, role: Value, _ who: Value) async throws {
        try await send(.hello, epoch, [schema, .int(witness), role, who])
    }

    /// Waits for WELCOME, and lives in its timeline from then on.
    func welcome() async throws -> Value {
        let welcome = try await next(.welcome)
        timeline = welcome.timeline
        return try #require(welcome.body.first)
    }

    // MARK: Short forms

    /// Sends inputs with numbers from `first` on.
    func submit(_ inputs: Value..., from first: Int64 = 1, confirmed: Int64 = 0) async throws {
        let submissions = inputs.enumerated().map { Value.array([.int(first + Int64($0.offset)), .nil, binary($0.element)]) }
        try await send(.send, confirmed, .array(submissions))
    }

    /// The outcomes of the next RECEIPT.
    func outcomes() async throws -> [Value] { try await next(.receipt).body.first?.elements ?? [] }

    /// Asks as an operator: the refusal, nil if there is none, and the value.
    func ask(_ verb: String, _ arguments: Value = .nil, number: Int64 = .random(in: 1 ... .max)) async throws
        -> (refusal: String?, value: Value)
    {
        try await send(.request, 0, [.int(number), .string(verb), arguments])
        let reply = try await next(.reply).body.first ?? .nil
        #expect(reply[0] == .int(number), "a reply has the number of its request")
        return (reply[1]?.string, reply[2] ?? .nil)
    }

    /// Shows that nothing else has come: PONG answers this PING at once, and what was said before it was answered before.
    func expectNothingBeforePong(_ number: Int64 = 0) async throws {
        try await send(.ping, number)
        _ = try await next(.pong)
    }
}

func randomID() -> [UInt8] { (0..<16).map { _ in .random(in: .min ... .max) } }
