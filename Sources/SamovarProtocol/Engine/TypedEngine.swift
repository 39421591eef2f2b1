public import DequeModule
public import MessagePack
public import SamovarCore

/// The engine of one program: the turn engine with the codec around it.
///
/// Effects and follow-ups are encoded once, at the turn that orders them: the bytes go into the command's hash, and the same
/// bytes then become the effect's payload or the follow-up's record.
///
/// Used by one thread. A program cannot reach the engine that calls it, so what each turn touches is not checked for overlapping accesses.
public final class TypedEngine<P: Program>: ProgramEngine {
    @usableFromInline @exclusivity(unchecked) var turns: TurnEngine<P>?
    @usableFromInline var started = 0
    @usableFromInline let secret: Secret
    @usableFromInline let limits: GroupLimits
    private let decoder: MessagePackDecoder
    private let encoder: MessagePackEncoder
    @usableFromInline let codecs: ProgramCodecs<P>
    @usableFromInline @exclusivity(unchecked) private(set) var sink: GroupSink<P>
    /// The same, for each turn.
    @usableFromInline @exclusivity(unchecked) var turnSink: UncountedSink<P>
    /// What the state wanted to hear of after the newest chain of turns.
    @usableFromInline @exclusivity(unchecked) var wanted: [Subscription<P>] = []
    /// While replaying: follow-ups that later records must repeat.
    @exclusivity(unchecked) @usableFromInline var announced: Deque<(bytes: [UInt8], of: Int, root: Int)> = []
    /// While replaying: turns whose other command was accepted, so that their follow-ups are taken as they were written.
    @usableFromInline var excused: Set<Int> = []
    /// While replaying: the command of `start`, until its follow-ups have shown whether it is the one that it was.
    @exclusivity(unchecked) @usableFromInline var opening: Divergence?
    @exclusivity(unchecked) public var terms = ReplayTerms()
    @usableFromInline let gates: [InputGate<P>.Check]
    /// What observers made of turns that are not on disk yet: as much as the batches that wait for it.
    @usableFromInline @exclusivity(unchecked) var undelivered: Deque<(turn: Int, deliver: @Sendable () -> Void)> = []
    let migrations = Migrations(P.self)
    /// While replaying: the version of the program that wrote the records; a number that none has before it is known.
    @exclusivity(unchecked) @usableFromInline var author = Int.max
    /// While replaying records of an older version: the end of a chain after which the state was not asked what it wants to hear of.
    @exclusivity(unchecked) @usableFromInline var unasked: (turn: Int, time: Timestamp)?

    /// - Parameters:
    ///   - gates: asked about each input before `accept`, in this order.
    ///   - observers: told of each turn after `update`, in this order.
    public init(
        _ program: P.Type = P.self, secret: Secret, limits: GroupLimits = .default, gates: [InputGate<P>] = [],
        observers: [TurnObserver<P>] = []
    ) {
        decoder = MessagePackDecoder(lenient: true)
        encoder = MessagePackEncoder(canonical: true)
        codecs = ProgramCodecs(encoder, decoder)
        self.secret = secret
        self.limits = limits
        self.gates = gates.map { $0.opened() }
        sink = GroupSink(TurnLog(after: 0), codecs: codecs, observers: observers)
        turnSink = UncountedSink(sink)
    }

    /// Asked for once: each replayed record is compared with it.
    public let schema = P.schema
    @inlinable public var head: Int { turns?.head ?? started }

    @inlinable
    public func skip() -> Int {
        if turns == nil { started += 1 } else { turns?.skip() }
        return head
    }

    public func start(seed: [UInt8], now: Timestamp, log: TurnLog) throws {
        let turn = Turn(number: head, now: now, origin: .store, secret: secret)
        let first = try begin(seed: seed, turn: turn)
        begin(log, root: turn.number)
        turnSink.take(orders: first.command, of: turn)
        try turns?.follow(first.command, of: turn, into: &turnSink)
        try turnSink.check(limits)
        keepObserved()
        subscribe(now: now, log: log)
    }

    /// Begins a group, whose first message is `given`, or has to be encoded.
    @inlinable
    func begin(_ log: TurnLog, root: Int, given: UnsafeRawBufferPointer? = nil, role: MessageRole = .open) {
        if turnSink.sink._withUnsafeGuaranteedRef({ $0.group.log !== log }) { turn(to: log) }
        turnSink.begin(root: root, given: given, role: role)
    }

