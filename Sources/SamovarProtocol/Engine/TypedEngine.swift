import DequeModule
import MessagePack
public import SamovarCore

/// The engine of one program: the turn engine with the codec around it.
///
/// Effects and follow-ups are encoded once, at the turn that orders them: the bytes go into the command's hash, and the same
/// bytes then become the effect's payload or the follow-up's record.
public final class TypedEngine<P: Program>: ProgramEngine {
    private var turns: TurnEngine<P>?
    private var started = 0
    private let secret: Secret
    private let limits: GroupLimits
    private let decoder = MessagePackDecoder(lenient: true)
    private let encoder = MessagePackEncoder(canonical: true)
    /// What the state wanted to hear of after the newest chain of turns.
    private var wanted: [Subscription<P>] = []
    /// While replaying: follow-ups that later records must repeat.
    private var announced: Deque<(bytes: [UInt8], of: Int, root: Int)> = []
    /// While replaying: turns whose other command was accepted, so that their follow-ups are taken as they were written.
    private var excused: Set<Int> = []
    /// While replaying: the command of `start`, until its follow-ups have shown whether it is the one that it was.
    private var opening: Divergence?
    public var terms = ReplayTerms()
    private let gates: [InputGate<P>.Check]
    private let observers: [TurnObserver<P>]
    /// What observers made of turns that are not on disk yet: as much as the batches that wait for it.
    private var undelivered: Deque<(turn: Int, deliver: @Sendable () -> Void)> = []
    let migrations = Migrations(P.self)
    /// While replaying: the version of the program that wrote the records; a number that none has before it is known.
    private var author = Int.max
    /// While replaying records of an older version: the end of a chain after which the state was not asked what it wants to hear of.
    private var unasked: (turn: Int, time: Timestamp)?

    /// - Parameters:
    ///   - gates: asked about each input before `accept`, in this order.
    ///   - observers: told of each turn after `update`, in this order.
    public init(
        _ program: P.Type = P.self, secret: Secret, limits: GroupLimits = .default, gates: [InputGate<P>] = [],
        observers: [TurnObserver<P>] = []
    ) {
        self.secret = secret
        self.limits = limits
        self.gates = gates.map { $0.opened() }
        self.observers = observers
    }

    public var schema: Schema { P.schema }
    public var head: Int { turns?.head ?? started }

    public func skip() -> Int {
        if turns == nil { started += 1 } else { turns?.skip() }
        return head
    }

    public func start(seed: [UInt8], now: Timestamp, log: TurnLog) throws {
        let turn = Turn(number: head, now: now, origin: .store, secret: secret)
        let first = try begin(seed: seed, turn: turn)
        var sink = GroupSink<P>(log: log, encoder: encoder, root: turn.number)
        sink.observers = observers
        sink.take(orders: first.command, of: turn)
        try turns?.follow(first.command, of: turn, into: &sink)
        try sink.check(limits)
        undelivered.append(contentsOf: sink.observed)
        subscribe(now: now, log: log)
    }

    /// Asks the state what it wants to hear of; what it says is logged only if it differs from before.
    private func subscribe(now: Timestamp, log: TurnLog) {
        guard let state = turns?.state else { return }
        let events = P.subscriptions(state)
        guard events != wanted else { return }
        wanted = events
        log.orders.append(.want(events.map(logged), turn: head, now: now))
    }

    private func logged(_ subscription: Subscription<P>) -> WantedEvent {
        let kind: WantedEvent.Kind =
            switch subscription.event {
            case .timer(let schedule, let message): .timer(schedule, message: encoded(message))
            case .lifecycle(let moment, let message): .lifecycle(moment, message: encoded(message))
            case .source(let effect, let options): .source(payload: encoded(effect), options)
            }
        return WantedEvent(id: subscription.id, kind: kind)
    }

    /// A message that cannot be encoded is found out when it is to be sent: empty bytes are no message.
    private func encoded(_ value: some Encodable) -> [UInt8] {
        // What its own `encode(to:)` refuses is nothing that could be sent later.
        (try? encoder.encode(value)) ?? []
    }

