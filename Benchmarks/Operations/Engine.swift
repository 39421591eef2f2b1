import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

func engineBenchmarks() {
    engine("packable", PackableMessage(step: 1))
    engine("plain", PlainMessage.increment(by: 1))

    let store = prepared { try Local() }
    measure("LocalStore, one turn") { try store.turn() }
}

private final class Local {
    private var store: LocalStore<Tally<PackableMessage>>

    init() throws { store = try LocalStore(Tally<PackableMessage>.self) }

    func turn() throws -> Int {
        try store.send(PackableMessage(step: 1))
        return store.head
    }
}

private func engine<Message: Portable>(_ name: String, _ message: Message) {
    let input = prepared { try MessagePackEncoder().encode(message) }
    engine(name, TypedEngine(Tally<Message>.self, secret: Secret(high: 1, low: 2)), input)
}

/// The store has its engine under no other type, either. In a generic function, where inputs are noncopyable, the optimiser of Swift 6.3.1
/// aborts.
private func engine(_ name: String, _ engine: any ProgramEngine, _ input: [UInt8]) {
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    var log = TurnLog(after: 0)
    prepared { try engine.start(seed: try MessagePackEncoder().encode(NoSeed()), now: now, log: &log) }
    let session = UniqueID(high: 9, low: 9)
    measure("turn engine, a \(name) input to its record") {
        let head = engine.head
        guard case .applied = try engine.apply(.input(input, .client(session: session, sequence: head)), now: now, log: &log) else {
            preconditionFailure("the input was not applied")
        }
        // As at each commit, so that the batch does not grow without end.
        if log.batch.turns >= 100 { log.batch = RecordBatch(after: log.batch.last) }
        return engine.head
    }
}
