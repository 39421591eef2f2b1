import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// A store process, with its listeners where the test put them.
final class ForeignStore: Sendable {
    enum Program: String {
        case counter = "Counter"
        case contract = "Contract"

        /// As HELLO names it.
        var schema: Value { [.string(rawValue), 1] }
    }

    let scratch: Scratch
    let program: Program
    private let child: Child

    /// - Parameters:
    ///   - silence: seconds after which it takes a peer for dead; many, since these peers say nothing but what their test says, and a busy
    ///     machine stretches that.
    ///   - goodbye: seconds for which it keeps the connections at its end.
    init(_ program: Program = .counter, silence: Int = 60, goodbye: Int = 1, arguments: [String] = []) async throws {
        self.program = program
        scratch = try Scratch()
        let (executable, seed) =
            switch program {
            case .counter: (Executable.counter, [String]())
            case .contract: (Executable.path("ContractProgram"), ["--seed", #"{"loads":false}"#])
            }
        let place = ["--data", scratch.folder("data"), "--endpoint", "ipc://\(scratch.folder("s"))"]
        child = try Child(
            executable, ["store"] + seed + place + arguments, in: scratch,
            variables: [
                "SAMOVAR_STORE_SILENCE_SECONDS": "\(silence)", "SAMOVAR_STORE_DRAIN_SECONDS": "60",
                "SAMOVAR_STORE_GOODBYE_SECONDS": "\(goodbye)",
            ])
        try await eventually("the store serves") { [child] in child.errors.contains("serving") }
    }

    var front: String { "ipc://\(scratch.folder("s"))/front" }
    var work: String { "ipc://\(scratch.folder("s"))/work" }
    var view: String { "ipc://\(scratch.folder("s"))/view" }
    var admin: String { "ipc://\(scratch.folder("s"))/admin" }
    var log: String { child.errors }

    func signal(_ signal: Int32) { child.send(signal) }

    @discardableResult
    func wait() async throws -> Child.End { try await child.wait() }

    // MARK: Peers

    /// A client that is welcomed.
    func client() async throws -> RawPeer {
        let peer = try RawPeer(front)
        try await peer.greet()
        return peer
    }

    /// A worker that is welcomed and gives this credit; without the timeline its claims mean nothing.
    func worker(
        _ id: [UInt8] = randomID(), epoch: Int64 = 1, credit: Int64 = 1, queues: Value = ["default"], claims: [Value] = [],
        timeline: [UInt8] = RawFrame.noTimeline
    ) async throws -> RawPeer {
        let peer = try RawPeer(work, options: .worker)
        peer.timeline = timeline
        try await peer.greet(
            worker: id, epoch: epoch, slots: max(1, credit), queues: queues, claims: claims, schema: program.schema)
        if credit > 0 { try await peer.send(.credit, credit) }
        return peer
    }

    /// Asks once as an operator: the refusal, nil if there is none, and the value.
    func ask(_ verb: String, _ arguments: Value = .nil, number: Int64 = .random(in: 1 ... .max)) async throws
        -> (refusal: String?, value: Value)
    {
        try await RawPeer(admin).ask(verb, arguments, number: number)
    }

    /// One of the counters that `status` tells.
    func counter(_ name: String) async throws -> Int64 {
        try #require(try await ask("status").value["counters"]?[name]?.integer)
    }
}
