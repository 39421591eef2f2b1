public import SamovarCore

/// From the journal to service: newest readable snapshot, later batches, then the record of this start.
extension StoreMachine {
    /// Sets the state from a snapshot. The machine must not have replayed anything yet.
    ///
    /// - Throws: what reading it throws; the machine is then unusable, and a new one shall try an older snapshot.
    public mutating func restore(snapshot: [UInt8]) throws {
        precondition(phase == .recovering, "a snapshot is restored before the start")
        // Whatever the one before the last process died of: the whole journal will do.
        if suspects.contains(.restore) { throw TrapError(turn: 0, "its state ended the store when it was read") }
        marker.begin(.restore, isAlone: true, after: head)
        defer { marker.end() }
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
        let orders = TurnLog(ofReplayAfter: known)
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= limit else { return }
            try replay(record, log: orders)
        }
        log = TurnLog(after: head)
    }

    private mutating func replay(_ record: Record, log: TurnLog) throws {
        let call = ProgramCall.replay(turn: record.turn)
        if let death, death.call == call, death.evidence.isProof {
            throw TrapError(
                turn: record.turn,
                "the program ended the store when it replayed this turn (\(death.evidence.text)): it, or its machine, has changed")
        }
        marker.begin(call, isAlone: true, after: head)
        try state.replay(record, log: log)
        marker.end()
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
        if let death, death.call == .subscriptions, death.evidence.isProof {
            throw TrapError(turn: head, "the program ended the store when asked for its subscriptions (\(death.evidence.text))")
        }
        clockLead = max(.zero, state.time - now)
        let now = time(now)
        startTime = now
        gate = Gate(durable: head)
        durableFacts = facts
        hold = RestartHold(awaiting: state.joined, effects: Array(state.ledger.open.keys))
        dispatcher = Dispatcher(start: state.starts + 1, suspectDeaths: settings.suspectDeaths)

        let isNew = head == 0
        let event = Record.Event.started(
            number: state.starts + 1, build: build, schema: state.engine.schema, seed: isNew ? seed : [])
        write(event, now: now)
        for divergence in divergences {
            let accepted = Record.Event.divergenceAccepted(turn: divergence.turn, hash: divergence.hash, build: build)
            write(accepted, origin: .operator, now: now)
        }
        // All that is open is offered below, or held.
        state.ledger.forgetChanges()
        // Its time goes on, whoever may run it.
        for effect in state.ledger.open.values { limit(effect) }
        if isNew {
            try begin(seed: seed, now: now)
            openLogged(now: now)
        } else if hold.awaited.isEmpty {
            for effect in state.ledger.open.values.sorted(by: { $0.id < $1.id }) { offer(effect, now: now) }
        }
        if !isNew { resume(now: now) }
        for id in state.sessions.sessions.keys {
            clients[id] = ClientSession(id, route: nil, received: state.sessions.last(of: id), heard: now)
        }
        phase = .serving
        nextTick = now
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
        state.carryOut(log)
        followLedger(now: now)
    }

    /// Lets the effects of before go, once nobody can be running them unseen.
    mutating func releaseHeld(now: Timestamp) {
        guard !hold.isEmpty, hold.awaited.isEmpty || now >= heldUntil else { return }
        let (missing, effects) = hold.release()
        for id in missing {
            note(.warning, "worker \(id) of before the restart has not come back; its jobs go to others")
            write(.workerLeft(id), now: now)
        }
        for id in effects {
            if let effect = state.ledger.open[id] { offer(effect, now: now) }
        }
    }

    /// A worker of before has spoken, or is known to be gone.
    mutating func noLongerAwaited(_ id: WorkerID, now: Timestamp) {
        guard hold.heard(id) else { return }
        releaseHeld(now: now)
    }
}