    private func begin(seed: [UInt8], turn: Turn) throws(SeedError) -> Next<P> {
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

    public func take(
        _ input: [UInt8], now: Timestamp, origin: Origin, log: TurnLog
    ) throws(GroupLimit) -> Outcome.Verdict {
        guard let turn = turns?.next(now: now, origin: origin) else { return .rejected("the program has not started") }
        let verdict: Outcome.Verdict
        switch admit(input, turn: turn) {
        case .success(let message):
            try run([message], bytes: nil, origins: { _ in origin }, root: turn.number, now: now, ending: .open, log: log)
            return .applied
        case .failure(let refusal): verdict = refusal.verdict
        }
        log.batch.append(Record(turn: skip(), time: now, origin: origin, event: .refused(verdict)))
        return verdict
    }

    private struct Refused: Error {
        let verdict: Outcome.Verdict
    }

    private func admit(_ input: [UInt8], turn: Turn) -> Result<P.Message, Refused> {
        let value: P.Input
        do {
            value = try decoder.decode(P.Input.self, from: input)
        } catch {
            return .failure(Refused(verdict: .rejected(describe(decodingFailure: error, of: P.Input.self))))
        }
        guard let state = turns?.state else { return .failure(Refused(verdict: .rejected("the program has not started"))) }
        for gate in gates {
            if let reason = gate(value, state, turn) { return .failure(Refused(verdict: .rejected(reason))) }
        }
        do throws(P.Refusal) {
            return .success(try P.accept(value, state, turn))
        } catch {
            do {
                return .failure(Refused(verdict: .refused(try encoder.encode(error))))
            } catch let failure {
                return .failure(Refused(verdict: .rejected("refused, with a reason that cannot be encoded: \(failure)")))
            }
        }
    }

    public func take(
        answer messages: [[UInt8]], effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        var decoded: [P.Message] = []
        decoded.reserveCapacity(messages.count)
        for bytes in messages { decoded.append(try read(bytes)) }
        try run(
            decoded, bytes: messages, origins: { .effect(effect, lease: lease, index: $0) }, root: root, now: now, ending: .closes,
            log: log)
    }

    public func take(
        streamed message: [UInt8], checkpoint: [UInt8]?, origin: Origin, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        let decoded = try read(message)
        // A source has no root: each of its messages begins a chain.
        try run(
            [decoded], bytes: [message], origins: { _ in origin }, root: root > 0 ? root : head + 1, now: now,
            ending: .streamed(checkpoint: checkpoint), log: log)
    }

    public func take(firing message: [UInt8], origin: Origin, now: Timestamp, log: TurnLog) throws {
        let decoded = try read(message)
        try run([decoded], bytes: [message], origins: { _ in origin }, root: head + 1, now: now, ending: .open, log: log)
    }

    private func read(_ message: [UInt8]) throws(UnreadableAnswer) -> P.Message {
        do {
            return try decoder.decode(P.Message.self, from: message)
        } catch {
            throw UnreadableAnswer(text: describe(decodingFailure: error, of: P.Message.self))
        }
    }

    public func take(
        failure: Failure, of effect: EffectID, payload: [UInt8], root: Int, now: Timestamp, log: TurnLog
    ) throws(GroupLimit) -> Bool {
        let order: P.Effect
        do {
            order = try decoder.decode(P.Effect.self, from: payload)
        } catch {
            // An effect of an older build that this one cannot read stays with the operator.
            return false
        }
        guard let message = P.failed(order, failure) else { return false }
        try run([message], bytes: nil, origins: { _ in .failure(effect) }, root: root, now: now, ending: .closes, log: log)
        return true
    }

    /// Applies messages that arrived together as one group.
    ///
    /// - Parameter ending: what the last of them is for the effect of its origin.
    private func run(
        _ messages: [P.Message], bytes: [[UInt8]]?, origins: (Int) -> Origin, root: Int, now: Timestamp, ending: MessageRole,
        log: TurnLog
    ) throws(GroupLimit) {
        var sink = GroupSink<P>(log: log, encoder: encoder, root: root)
        sink.observers = observers
        for (index, message) in messages.enumerated() {
            sink.given = bytes?[index]
            sink.role = index == messages.count - 1 ? ending : .open
            try turns?.run(message, now: now, origin: origins(index), into: &sink)
            try sink.check(limits)
            subscribe(now: now, log: log)
        }
        undelivered.append(contentsOf: sink.observed)
    }

    public func committed(through turn: Int) {
        while let first = undelivered.first, first.turn <= turn {
            undelivered.removeFirst()
            first.deliver()
        }
    }

    public func replay(_ record: Record, log: TurnLog) throws(ReplayError) {
        guard record.turn == head + 1 else { throw ReplayError(turn: record.turn, "turn \(head + 1) is missing before it") }
        if case .started(_, _, let schema, _) = record.event { try hear(of: schema, turn: record.turn) }
        switch record.event {
        case .started(let number, _, _, let seed) where number == 1: try replayStart(record, seed: seed, log: log)
        case .applied(let message, let hash, let closes) where author < schema.version:
            try replayOlder(record, message: message, hash: hash, role: closes ? .closes : .open, log: log)
        case .streamed(let message, let hash, let checkpoint) where author < schema.version:
            try replayOlder(record, message: message, hash: hash, role: .streamed(checkpoint: checkpoint), log: log)
        case .applied(let message, let hash, let closes):
            try replay(record, message: message, hash: hash, role: closes ? .closes : .open, log: log)
        case .streamed(let message, let hash, let checkpoint):
            try replay(record, message: message, hash: hash, role: .streamed(checkpoint: checkpoint), log: log)
        default:
            askBelatedly(log)
            try expectNothingAnnounced(before: record)
            log.batch.append(record)
            _ = skip()
            // Another build may want something else of the same state.
            if case .started = record.event { resubscribe(now: record.time, log: log) }
        }
    }

    public func resubscribe(now: Timestamp, log: TurnLog) {
        askBelatedly(log)
        guard let state = turns?.state else { return }
        wanted = P.subscriptions(state)
        log.orders.append(.want(wanted.map(logged), turn: head, now: now))
    }

    /// Follow-ups come before anything else, so nothing may be owed when a record begins something new.
    private func expectNothingAnnounced(before record: Record) throws(ReplayError) {
        if let missing = announced.first {
            throw ReplayError(
                turn: record.turn, "a follow-up of turn \(missing.of) is missing before it", openingDivergence(at: missing.of))
        }
        opening = nil
    }

    /// The record of turn 1 has no hash, so another command of `start` shows only in the follow-ups. Those of any other turn are
    /// in its hash, and are damaged if they differ where the hash does not.
    private func openingDivergence(at turn: Int) -> Divergence? { opening?.turn == turn ? opening : nil }

    public func requireEndOfGroup() throws(ReplayError) {
        guard let missing = announced.first else { return }
        throw ReplayError(turn: head, "the journal ends inside a group: a follow-up of turn \(missing.of) is missing after it")
    }

    private func replayStart(_ record: Record, seed: [UInt8], log: TurnLog) throws(ReplayError) {
        let turn = Turn(number: record.turn, now: record.time, origin: .store, secret: secret)
        let next: Next<P>
        do {
            next = try begin(seed: try migrations.migrated(seed, .seed, from: author), turn: turn)
        } catch {
            throw ReplayError(turn: record.turn, "\(error)")
        }
        log.batch.append(record)
        var sink = GroupSink<P>(log: log, encoder: encoder, root: record.root)
        sink.take(orders: next.command, of: turn)
        guard author == schema.version else {
            unasked = (head, record.time)
            return
        }
        let command = sink.divergence(next.command, of: turn, message: seed, recorded: nil)
        if terms.shown == turn.number { throw ReplayError(turn: turn.number, "the replay was to end here", command) }
        if terms.accepts(command.hash, at: turn.number) {
            excused.insert(turn.number)
            sink.followUps = []
        } else {
            opening = command
        }
        announce(sink.followUps, root: record.root, now: record.time, log: log)
    }

    private func hear(of author: Schema, turn: Int) throws(ReplayError) {
        guard author.version <= schema.version else {
            throw ReplayError(turn: turn, "it was written by \(author), which is newer than this program, \(schema)")
        }
        self.author = author.version
    }

    /// Applies a message of an older version to what `update` is now.
    ///
    /// What it orders can be another thing than it was, so there is nothing to compare. Follow-ups are taken as they are recorded.
    /// Where nothing was ordered then, nothing is ordered now: no effect runs that belongs to a turn which had none.
    private func replayOlder(
        _ record: Record, message old: [UInt8], hash: UInt64, role: MessageRole, log: TurnLog
    ) throws(ReplayError) {
        if case .followUp = record.origin {} else { askBelatedly(log) }
        let bytes: [UInt8]
        let message: P.Message
        do {
            bytes = try migrations.migrated(old, .message, from: author)
            message = try decoder.decode(P.Message.self, from: bytes)
        } catch let error as MigrationError {
            throw ReplayError(turn: record.turn, "the message cannot be read: \(error)")
        } catch {
            throw ReplayError(
                turn: record.turn,
                "the message of version \(author) cannot be read, migrated or not: \(describe(decodingFailure: error, of: P.Message.self))"
            )
        }
        guard let taken = turns?.step(message, now: record.time, origin: record.origin) else {
            throw ReplayError(turn: record.turn, "a message before the program has started")
        }
        var sink = GroupSink<P>(log: log, encoder: encoder, root: record.root)
        sink.role = role
        // The record has its message, also where it is a follow-up.
        sink.given = bytes
        sink.took(taken.turn, message, hash == 0 ? .none : taken.command)
        unasked = (head, record.time)
    }

    /// Asks what the state wanted to hear of after the newest chain of an older version, whose end is known only by what follows it.
    private func askBelatedly(_ log: TurnLog) {
        guard let unasked, let state = turns?.state else { return }
        self.unasked = nil
        let events = P.subscriptions(state)
        guard events != wanted else { return }
        wanted = events
        log.orders.append(.want(events.map(logged), turn: unasked.turn, now: unasked.time))
    }

    /// Notes the follow-ups of a replayed turn; a chain that has come to its end may want other subscriptions.
    private func announce(_ followUps: Deque<(bytes: [UInt8], of: Int)>, root: Int, now: Timestamp, log: TurnLog) {
        announced.append(contentsOf: followUps.map { ($0.bytes, $0.of, root) })
        if announced.isEmpty { subscribe(now: now, log: log) }
    }

    private func replay(
        _ record: Record, message bytes: [UInt8], hash: UInt64, role: MessageRole, log: TurnLog
    ) throws(ReplayError) {
        try expect(record, message: bytes)
        let message: P.Message
        do {
            message = try decoder.decode(P.Message.self, from: bytes)
        } catch {
            throw ReplayError(
                turn: record.turn, "the message cannot be read: \(describe(decodingFailure: error, of: P.Message.self))")
        }
        var sink = GroupSink<P>(log: log, encoder: encoder, root: record.root)
        sink.role = role
        sink.given = bytes
        guard let taken = turns?.step(message, now: record.time, origin: record.origin) else {
            throw ReplayError(turn: record.turn, "a message before the program has started")
        }
        if planted(.followUpTakenAgain), case .followUp = record.origin {
            _ = turns?.step(message, now: record.time, origin: record.origin)
        }
        sink.took(taken.turn, message, taken.command)
        let isRecorded = sink.lastHash == hash
        if !isRecorded || terms.shown == record.turn {
            let command = sink.divergence(taken.command, of: taken.turn, message: bytes, recorded: hash)
            if terms.shown == record.turn { throw ReplayError(turn: record.turn, "the replay was to end here", command) }
            guard terms.accepts(command.hash, at: record.turn) else {
                throw ReplayError(
                    turn: record.turn, "`update` returns another command than it did: it has changed or is not deterministic",
                    command)
            }
            excused.insert(record.turn)
            sink.followUps = []
        }
        announce(sink.followUps, root: record.root, now: record.time, log: log)
    }

    /// A follow-up must be the next one that was announced, unless the turn that ordered it is excused.
    private func expect(_ record: Record, message bytes: [UInt8]) throws(ReplayError) {
        guard case .followUp(let cause) = record.origin else { return try expectNothingAnnounced(before: record) }
        guard !excused.contains(cause) else { return }
        guard let expected = announced.popFirst(), expected.of == cause, expected.bytes == bytes else {
            throw ReplayError(
                turn: record.turn,
                "this follow-up is not what turn \(cause) orders now: `update` has changed or is not deterministic",
                openingDivergence(at: cause))
        }
    }

    /// The state after the newest turn, as it is in memory.
    package var current: P.State? { turns?.state }

    public func view() throws -> [UInt8] {
        guard let state = turns?.state else { throw SeedError(text: "the program has not started") }
        return try encoder.encode(P.view(state))
    }

    public func state() throws -> [UInt8] {
        guard let state = turns?.state else { throw SeedError(text: "the program has not started") }
        return try encoder.encode(state)
    }

    public var oldestReadableVersion: Int { migrations.oldest }

    public func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8] {
        guard version < schema.version else { return effect }
        let bytes = try migrations.migrated(effect, .effect, from: version)
        do {
            _ = try decoder.decode(P.Effect.self, from: bytes)
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
            value = try decoder.decode(P.State.self, from: bytes)
        } catch  where version < schema.version {
            let reason = describe(decodingFailure: error, of: P.State.self)
            throw MigrationError(text: "the state of version \(version) cannot be read, migrated or not: \(reason)")
        }
        author = version
        wanted = P.subscriptions(value)
        turns = TurnEngine(state: value, head: head, secret: secret, limits: limits)
    }
}

