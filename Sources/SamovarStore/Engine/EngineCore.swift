public import MessagePack
public import SamovarCore
public import SamovarWire

/// The turn engine of one program with the codec around it, and what a ``TypedEngine`` compiles together with the program.
///
/// Effects and follow-ups are encoded once, at the turn that orders them: the bytes go into the command's hash, and the same
/// bytes then become the effect's payload or the follow-up's record.
@usableFromInline
struct EngineCore<P: Program>: ~Copyable {
    @usableFromInline var turns: TurnEngine<P>?
    /// The head before the program has started.
    @usableFromInline var started = 0
    @usableFromInline let schema = P.schema
    @usableFromInline let secret: Secret
    @usableFromInline let limits: GroupLimits
    @usableFromInline let codecs: ProgramCodecs<P>
    @usableFromInline let gates: [InputGate<P>.Check]
    @usableFromInline let observers: [TurnObserver<P>]
    /// What the state wanted to hear of after the newest chain of turns.
    @usableFromInline var wanted: [Subscription<P>] = []
    @usableFromInline var replaying = ReplayState()
    let migrations = Migrations(P.self)
    let decoder: MessagePackDecoder
    /// It keeps the sign of zeros: a live turn has a value as it is in memory, and a replay has what was encoded.
    let encoder: MessagePackEncoder
    /// That of builds which did not keep them, and wrote −0.0 as 0.0 and every NaN as one NaN.
    let formerEncoder = MessagePackEncoder(canonical: true)
    let states: ValueCodec<P.State>
    /// For digests, so that they are the same whichever build has written the snapshot with which a state began.
    let comparableStates: ValueCodec<P.State>

    init(secret: Secret, limits: GroupLimits, gates: [InputGate<P>], observers: [TurnObserver<P>]) {
        let (encoder, decoder) = (MessagePackEncoder(recording: .default), MessagePackDecoder(lenient: true))
        let recorded = MessagePackDecoder(lenient: true, refusingUnknownFields: false)
        codecs = ProgramCodecs(encoder, decoder, recorded: recorded)
        // A message is as large as a sender may make it.
        let stateDecoder = MessagePackDecoder(limits: .state, lenient: true, refusingUnknownFields: false)
        states = ValueCodec(MessagePackEncoder(recording: .state), stateDecoder)
        comparableStates = ValueCodec(MessagePackEncoder(canonical: true, limits: .state), stateDecoder)
        self.encoder = encoder
        self.decoder = recorded
        self.secret = secret
        self.limits = limits
        self.gates = gates.map { $0.opened() }
        self.observers = observers
    }

    @inlinable
    var head: Int {
        switch turns {
        case .some(let turns): turns.head
        case nil: started
        }
    }

    @inlinable
    mutating func skip() -> Int {
        if turns == nil { started += 1 } else { turns?.skip() }
        return head
    }

    // MARK: Start

    mutating func start(seed: [UInt8], now: Timestamp, log: inout TurnLog) throws {
        let turn = Turn(number: head, now: now, origin: .store, secret: secret)
        let first = try begin(seed: seed, turn: turn)
        log.begin(root: turn.number)
        try lend(&log) { (turns, sink) throws(GroupLimit) in
            sink.take(orders: first.command, of: turn)
            try turns?.follow(first.command, of: turn, into: &sink)
        }
        try log.check(limits)
        subscribe(now: now, log: &log)
    }

    mutating func restore(_ state: P.State, head: Int, writtenBy version: Int) {
        replaying.author = version
        wanted = P.subscriptions(state)
        turns = TurnEngine(state: state, head: head, secret: secret, limits: limits)
    }

