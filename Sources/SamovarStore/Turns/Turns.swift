import SamovarCore
import SamovarWire

/// Turns: whatever calls the program and writes records.
///
/// An item gives records, which gather in the open batch; the batch goes to the journal when the one before it is on disk, so that one
/// fills up while one is committed. Each call into the program is marked before and unmarked after, for the `Quarantine`. Rejected: a
/// thread for the engine (two hand-overs per turn cost more than they saved), and undoing turns whose commit failed (nothing of them was
/// visible, so the commit is simply repeated).
///
/// | state | `mayTake` | `take` | `takeBatch` | `committed` |
/// |---|---|---|---|---|
/// | at rest | while the open batch has room | the open batch grows | committing, with the open batch | – |
/// | committing | the same | the same | – | at rest |
/// | a suspect is alone in the open batch | no | – | committing | at rest |
struct Turns: ~Copyable {
    /// What happened since the start, for `status`.
    struct Counts {
        /// Inputs.
        fileprivate(set) var applied = 0
        fileprivate(set) var refused = 0
        /// Items that were given up because they ended the store.
        fileprivate(set) var quarantined = 0
        fileprivate(set) var batches = 0
        /// Inputs that were refused because they could not be read, or nobody was to take them.
        fileprivate(set) var rejected = 0
        /// Turns, by what was taken. Those of one item after the first follow from it.
        fileprivate(set) var kinds = TurnKinds()
        fileprivate(set) var journalBytes = 0
        /// From the end of a batch until the store hears that it is on disk.
        fileprivate(set) var commitTimes = DurationHistogram()
    }

    private let settings: StoreSettings
    private(set) var state: StoreState
    private(set) var quarantine: Quarantine
    /// When the batch was handed over that is with the journal, one at a time; nil if there is none.
    private var handedOver: Timestamp?
    private var outages = Outages()
    /// What the turns on disk, and no others, make of the numbers that `status` tells.
    private(set) var durableFacts = StoreFacts()
    /// The same at the end of the batch with the journal.
    private var committingFacts = StoreFacts()
    private(set) var counts = Counts()
    private(set) var log = TurnLog(after: 0)
    /// Nil unless the store looks at the program's invariants.
    private(set) var invariants: InvariantWatch?

    init(_ settings: StoreSettings, _ engine: any ProgramEngine, _ quarantine: consuming Quarantine) {
        self.settings = settings
        self.quarantine = quarantine
        state = StoreState(engine: engine, window: settings.window)
    }

    /// The number of the newest turn, on disk or not.
    var head: Int { state.head }

    /// Why nothing is taken, and since when; nil if it is.
    var outage: (outage: Outage, since: Timestamp)? { outages.current }

    /// Another store may have the journal.
    var isInDoubt: Bool { outage?.outage == .leaseInDoubt }

    /// The numbers of the state as it is, on disk or not.
    var facts: StoreFacts {
        StoreFacts(
            turn: head, sessions: state.sessions.sessions.count, openEffects: state.ledger.open.count,
            deadEffects: state.ledger.dead.count)
    }

    /// There are so many effects, open or dead, that nothing may order more which can wait.
    var hasTooManyEffects: Bool {
        state.ledger.open.count >= settings.openEffectsAtDoor || state.ledger.dead.count >= settings.deadEffects
    }

    // MARK: Recovery

    mutating func restore(_ snapshot: [UInt8]) throws {
        try quarantine.admit(.restore, after: head)
        quarantine.begin(.restore, isAlone: true, after: head)
        defer { quarantine.end() }
        try state.restore(snapshot)
        log = TurnLog(after: head)
    }