    @usableFromInline
    func turn(to log: TurnLog) {
        sink = GroupSink(log, codecs: codecs, observers: sink.observers)
        turnSink = UncountedSink(sink)
    }

    /// Asks the state what it wants to hear of; what it says is logged only if it differs from before.
    @inlinable
    func subscribe(now: Timestamp, log: TurnLog) {
        guard let events = turns?.subscriptions else { return }
        // Nearly always there are none, and then there is nothing to compare.
        guard !(events.isEmpty && wanted.isEmpty), events != wanted else { return }
        wanted = events
        log.append(.want(events.map(logged), turn: head, now: now))
    }

    @usableFromInline
    func logged(_ subscription: Subscription<P>) -> WantedEvent {
        let kind: WantedEvent.Kind =
            switch subscription.event {
            case .timer(let schedule, let message): .timer(schedule, message: encoded(message))
            case .lifecycle(let moment, let message): .lifecycle(moment, message: encoded(message))
            case .source(let effect, let options): .source(payload: encoded(effect), options)
            }
        return WantedEvent(id: subscription.id, kind: kind)
    }

    /// A message that cannot be encoded is found out when it is to be sent: empty bytes are no message.
    @usableFromInline
    func encoded(_ value: some Encodable) -> [UInt8] {
        // What its own `encode(to:)` refuses is nothing that could be sent later.
        (try? encoder.encode(value)) ?? []
    }

    func begin(seed: [UInt8], turn: Turn) throws(SeedError) -> Next<P> {
        let value: P.Seed
        do {
            value = try decoder.decode(P.Seed.self, from: seed)
        } catch {
            throw SeedError(text: describe(decodingFailure: error, of: P.Seed.self))
        }
        do {
            let next = try P.start(value, turn)
            turns = TurnEngine(state: next.state, head: turn.number, secret: secret, limits: limits)
            return next
        } catch {
            throw SeedError(text: "\(P.schema.name) refuses this seed: \(error)")
        }
    }

    @inlinable
    public func take(
        _ input: [UInt8], now: Timestamp, origin: Origin, log: TurnLog
    ) throws(GroupLimit) -> Outcome.Verdict {
        guard let turn = turns?.next(now: now, origin: origin) else { return .rejected("the program has not started") }
        let verdict: Outcome.Verdict
        switch admit(input, turn: turn) {
        case .success(let message):
            try run(message, bytes: nil, origin: origin, root: turn.number, now: now, ending: .open, log: log)
            return .applied
        case .failure(let refusal): verdict = refusal.verdict
        }
        log.batch.append(Record(turn: skip(), time: now, origin: origin, event: .refused(verdict)))
        return verdict
    }

    @usableFromInline
    struct Refused: Error {
        @usableFromInline let verdict: Outcome.Verdict

        @usableFromInline
        init(_ verdict: Outcome.Verdict) {
            self.verdict = verdict.bounded
        }
    }

    @inlinable
    func admit(_ input: [UInt8], turn: Turn) -> Result<P.Message, Refused> {
        let value: P.Input
        do {
            value = try codecs.input.decode(input)
        } catch {
            return .failure(Refused(.rejected(describe(decodingFailure: error, of: P.Input.self))))
        }
        guard let state = turns?.state else { return .failure(Refused(.rejected("the program has not started"))) }
        for gate in gates {
            if let reason = gate(value, state, turn) { return .failure(Refused(.rejected(reason))) }
        }
        do throws(P.Refusal) {
            return .success(try P.accept(value, state, turn))
        } catch {
            do {
                return .failure(Refused(try verdict(of: error)))
            } catch let failure {
                return .failure(Refused(.rejected("refused, with a reason that cannot be encoded: \(failure)")))
            }
        }
    }

    @usableFromInline
    func verdict(of refusal: P.Refusal) throws -> Outcome.Verdict { Outcome.Verdict(refusal: try encoder.encode(refusal)) }

    @inlinable
    public func take(
        only message: ArraySlice<UInt8>, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        let origin = Origin.effect(effect, lease: lease, index: 0)
        let decoded = try read(message)
        try message.withUnsafeBytes {
            try run(decoded, bytes: $0, origin: origin, root: root, now: now, ending: .closes, log: log)
        }
    }