/// What a message from outside is for the effect of its origin.
private enum MessageRole {
    /// The effect stays as it is, or there is none.
    case open
    /// The effect is done.
    case closes
    /// The effect goes on from here.
    case streamed(checkpoint: [UInt8]?)
}

/// Writes the record of each turn of a group, and collects its effects.
private struct GroupSink<P: Program>: TurnSink {
    let log: TurnLog
    let encoder: MessagePackEncoder
    let root: Int
    /// What the next message from outside is.
    var role = MessageRole.open
    /// The next message as it arrived; nil if it has to be encoded.
    var given: [UInt8]?
    /// Follow-ups in the order in which the engine takes them.
    var followUps: Deque<(bytes: [UInt8], of: Int)> = []
    var lastHash: UInt64 = 0
    private var start: Int
    /// What came from outside as it is, and is limited there.
    private var givenBytes = 0
    /// The largest effect of the group.
    private var largestEffect = 0
    private var failure: GroupLimit?
    /// None in a replay.
    var observers: [TurnObserver<P>] = []
    var observed: [(turn: Int, deliver: @Sendable () -> Void)] = []

    init(log: TurnLog, encoder: MessagePackEncoder, root: Int) {
        self.log = log
        self.encoder = encoder
        self.root = root
        start = log.batch.byteCount
    }