    /// Applies a stored batch again, as far as its turns are new and not beyond the limit.
    mutating func replay(first: Int, last: Int, bytes: [UInt8], through limit: Int) throws {
        let known = head
        var orders = TurnLog(ofReplayAfter: known)
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= limit else { return }
            let call = ProgramCall.replay(turn: record.turn)
            try quarantine.admit(call, after: head)
            quarantine.begin(call, isAlone: true, after: head)
            try state.replay(record, log: &orders)
            quarantine.end()
        }
        log = TurnLog(after: head)
    }

    /// The service is about to begin: throws if the program is known not to survive that.
    mutating func admit() throws(TrapError) {
        try quarantine.admit(.subscriptions, after: head)
        durableFacts = facts
    }

    /// `Program.start`, which has no root to be given up.
    mutating func begin(seed: [UInt8], now: Timestamp, _ out: inout Outlet) throws {
        try quarantine.admit(.start, after: head)
        quarantine.begin(.start, isAlone: true, after: 0)
        defer { end(.start, &out) }
        try state.engine.start(seed: seed, now: now, log: &log)
    }

    /// After a restart: the state says anew what it wants.
    mutating func resubscribe(now: Timestamp) {
        quarantine.begin(.subscriptions, isAlone: true, after: head)
        state.engine.resubscribe(now: now, log: &log)
        quarantine.end()
    }

    /// From here on the program's invariants are looked at. What is broken already is told as of now.
    mutating func watchInvariants(_ out: inout Outlet) {
        var watch = InvariantWatch(state.engine)
        let broken = ask(.subscriptions, &out) { watch.look(at: $0.engine) }
        invariants = watch
        tell(of: broken, "is broken as of", &out)
    }

    private func tell(of breaches: [InvariantWatch.Breach], _ words: String, _ out: inout Outlet) {
        for breach in breaches {
            let name = breach.name.bounded()
            out.note(
                .error, "invariant “\(name)” \(words) turn \(breach.turn); `bisect` with its name finds the turn that broke it")
        }
    }

    // MARK: Taking

    /// One batch may fill up, whether the one before it is with the journal or not: a start has to read it as a whole.
    var canTake: Bool {
        if quarantine.isIsolating || isInDoubt { return false }
        return log.batch.turns < settings.batchTurns && log.batch.byteCount < settings.batchBytes
    }

    /// Whether this item may be taken now. A suspect first waits until all before it is on disk.
    mutating func mayTake(_ call: @autoclosure () -> ProgramCall?) -> Bool {
        if quarantine.isEmpty { return true }
        return call().map { quarantine.mayTake($0, isClean: isClean) } ?? true
    }

    /// Whether nothing but the next item would be lost with this process.
    private var isClean: Bool { log.batch.isEmpty && handedOver == nil }

    /// Takes an item: calls the program, or writes that it is given up.
    ///
    /// - Parameters:
    ///   - record: what is written before it, if it is tried: both or neither are on disk.
    ///   - attempt: whose end the record tells of, if it does of one's.
    /// - Throws: the limit that its group broke. There is no way back from those turns: the process ends as at a trap, and the call stays
    ///   marked.
    mutating func take(
        _ call: ProgramCall, _ input: borrowing EngineInput, _ origin: Origin, sender: Sender? = nil, root: Int?,
        after record: Record.Event? = nil, of attempt: Origin? = nil, now: Timestamp, _ out: inout Outlet
    ) throws(StopReason) -> EngineResult {
        if let why = giveUp(call, origin, sender: sender, root: root, now: now, &out) { return .givenUp(why) }
        begin(call)
        if let record {
            write(record, origin: attempt ?? (origin == .operator ? .operator : .store), sender: sender, root: root, now: now)
        }
        let before = log.batch.last
        let result: EngineResult
        do throws(GroupLimit) {
            result = try state.engine.apply(input, now: now, log: &log)
            if case .unreadable(let why) = result, case .subscription = origin {
                let text = "the message of a subscription cannot be read again: \(why)"
                throw GroupLimit.unencodable(text.bounded(), root: before + 1)
            }
        } catch {
            quarantine.broke(error)
            throw .groupLimit(error)
        }
        // Within the call: it is the program's code.
        if let broken = invariants?.look(at: state.engine) { tell(of: broken, "was broken by the group that ends with", &out) }
        end(call, &out)
        let turns = log.batch.last - before
        if turns > 0 {
            state.time = now
            counts.kinds.count(call, turns: turns)
        }
        return result
    }

    /// Takes an input of a client.
    ///
    /// - Parameter objection: why its key does not allow it.
    mutating func take(
        _ submission: Submission, of session: SessionID, sender: Sender?, objection: String?, now: Timestamp,
        _ out: inout Outlet
    ) throws(StopReason) -> Outcome {
        let (turn, sequence) = (head + 1, submission.sequence)
        let origin = Origin.client(session: session, sequence: sequence)
        let verdict: Outcome.Verdict
        // Where the program is not called, the record enters the outcome.
        var isEntered = false
        let isForNobody = submission.instance == .main ? nil : "there is no instance \(submission.instance)"
        if let why = objection ?? isForNobody {
            (verdict, isEntered) = (.rejected(why), true)
            write(.refused(verdict), origin: origin, sender: sender, now: now)
        } else {
            let input = EngineInput.input(submission.input, origin, sender, endsSession: submission.endsSession)
            switch try take(.input(session, sequence: sequence), input, origin, sender: sender, root: nil, now: now, &out) {
            case .applied: verdict = .applied
            case .refused(let why): verdict = why
            case .unhandled: verdict = .rejected("the program did not take it")
            case .unreadable(let why): verdict = .rejected(why)
            case .givenUp(let text): (verdict, isEntered) = (.rejected(text), true)
            }
        }
        let outcome = Outcome(sequence: sequence, turn: turn, verdict: verdict)
        let isLast = submission.endsSession && verdict == .applied
        if !isEntered { state.sessions.answer(session, outcome, by: sender, endsSession: isLast) }
        switch verdict {
        case .applied: counts.applied += 1
        case .refused: counts.refused += 1
        case .rejected:
            counts.refused += 1
            counts.rejected += 1
        }
        return outcome
    }

    /// Asks the program for something that is no turn.
    mutating func ask<Answer>(
        _ call: ProgramCall, _ out: inout Outlet, _ body: (StoreState) throws -> Answer
    ) rethrows -> Answer {
        begin(call)
        defer { end(call, &out) }
        return try body(state)
    }

    private func begin(_ call: ProgramCall) { quarantine.begin(call, isAlone: isClean, after: head) }

    private mutating func end(_ call: ProgramCall, _ out: inout Outlet) {
        guard quarantine.end(call, hasTurns: !log.batch.isEmpty) else { return }
        out.note(.info, "the store has survived what it was suspected of: it \(call.activity)")
    }

    /// Writes that an item is given up, and returns why; nil if it may be tried.
    private mutating func giveUp(
        _ call: ProgramCall, _ origin: Origin, sender: Sender?, root: Int?, now: Timestamp, _ out: inout Outlet
    ) -> String? {
        guard !quarantine.isEmpty, let why = quarantine.giveUp(call) else { return nil }
        let text = "quarantined: \(why)"
        out.note(.error, "\(text); it is not tried again")
        write(.quarantined(text), origin: origin, sender: sender, root: root, now: now)
        counts.quarantined += 1
        return text
    }

    /// Writes a record that calls no `update`, and brings the books up to date.
    mutating func write(
        _ event: Record.Event, origin: Origin = .store, sender: Sender? = nil, root: Int? = nil, now: Timestamp
    ) {
        let record = Record(turn: state.engine.skip(), time: now, origin: origin, sender: sender, root: root, event: event)
        log.batch.append(record)
        state.absorb(record)
    }

    mutating func writeDigest(now: Timestamp, _ out: inout Outlet) throws {
        let state = try ask(.state, &out) { try $0.engine.comparableState() }
        write(.stateDigest(KeyedHash.of(state)), now: now)
    }

    /// Enters what the last group ordered; true if it did order something.
    mutating func enterOrders() -> Bool {
        guard log.hasOrders else { return false }
        state.carryOut(&log)
        return true
    }

    /// All of `changes` of the ledger has been followed.
    mutating func followedChanges() { state.ledger.forgetChanges() }

    /// A client keeps the outcomes up to this number itself.
    mutating func confirm(_ sequence: Int, in session: SessionID) { state.sessions.confirm(sequence, in: session) }

    // MARK: Commits

    /// The open batch, to be given to the journal; nil if that is busy, or there is nothing to write.
    mutating func takeBatch(now: Timestamp) -> RecordBatch? {
        guard handedOver == nil, !log.batch.isEmpty else { return nil }
        handedOver = now
        committingFacts = facts
        counts.batches += 1
        counts.journalBytes += log.batch.byteCount
        return takeLastBatch()
    }

    /// The open batch, also while the one before it is with the journal.
    mutating func takeLastBatch() -> RecordBatch {
        let batch = log.batch
        log.batch = RecordBatch(after: batch.last)
        return batch
    }

    /// For how long the batch with the journal has been there; nil if there is none.
    func commitAge(now: Timestamp) -> Duration? { handedOver.map { now - $0 } }

    mutating func committed(through turn: Int, now: Timestamp) {
        if let since = handedOver.take() { counts.commitTimes.add(now - since) }
        quarantine.committed()
        log.committed(through: turn)
        durableFacts = committingFacts
    }

    /// The journal does not commit for now, for this reason; nil if it does.
    mutating func journalIsHeldUp(_ outage: Outage?, now: Timestamp, _ out: inout Outlet) {
        if let note = outages.journal(outage, now: now) { out.note(note) }
    }

    /// - Parameter reason: what is told, if it is not a renewal that has failed.
    mutating func leaseIsInDoubt(_ isInDoubt: Bool, telling reason: Note? = nil, now: Timestamp, _ out: inout Outlet) {
        guard let note = outages.doubt(isInDoubt, now: now) else { return }
        out.note(reason ?? note)
        out.hold(isInDoubt)
    }

    // MARK: Views of single turns

    /// Has the engine take a view after each turn, or not any more.
    mutating func tapViews(_ isOn: Bool) {
        if !isOn { log.tap = nil } else if log.tap == nil { log.tap = quarantine.viewTap() }
    }

    /// The views that it has taken since the last time.
    mutating func takeViews() -> [TurnView] {
        defer { log.tap?.views = [] }
        return log.tap?.views ?? []
    }

    // MARK: Suspects

    /// Another thread is done with a call, or it was made with another state.
    mutating func returned(_ call: ProgramCall) { quarantine.returned(call) }

    /// An operator who stops the store in order may have mended what views and snapshots need.
    mutating func forgetWhatIsOff() { quarantine.forgetWhatIsOff() }
}

/// Numbers of the state that `status` tells, as of one turn.
struct StoreFacts: Equatable {
    var turn = 0
    var sessions = 0
    var openEffects = 0
    var deadEffects = 0
}
