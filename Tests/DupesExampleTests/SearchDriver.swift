import MessagePack
import SamovarCore

@testable import DupesExample

/// Runs a search as a store with workers does, without any process: it keeps the open effects and answers them in whatever
/// order a generator says. Effects and messages pass a coder on their way, as they would between processes.
struct SearchDriver: ~Copyable {
    var reader = DirectoryReader()
    /// Whether effects and messages pass a coder. Off where there are very many.
    var isCoding = true
    private var engine: TurnEngine<Dupes>
    private(set) var collector = Collector()

    init(root: Path, minimumSize: Int = 1) throws {
        let secret = Secret(high: 1, low: 2)
        let turn = Turn(number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: secret)
        let next = try Dupes.start(Dupes.Seed(root: root, minimumSize: minimumSize), turn)
        engine = TurnEngine(state: next.state, head: 1, secret: secret)
        collector.collect(next.command)
    }

    var state: Dupes.State { engine.state }
    var view: Dupes.ViewState { Dupes.view(engine.state) }
    var open: [Dupes.Effect] { collector.open }

    /// Takes an open effect, as a worker does.
    mutating func take(_ index: Int = 0) throws -> Dupes.Effect {
        let effect = collector.open.remove(at: index)
        return isCoding ? try recoded(effect) : effect
    }

    mutating func apply(_ message: Dupes.Message) throws {
        let message = isCoding ? try recoded(message) : message
        try engine.run(message, now: Timestamp(microseconds: 0), origin: .store, into: &collector)
    }

    func answer(_ effect: Dupes.Effect) -> Dupes.Message {
        switch effect {
        case .list(let order, let directories, let after, let minimumSize):
            .listed(order: order, listing: reader.list(directories, after: after, minimumSize: minimumSize))
        case .hash(let order, let files, let sizes):
            .hashed(order: order, hashes: FileHasher().hash(files, sizes: sizes))
        }
    }

    /// Answers everything, in an order drawn from `seed`.
    mutating func finish(seed: UInt64 = 1) throws {
        var random = Random(seed: seed)
        while !open.isEmpty {
            let effect = try take(Int.random(in: 0..<open.count, using: &random))
            try apply(answer(effect))
        }
    }
}

struct Collector: TurnSink {
    var open: [Dupes.Effect] = []

    mutating func took(_ turn: Turn, _ message: Dupes.Message, _ command: Command<Dupes>) {
        collect(command)
    }

    mutating func collect(_ command: Command<Dupes>) {
        for case .run(let effect, _) in command { open.append(effect) }
    }
}

/// What another process makes of a value.
func recoded<Value: Codable>(_ value: Value) throws -> Value {
    try MessagePackDecoder().decode(Value.self, from: MessagePackEncoder().encode(value))
}
