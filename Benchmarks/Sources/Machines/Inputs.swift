import CountedAllocations
import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// Inputs of four clients, each with a frame of 64 under way, and their receipts: what the store's machine alone spends on each.
struct Inputs: ~Copyable {
    private typealias P = RoundTrips<PackableMessage, PackableEffect>
    private static let perFrame = 64
    private static let clients = 4

    private var store: StoreMachine
    private let timeline = UniqueID(high: 1, low: 1)
    private let input: [UInt8]
    private let now = Timestamp(microseconds: 1_700_000_000_000_000)
    private var sequence = 0

    init() throws {
        var settings = StoreSettings()
        settings.snapshotTurns = .max
        settings.snapshotBytes = .max
        let secret = Secret(high: 1, low: 2)
        let engine = TypedEngine(P.self, secret: secret)
        store = StoreMachine(settings: settings, engine: engine, timeline: timeline, secret: secret, build: "machines")
        // One effect, which nobody comes for: what is ordered beyond the total is passed over.
        try store.start(seed: try MessagePackEncoder().encode(["open": 1, "total": 1]), now: now)
        input = try MessagePackEncoder().encode(NoSeed())
        for number in 0..<Self.clients {
            let hello = Hello(role: .client(session: UniqueID(high: 9, low: UInt64(number))), schema: P.schema)
            store.received(Envelope(.hello(hello), timeline: .zero).parts, from: Self.route(number), now: now)
        }
        _ = store.takeActions()
    }

    private static func route(_ number: Int) -> Route { Route(listener: .front, id: [1, UInt8(number)]) }

    /// Nanoseconds of the store for each input.
    mutating func run(total: Int) -> Double {
        var time = 0
        var receipts = 0
        let head = store.head
        while store.head - head < total {
            let submissions = (1...Self.perFrame).map { Submission(sequence: sequence + $0, input: input) }
            let parts = Envelope(.send(submissions, confirmed: sequence), timeline: timeline).parts
            let start = samovar_processor_time()
            for number in 0..<Self.clients { store.received(parts, from: Self.route(number), now: now) }
            repeat {
                store.advance(now: now)
                store.flush(now: now)
                receipts += takeActions()
            } while store.hasWork
            time += Int(samovar_processor_time() - start)
            sequence += Self.perFrame
        }
        precondition(receipts > 0, "nobody was told of anything")
        return Double(time) / Double(store.head - head)
    }

    /// The journal commits at once. Returns how many bytes of receipts leave.
    private mutating func takeActions() -> Int {
        var bytes = 0
        var actions = store.takeActions()
        while !actions.isEmpty {
            for action in actions {
                switch action {
                case .send(let envelope, _): bytes += envelope.parts.reduce(0) { $0 + $1.count }
                case .append(_, let last, _): store.committed(through: last, now: now)
                case .note(let note): preconditionFailure(note.text)
                case .stop(let reason): preconditionFailure("\(reason)")
                case .publish, .save, .snapshot, .export, .readHistory, .backlog, .reopenViews, .readKeys, .renewLease,
                    .measureProcess:
                    break
                }
            }
            actions = store.takeActions()
        }
        return bytes
    }
}