    mutating func took(_ turn: Turn, _ message: P.Message, _ command: Command<P>) {
        let bytes: [UInt8]
        var role = MessageRole.open
        var isGiven = false
        if case .followUp = turn.origin, let next = followUps.popFirst() {
            bytes = next.bytes
        } else {
            bytes = given ?? encode(message, root: turn.number)
            isGiven = given != nil
            given = nil
            role = self.role
        }
        note(role, of: turn.origin)
        let hash = take(orders: command, of: turn)
        let event: Record.Event =
            switch role {
            case .open: .applied(message: bytes, hash: hash, closes: false)
            case .closes: .applied(message: bytes, hash: hash, closes: true)
            case .streamed(let checkpoint): .streamed(message: bytes, hash: hash, checkpoint: checkpoint)
            }
        let before = log.batch.byteCount
        log.batch.append(Record(turn: turn.number, time: turn.now, origin: turn.origin, root: root, event: event))
        if isGiven { givenBytes += log.batch.byteCount - before }
    }

    var watchesState: Bool { !observers.isEmpty || log.tap != nil }

    mutating func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {
        for observer in observers {
            if let deliver = observer.observe(message, state, turn) { observed.append((turn.number, deliver)) }
        }
        guard let marker = log.tap?.marker else { return }
        // A view that cannot be encoded turns views off when the next is to be published, and that is told.
        guard let bytes = marker.during(.view, { try? encoder.encode(P.view(state)) }) else { return }
        log.tap?.views.append(TurnView(turn: turn.number, bytes: bytes))
    }

