import MessagePack
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// A shop whose program traps where it is told to. Nothing survives a trap, so the engine throws instead, which ends the
/// machine, and keeps the marker's page as it was at that moment.
final class TrapEngine: ProgramEngine {
    enum Call: Equatable {
        case start
        case input(Shop.Input)
        case answer(String)
        case failure
        case operated
        case firing
        case view
        case state
        case restore
        /// It cannot throw, so this only keeps the page.
        case subscriptions
        case replay(Int)
    }

    struct Trapped: Error {}

    private let base = TypedEngine(Shop.self, secret: workshopSecret)
    let traps: (Call) -> Bool
    var marker: TrapMarker?
    /// The page at the moment of the first trap.
    private(set) var page: [UInt8]?

    init(_ traps: @escaping (Call) -> Bool) {
        self.traps = traps
    }

    private func meet(_ call: Call) throws(GroupLimit) {
        guard traps(call) else { return }
        page = page ?? marker?.bytes
        throw .turns(0, root: 0)
    }

    var terms: ReplayTerms {
        get { base.terms }
        set { base.terms = newValue }
    }

    var replayed: ReplayCounts { base.replayed }
    var oldestReadableVersion: Int { base.oldestReadableVersion }
    func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8] {
        try base.migrated(effect: effect, from: version)
    }

    var schema: Schema { base.schema }
    var head: Int { base.head }
    func skip() -> Int { base.skip() }

    var inputsAreMessages: Bool { base.inputsAreMessages }
    func skip(to turn: Int) { base.skip(to: turn) }
    func suppose(
        _ turn: SupposedTurn, log: inout TurnLog, followUp: ([UInt8], Int) -> (number: Int, message: [UInt8])
    ) throws -> SupposedEnd {
        try base.suppose(turn, log: &log, followUp: followUp)
    }

    func start(seed: [UInt8], now: Timestamp, log: inout TurnLog) throws {
        try meet(.start)
        try base.start(seed: seed, now: now, log: &log)
    }

    func apply(_ input: borrowing EngineInput, now: Timestamp, log: inout TurnLog) throws(GroupLimit) -> EngineResult {
        switch input {
        case .input(let bytes, _, _, _):
            if let value = try? unpacked(Shop.Input.self, bytes) { try meet(.input(value)) }
        case .message(let message):
            if case .subscription = message.origin { try meet(.firing) } else { try meet(answer: message.bytes) }
        case .answer(let messages, _, _, _): for message in messages { try meet(answer: message) }
        case .failure: try meet(.failure)
        case .operated: try meet(.operated)
        }
        return try base.apply(input, now: now, log: &log)
    }

    private func meet(answer message: ArraySlice<UInt8>) throws(GroupLimit) {
        if case .finished(let name)? = try? unpacked(Shop.Message.self, Array(message)) { try meet(.answer(name)) }
    }

    func requireEndOfGroup() throws(ReplayError) { try base.requireEndOfGroup() }

    func resubscribe(now: Timestamp, log: inout TurnLog) {
        if traps(.subscriptions) { page = page ?? marker?.bytes }
        base.resubscribe(now: now, log: &log)
    }

    func replay(_ record: Record, log: inout TurnLog) throws(ReplayError) {
        do {
            try meet(.replay(record.turn))
        } catch {
            throw ReplayError(turn: record.turn, "trapped")
        }
        try base.replay(record, log: &log)
    }

    func view() throws -> [UInt8] {
        try meet(.view)
        return try base.view()
    }

    func state() throws -> [UInt8] {
        try meet(.state)
        return try base.state()
    }

    func comparableState() throws -> [UInt8] {
        try meet(.state)
        return try base.comparableState()
    }

    func asFormerly(_ bytes: [UInt8], _ kind: RecordedValue) -> [UInt8] { base.asFormerly(bytes, kind) }

    var invariants: [String] { base.invariants }
    func keeps(invariant index: Int) -> Bool { base.keeps(invariant: index) }

    func restore(state: [UInt8], head: Int, writtenBy version: Int) throws {
        try meet(.restore)
        try base.restore(state: state, head: head, writtenBy: version)
    }
}

/// A store over its deaths: each start has the journal and the marker's page that the one before has left.
final class TrappedStore {
    /// How a process ends.
    enum Death {
        case trap
        /// By somebody from outside, at the same place.
        case kill
    }

    private(set) var rig: Rig
    private(set) var starts = 1
    private let settings: StoreSettings
    private let traps: (TrapEngine.Call) -> Bool
    private var engine: TrapEngine
    private var page: UnsafeMutableRawPointer
    private var build = "test"

    init(_ settings: StoreSettings = StoreSettings(), _ traps: @escaping (TrapEngine.Call) -> Bool) throws {
        self.settings = settings
        self.traps = traps
        page = .allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        engine = TrapEngine(traps)
        let marker = TrapMarker(page)
        engine.marker = marker
        rig = try Rig(settings, engine: engine, marker: marker)
    }

    deinit {
        page.deallocate()
    }

    var hasTrapped: Bool { engine.page != nil }

    /// Lets the process die of the trap that it has met, and starts another.
    func restart(_ death: Death = .trap, build: String? = nil) throws {
        if let bytes = engine.page { page.copyMemory(from: bytes, byteCount: bytes.count) }
        if death == .trap { TrapMarker.note(signal: 4, in: page) }
        self.build = build ?? self.build
        engine = TrapEngine(traps)
        let marker = TrapMarker(page)
        engine.marker = marker
        starts += 1
        rig = try Rig(
            settings, journal: rig.committedBatches, now: rig.now + .seconds(1), engine: engine, marker: marker, build: self.build)
    }
}
