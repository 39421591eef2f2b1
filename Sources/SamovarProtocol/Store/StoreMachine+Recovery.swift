public import SamovarCore

/// From the journal to service: newest readable snapshot, later batches, then the record of this start.
extension StoreMachine {
    /// Sets the state from a snapshot. The machine must not have replayed anything yet.
    ///
    /// - Throws: what reading it throws; the machine is then unusable, and a new one shall try an older snapshot.
    public mutating func restore(snapshot: [UInt8]) throws {
        precondition(phase == .recovering, "a snapshot is restored before the start")
        try quarantine.admit(.restore, after: head)
        quarantine.begin(.restore, isAlone: true, after: head)
        defer { quarantine.end() }
        try state.restore(snapshot)
        snapshots.restored(at: head, bytes: snapshot.count)
        log = TurnLog(after: head)
    }

    /// What `replay` puts up with. Set it before.
    public var terms: ReplayTerms {
        get { state.engine.terms }
        set { state.engine.terms = newValue }
    }

    /// Applies a stored batch again. Records that the snapshot holds already are passed over.
    ///
    /// - Parameter limit: the last turn to apply.
    /// - Throws: `ReplayError`, naming the turn.
    public mutating func replay(first: Int, last: Int, bytes: [UInt8], through limit: Int = .max) throws {
        precondition(phase == .recovering, "batches are replayed before the start")
        snapshots.journalGrew(by: bytes.count)
        let known = head
        var orders = TurnLog(ofReplayAfter: known)
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= limit else { return }
            try replay(record, log: &orders)
        }
        log = TurnLog(after: head)
    }

    private mutating func replay(_ record: Record, log: inout TurnLog) throws {
        let call = ProgramCall.replay(turn: record.turn)
        try quarantine.admit(call, after: head)
        quarantine.begin(call, isAlone: true, after: head)
        try state.replay(record, log: &log)
        quarantine.end()
    }

    /// Call it at the end of the journal.
    ///
    /// - Throws: `ReplayError` if the journal ends inside a group: a group is written whole, so a part of it was lost.
    public func requireEndOfGroup() throws(ReplayError) { try state.engine.requireEndOfGroup() }

    /// A snapshot of the newest turn.
    public func snapshot() throws -> [UInt8] { try state.snapshot() }

    /// The state after the newest turn, in MessagePack.
    public func stateBytes() throws -> [UInt8] { try state.engine.state() }

    /// The view of the newest turn, in MessagePack.
    public func viewBytes() throws -> [UInt8] { try state.engine.view() }

    /// Begins service with a `started` record, and on an empty journal with `Program.start`.
    ///
    /// - Parameters:
    ///   - seed: for a new timeline; an old one has its own.
    ///   - divergences: commands that the replay came across and an operator has accepted, to be written down.
    /// - Throws: `SeedError`, `GroupLimit`, `TrapError`: nothing was created.
    public mutating func start(seed: [UInt8], now: Timestamp, accepting divergences: [Divergence] = []) throws {
        precondition(phase == .recovering, "a store starts once")
        try quarantine.admit(.subscriptions, after: head)
        clock = StoreClock(startingAt: now, newest: state.time)
        let now = clock.started
        commits = CommitPipeline(durable: head, facts: facts)
        scheduler = EffectScheduler(
            start: state.starts + 1, suspectDeaths: settings.suspectDeaths, awaiting: state.joined,
            effects: Array(state.ledger.open.keys))

        let isNew = head == 0
        let event = Record.Event.started(
            number: state.starts + 1, build: identity.build, schema: state.engine.schema, seed: isNew ? seed : [])
        write(event, now: now)
        for divergence in divergences {
            let accepted = Record.Event.divergenceAccepted(turn: divergence.turn, hash: divergence.hash, build: identity.build)
            write(accepted, origin: .operator, now: now)
        }
        // All that is open is offered below, or held.
        state.ledger.forgetChanges()
        // Its time goes on, whoever may run it.
        for effect in state.ledger.open.values { scheduler.limit(effect) }
        if isNew {
            try begin(seed: seed, now: now)
            openLogged(now: now)
        } else if scheduler.hold.awaited.isEmpty {
            for effect in state.ledger.open.values.sorted(by: { $0.id < $1.id }) {
                scheduler.offer(effect, in: state.ledger, now: now)
            }
        }
        if !isNew { resume(now: now) }
        for id in state.sessions.sessions.keys {
            clients.restore(id, received: state.sessions.last(of: id), now: now)
        }
        phase = .serving
        if !isNew { tell(.resumed, now: now) }
        tellOfDeath()
    }

    /// Writes a record that calls no `update`, and brings the books up to date.
    mutating func write(
        _ event: Record.Event, origin: Origin = .store, root: Int? = nil, now: Timestamp
    ) {
        let record = Record(turn: state.engine.skip(), time: now, origin: origin, root: root, event: event)
        log.batch.append(record)
        state.absorb(record)
    }

    /// Enters what the last group ordered.
    mutating func openLogged(now: Timestamp) {
        guard log.hasOrders else { return }
        state.carryOut(&log)
        followLedger(now: now)
    }
}