    /// What a message is for the effect or the subscription that it comes from, before what its turn orders.
    private func note(_ role: MessageRole, of origin: Origin) {
        switch (origin, role) {
        case (.effect(let effect, _, _), .closes), (.failure(let effect), .closes): log.orders.append(.close(effect))
        case (.effect(let effect, let lease, let index), .streamed(let checkpoint)):
            log.orders.append(.streamed(effect, lease: lease, index: index, checkpoint: checkpoint))
        case (.subscription(let activation, let nominal), _): log.orders.append(.fired(activation, nominal: nominal))
        default: break
        }
    }

    @discardableResult
    mutating func take(orders: Command<P>, of turn: Turn) -> UInt64 {
        lastHash = 0
        guard !orders.isEmpty else { return 0 }
        var hash = KeyedHash(Secret(high: 0, low: 0))
        for (ordinal, order) in orders.enumerated() {
            switch order {
            case .run(let effect, let options):
                let payload = encode(effect, root: turn.number)
                largestEffect = max(largestEffect, payload.count)
                hash.combine(UInt8(1))
                hash.combine(payload)
                hash.combine(options)
                log.orders.append(
                    .run(
                        OpenEffect(
                            id: EffectID(turn: turn.number, ordinal: ordinal), root: root, options: options, payload: payload,
                            now: turn.now)))
            case .then(let message):
                let bytes = encode(message, root: turn.number)
                hash.combine(UInt8(2))
                hash.combine(bytes)
                followUps.append((bytes, turn.number))
            case .cancel(let label):
                hash.combine(UInt8(3))
                hash.combine(Array(label.text.utf8))
                log.orders.append(.cancel(label))
            case .emit(let output):
                let bytes = encode(output, root: turn.number)
                largestEffect = max(largestEffect, bytes.count)
                hash.combine(UInt8(4))
                hash.combine(bytes)
                log.orders.append(.emit(EmittedOutput(id: EffectID(turn: turn.number, ordinal: ordinal), bytes: bytes)))
            }
        }
        lastHash = hash.finish()
        return lastHash
    }