    mutating func begin(seed: [UInt8], turn: Turn) throws(SeedError) -> Next<P> {
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

    // MARK: Groups

    @inlinable
    mutating func apply(
        _ input: borrowing EngineInput, now: Timestamp, log: inout TurnLog
    ) throws(GroupLimit) -> EngineResult {
        switch input {
        case .input(let bytes, let origin, let sender, let endsSession):
            guard let turn = turns?.next(now: now, origin: origin, sender: sender) else {
                return .refused(.rejected("the program has not started"))
            }
            switch admit(bytes, turn: turn) {
            case .message(let message):
                log.begin(root: turn.number)
                if endsSession { log.expect(nil, .closes) }
                try run(message, origin: origin, sender: sender, now: now, log: &log)
            case .refused(let verdict): return refuse(verdict, turn, log: &log)
            }
        case .message(let given):
            let message: P.Message
            do { message = try codecs.message.decode(given.bytes) } catch { return Self.unreadable(error) }
            log.begin(root: given.root > 0 ? given.root : head + 1)
            try run(message, given.bytes, given.role, given.checkpoint, origin: given.origin, now: now, log: &log)
        case .answer(let list, let effect, let lease, let root):
            // What comes of a source begins a chain.
            let root = root > 0 ? root : head + 1
            var messages: [P.Message] = []
            messages.reserveCapacity(list.count)
            do { for bytes in list { messages.append(try codecs.message.decode(bytes)) } } catch { return Self.unreadable(error) }
            log.begin(root: root)
            for (index, message) in messages.enumerated() {
                let role = index == messages.count - 1 ? MessageRole.closes : .open
                let origin = Origin.effect(effect, lease: lease, index: index)
                try run(message, list[index], role, origin: origin, now: now, log: &log)
            }
        case .failure(let failure, let effect, let payload, let root, let staysDead):
            // An effect of an older build that this one cannot read stays with the operator.
            guard let order = try? codecs.effect.decode(payload), let message = P.failed(order, failure) else { return .unhandled }
            log.begin(root: root > 0 ? root : head + 1)
            log.expect(nil, staysDead ? .open : .closes)
            try run(message, origin: .failure(effect), now: now, log: &log)
        case .operated(let notice, let sender):
            guard let action = action(notice), let message = P.operated(action) else { return .unhandled }
            log.begin(root: head + 1)
            try run(message, origin: .operator, sender: sender, now: now, log: &log)
        }
        return .applied
    }

    /// Nil if the effect is one of an older build that this one cannot read.
    @inlinable
    func action(_ notice: OperatorNotice) -> OperatorAction<P>? {
        switch notice {
        // The operator's request stands whether the program can be told of it or not.
        case .requeued(let id, let payload): (try? codecs.effect.decode(payload)).map { .requeued($0, id) }
        case .dropped(let id, let payload): (try? codecs.effect.decode(payload)).map { .dropped($0, id) }
        case .controlled(.pause(let place)): .paused(place)
        case .controlled(.resume(let place)): .resumed(place)
        case .controlled(.rule(let queue, let rules)): .ruled(queue, rules)
        case .controlled(.requeue), .controlled(.drop): nil
        }
    }

    /// Applies a message of a group that has begun as it came from outside, with its follow-ups.
    @inlinable
    mutating func run(
        _ message: P.Message, _ bytes: ArraySlice<UInt8>, _ role: MessageRole, _ checkpoint: [UInt8]? = nil, origin: Origin,
        now: Timestamp, log: inout TurnLog
    ) throws(GroupLimit) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(GroupLimit) in
            log.expect(UnsafeRawBufferPointer(bytes), role, checkpoint: checkpoint)
            try run(message, origin: origin, now: now, log: &log)
        }
    }

    /// The same for a message that the log expects, or has to encode.
    @inlinable
    mutating func run(
        _ message: P.Message, origin: Origin, sender: Sender? = nil, now: Timestamp, log: inout TurnLog
    ) throws(GroupLimit) {
        try lend(&log) { (turns, sink) throws(GroupLimit) in
            try turns?.run(message, now: now, origin: origin, sender: sender, into: &sink)
        }
        try log.check(limits)
        subscribe(now: now, log: &log)
    }

    /// Lends the log to a sink for what `body` applies.
    @inlinable @inline(__always)
    mutating func lend<E: Error>(
        _ log: inout TurnLog, _ body: (inout TurnEngine<P>?, inout EncodingSink<P>) throws(E) -> Void
    ) throws(E) {
        try withUnsafeMutablePointer(to: &log) { (log) throws(E) in
            var sink = EncodingSink(log, codecs, observers)
            try body(&turns, &sink)
        }
    }

    @usableFromInline
    static func unreadable(_ error: any Error) -> EngineResult {
        .unreadable(describe(decodingFailure: error, of: P.Message.self).bounded())
    }

    // MARK: Inputs

    @usableFromInline
    enum Admission {
        case message(P.Message)
        case refused(Outcome.Verdict)
    }

    @inlinable
    mutating func admit(_ input: [UInt8], turn: Turn, asksGates: Bool = true) -> Admission {
        let value: P.Input
        do {
            value = try codecs.input.decode(input)
        } catch {
            return .refused(.rejected(describe(decodingFailure: error, of: P.Input.self)))
        }
        guard let state = turns?.state else { return .refused(.rejected("the program has not started")) }
        for gate in gates where asksGates {
            if let reason = gate(value, state, turn) { return .refused(.rejected(reason)) }
        }
        do throws(P.Refusal) {
            return .message(try P.accept(value, state, turn))
        } catch {
            return .refused(verdict(of: error))
        }
    }

    @usableFromInline
    func verdict(of refusal: P.Refusal) -> Outcome.Verdict {
        do {
            return Outcome.Verdict(refusal: try encoder.encode(refusal))
        } catch {
            return .rejected("refused, with a reason that cannot be encoded: \(error)")
        }
    }

    /// A refusal takes a turn that does not call `update`.
    @usableFromInline
    mutating func refuse(_ verdict: Outcome.Verdict, _ turn: Turn, log: inout TurnLog) -> EngineResult {
        let verdict = verdict.bounded
        log.write(Record(turn: skip(), time: turn.now, origin: turn.origin, sender: turn.sender, event: .refused(verdict)))
        return .refused(verdict)
    }

    // MARK: Subscriptions

    /// Asks the state what it wants to hear of; what it says is logged only if it differs from before.
    @inlinable
    mutating func subscribe(now: Timestamp, log: inout TurnLog) {
        guard let events = turns?.subscriptions else { return }
        // Nearly always there are none, and then there is nothing to compare.
        guard !(events.isEmpty && wanted.isEmpty), events != wanted else { return }
        want(events, turn: head, now: now, log: &log)
    }

    @usableFromInline
    mutating func want(_ events: [Subscription<P>], turn: Int, now: Timestamp, log: inout TurnLog) {
        wanted = events
        let logged = events.map { subscription -> WantedEvent in
            let kind: WantedEvent.Kind =
                switch subscription.event {
                case .timer(let schedule, let message): .timer(schedule, message: encoded(message))
                case .lifecycle(let moment, let message): .lifecycle(moment, message: encoded(message))
                case .source(let effect, let options): .source(payload: encoded(effect), options)
                }
            return WantedEvent(id: subscription.id, kind: kind)
        }
        log.append(.want(logged, turn: turn, now: now))
    }

    /// As builds encoded it that did not keep the sign of zeros, for subscriptions of their snapshots go on where they are the same: what comes of
    /// one is always read from these bytes. A value that cannot be encoded is found out when it is to be sent: empty bytes are no message.
    func encoded(_ value: some Encodable) -> [UInt8] {
        // What its own `encode(to:)` refuses is nothing that could be sent later.
        (try? formerEncoder.encode(value)) ?? []
    }
}

extension MessagePackLimits {
    /// Of a state, which is as large as a snapshot can hold.
    package static var state: MessagePackLimits { MessagePackLimits(maximumBytes: Int(UInt32.max)) }
}