    @inlinable
    public func take(
        answer messages: MessageList, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        var decoded: [P.Message] = []
        decoded.reserveCapacity(messages.count)
        for bytes in messages { decoded.append(try read(bytes)) }
        begin(log, root: root)
        for (index, message) in decoded.enumerated() {
            let origin = Origin.effect(effect, lease: lease, index: index)
            try messages[index].withUnsafeBytes {
                sink.group.expect($0, role: index == decoded.count - 1 ? .closes : .open)
                try run(message, origin: origin, now: now, log: log)
            }
        }
        keepObserved()
    }

    @inlinable
    public func take(
        streamed message: [UInt8], checkpoint: [UInt8]?, origin: Origin, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        let decoded = try read(message[...])
        // A source has no root: each of its messages begins a chain.
        try message.withUnsafeBytes {
            try run(
                decoded, bytes: $0, origin: origin, root: root > 0 ? root : head + 1, now: now,
                ending: .streamed(checkpoint: checkpoint), log: log)
        }
    }

    @inlinable
    public func take(firing message: [UInt8], origin: Origin, now: Timestamp, log: TurnLog) throws {
        let decoded = try read(message[...])
        try message.withUnsafeBytes {
            try run(decoded, bytes: $0, origin: origin, root: head + 1, now: now, ending: .open, log: log)
        }
    }

    @inlinable
    func read(_ message: ArraySlice<UInt8>) throws(UnreadableAnswer) -> P.Message {
        do {
            return try codecs.message.decode(message)
        } catch {
            throw UnreadableAnswer(text: describe(decodingFailure: error, of: P.Message.self))
        }
    }

    public func take(
        failure: Failure, of effect: EffectID, payload: [UInt8], root: Int, now: Timestamp, log: TurnLog
    ) throws(GroupLimit) -> Bool {
        let order: P.Effect
        do {
            order = try codecs.effect.decode(payload)
        } catch {
            // An effect of an older build that this one cannot read stays with the operator.
            return false
        }
        guard let message = P.failed(order, failure) else { return false }
        try run(message, bytes: nil, origin: .failure(effect), root: root, now: now, ending: .closes, log: log)
        return true
    }

    /// Applies a message and its follow-ups as one group.
    ///
    /// - Parameters:
    ///   - bytes: the message as it arrived; nil if it has to be encoded.
    ///   - ending: what it is for the effect of its origin.
    @inlinable
    func run(
        _ message: P.Message, bytes: UnsafeRawBufferPointer?, origin: Origin, root: Int, now: Timestamp, ending: MessageRole,
        log: TurnLog
    ) throws(GroupLimit) {
        begin(log, root: root, given: bytes, role: ending)
        try run(message, origin: origin, now: now, log: log)
        keepObserved()
    }

    /// Applies one of the messages of a group that has begun, with its follow-ups.
    @inlinable
    func run(_ message: P.Message, origin: Origin, now: Timestamp, log: TurnLog) throws(GroupLimit) {
        try turns?.run(message, now: now, origin: origin, into: &turnSink)
        try turnSink.check(limits)
        subscribe(now: now, log: log)
    }

    @inlinable
    func keepObserved() {
        if turnSink.sink._withUnsafeGuaranteedRef({ !$0.observed.isEmpty }) { undelivered.append(contentsOf: sink.observed) }
    }

    @inlinable
    public func committed(through turn: Int) {
        while let first = undelivered.first, first.turn <= turn {
            undelivered.removeFirst()
            first.deliver()
        }
    }

    /// The state after the newest turn, as it is in memory.
    package var current: P.State? { turns?.state }

    public func view() throws -> [UInt8] {
        guard let state = turns?.state else { throw SeedError(text: "the program has not started") }
        return try codecs.view.encode(P.view(state))
    }

    public func state() throws -> [UInt8] {
        guard let state = turns?.state else { throw SeedError(text: "the program has not started") }
        return try codecs.state.encode(state)
    }

    public var oldestReadableVersion: Int { migrations.oldest }

    public func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8] {
        guard version < schema.version else { return effect }
        let bytes = try migrations.migrated(effect, .effect, from: version)
        do {
            _ = try codecs.effect.decode(bytes)
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
        let bytes = try migrations.migrated(state, .state, from: version)
        let value: P.State
        do {
            value = try codecs.state.decode(bytes)
        } catch  where version < schema.version {
            let reason = describe(decodingFailure: error, of: P.State.self)
            throw MigrationError(text: "the state of version \(version) cannot be read, migrated or not: \(reason)")
        }
        author = version
        wanted = P.subscriptions(value)
        turns = TurnEngine(state: value, head: head, secret: secret, limits: limits)
    }
}
