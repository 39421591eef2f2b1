import MessagePack
public import SamovarCore
public import SamovarWire

/// The engine of one program, for a store that does not know the program's types.
///
/// The compiler makes machine code of a generic type for one program only where it sees both, and it does not see the program from
/// here: what is called through `any ProgramEngine` asks the runtime for the program's types in each turn, which takes several times as
/// long as the turn. So the initializer, which the user's own module inlines, makes functions of what a turn needs, and those are compiled
/// there.
///
/// Used by one thread.
public final class TypedEngine<P: Program>: ProgramEngine {
    @usableFromInline
    typealias Apply =
        (inout EngineCore<P>, borrowing EngineInput, Timestamp, inout TurnLog, _ head: inout Int) throws(GroupLimit) -> EngineResult
    @usableFromInline
    typealias Replay = (inout EngineCore<P>, Record, inout TurnLog, _ head: inout Int) throws(ReplayError) -> Void

    private let compiledApply: Apply
    private let compiledReplay: Replay
    /// All that changes. A turn calls the program, which cannot reach its engine, so no access overlaps another.
    private let core: Cell<EngineCore<P>>
    /// The number of the newest turn, which is asked for too often to look into the core.
    private var newest = 0

    /// - Parameters:
    ///   - gates: asked about each input before `accept`, in this order.
    ///   - observers: told of each turn after `update`, in this order.
    @inlinable
    public convenience init(
        _ program: P.Type = P.self, secret: Secret, limits: GroupLimits = .default, gates: [InputGate<P>] = [],
        observers: [TurnObserver<P>] = []
    ) {
        self.init(
            secret, limits, gates, observers,
            apply: { (core, input, now, log, head) throws(GroupLimit) in
                defer { head = core.head }
                return try core.apply(input, now: now, log: &log)
            },
            replay: { (core, record, log, head) throws(ReplayError) in
                defer { head = core.head }
                try core.replay(record, log: &log)
            })
    }

    @usableFromInline
    init(
        _ secret: Secret, _ limits: GroupLimits, _ gates: [InputGate<P>], _ observers: [TurnObserver<P>],
        apply: @escaping Apply, replay: @escaping Replay
    ) {
        compiledApply = apply
        compiledReplay = replay
        core = Cell(EngineCore(secret: secret, limits: limits, gates: gates, observers: observers))
    }

    /// Asked for once: each replayed record is compared with it.
    public let schema = P.schema
    public var head: Int { newest }

    public func skip() -> Int {
        newest = core.value.skip()
        return newest
    }

    // MARK: Turns

    public func start(seed: [UInt8], now: Timestamp, log: inout TurnLog) throws {
        try core.value.start(seed: seed, now: now, log: &log)
        newest = core.value.head
    }

    public func apply(_ input: borrowing EngineInput, now: Timestamp, log: inout TurnLog) throws(GroupLimit) -> EngineResult {
        var head = newest
        defer { newest = head }
        return try compiledApply(&core.value, input, now, &log, &head)
    }

    public func replay(_ record: Record, log: inout TurnLog) throws(ReplayError) {
        var head = newest
        defer { newest = head }
        try compiledReplay(&core.value, record, &log, &head)
    }

    public func resubscribe(now: Timestamp, log: inout TurnLog) { core.value.resubscribe(now: now, log: &log) }

    public var inputsAreMessages: Bool { P.Input.self == P.Message.self }

    public func skip(to turn: Int) {
        core.value.skip(to: turn)
        newest = turn
    }

    public func suppose(
        _ turn: SupposedTurn, log: inout TurnLog,
        followUp: (_ message: [UInt8], _ cause: Int) -> (number: Int, message: [UInt8])
    ) throws -> SupposedEnd {
        defer { newest = core.value.head }
        return try core.value.suppose(turn, log: &log, followUp: followUp)
    }

    public var terms: ReplayTerms {
        get { core.value.replaying.terms }
        set { core.value.replaying.terms = newValue }
    }
    public var replayed: ReplayCounts { core.value.replaying.counts }

    public func requireEndOfGroup() throws(ReplayError) { try core.value.requireEndOfGroup() }

    // MARK: State

    /// The state after the newest turn, as it is in memory.
    package var current: P.State? { core.value.turns?.state }

    private func started() throws(SeedError) -> P.State {
        guard let state = current else { throw SeedError(text: "the program has not started") }
        return state
    }

    /// Made when somebody asks for them.
    private lazy var rules = P.invariants

    public var invariants: [String] { rules.map(\.name) }

    public func keeps(invariant index: Int) -> Bool {
        guard let state = current, rules.indices.contains(index) else { return true }
        return rules[index].holds(state)
    }

    public func view() throws -> [UInt8] { try core.value.codecs.view.encode(P.view(started())) }

    public func state() throws -> [UInt8] { try core.value.states.encode(started()) }

    public func comparableState() throws -> [UInt8] { try core.value.comparableStates.encode(started()) }

    public func asFormerly(_ bytes: [UInt8], _ kind: RecordedValue) -> [UInt8] { core.value.asFormerly(bytes, kind) }

    public var oldestReadableVersion: Int { core.value.migrations.oldest }

    public func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8] {
        guard version < schema.version else { return effect }
        let bytes = try core.value.migrations.migrated(effect, .effect, from: version)
        do {
            _ = try core.value.codecs.effect.decode(bytes)
        } catch {
            let reason = describe(decodingFailure: error, of: P.Effect.self)
            throw MigrationError(text: "an effect of version \(version) cannot be read, migrated or not: \(reason)")
        }
        return bytes
    }

    public func restore(state: [UInt8], head: Int, writtenBy version: Int) throws {
        guard version <= schema.version else {
            throw MigrationError(text: "it is of version \(version) of \(schema.name); this program is version \(schema.version)")
        }
        let bytes = try core.value.migrations.migrated(state, .state, from: version)
        do {
            try core.value.restore(core.value.states.decode(bytes), head: head, writtenBy: version)
            newest = head
        } catch  where version < schema.version {
            let reason = describe(decodingFailure: error, of: P.State.self)
            throw MigrationError(text: "the state of version \(version) cannot be read, migrated or not: \(reason)")
        }
    }
}