    /// The newest command in full. Encoded again, for nearly every command of a replay is the recorded one and of no interest.
    mutating func divergence(_ command: Command<P>, of turn: Turn, message: [UInt8], recorded: UInt64?) -> Divergence {
        let orders = command.enumerated().map { ordinal, order -> Divergence.Order in
            switch order {
            case .run(let effect, let options):
                let payload = encode(effect, root: turn.number)
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                return .run(OpenEffect(id: id, root: root, options: options, payload: payload, now: turn.now))
            case .then(let message): return .then(encode(message, root: turn.number))
            case .cancel(let label): return .cancel(label)
            case .emit(let output): return .emit(encode(output, root: turn.number))
            }
        }
        return Divergence(
            turn: turn.number, origin: turn.origin, message: message, recorded: recorded, hash: lastHash, orders: orders)
    }

    func check(_ limits: GroupLimits) throws(GroupLimit) {
        if let failure { throw failure }
        if largestEffect > limits.effectBytes { throw .effectBytes(limits.effectBytes, root: root) }
        if log.batch.byteCount - start - givenBytes > limits.bytes { throw .bytes(limits.bytes, root: root) }
    }

    /// A value that its own `encode(to:)` refuses cannot be journalled, so the group fails as a whole.
    private mutating func encode(_ value: some Encodable, root: Int) -> [UInt8] {
        do {
            return try encoder.encode(value)
        } catch {
            failure = .unencodable("\(error)", root: root)
            return []
        }
    }
}

extension KeyedHash {
    mutating func combine(_ options: RunOptions) {
        combine(Array(options.queue.name.utf8))
        combine(options.retry.attempts)
        combine(UInt64(bitPattern: options.retry.first.microseconds))
        combine(options.retry.factor.bitPattern)
        combine(UInt64(bitPattern: options.retry.maximum.microseconds))
        combine(UInt64(bitPattern: options.timeout?.microseconds ?? -1))
        combine(UInt64(bitPattern: options.delay.microseconds))
        combineRareOptions(options)
    }
    /// Options that most effects do not have.
    private mutating func combineRareOptions(_ options: RunOptions) {
        let isRare =
            options.id != nil || options.policy != .all || options.priority != 0 || options.at != nil
            || options.limits != RunLimits(attempt: options.timeout)
        guard isRare else { return }
        if let id = options.id { combine(Array(id.text.utf8)) }
        combine(options.policy.code)
        combine(options.priority)
        combine(UInt64(bitPattern: options.at?.microseconds ?? .min))
        combine(UInt64(bitPattern: options.limits.waiting?.microseconds ?? -1))
        combine(UInt64(bitPattern: options.limits.total?.microseconds ?? -1))
    }
}

extension Policy {
    /// The policy as a number, for the journal: that of the case, or 3 plus the limit of `serial`.
    var code: Int {
        switch self {
        case .all: 0
        case .latest: 1
        case .first: 2
        case .serial(let limit): 3 + max(1, min(limit, 1 << 32))
        }
    }

    init?(code: Int) {
        switch code {
        case 0: self = .all
        case 1: self = .latest
        case 2: self = .first
        case 4...(3 + 1 << 32): self = .serial(limit: code - 3)
        default: return nil
        }
    }
}
