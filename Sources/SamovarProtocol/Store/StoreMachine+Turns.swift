import DequeModule
public import SamovarCore

/// Taking turns, closing batches, and what leaves at the end of a round.
extension StoreMachine {
    /// While the journal is busy, one further batch may fill up; then the engine waits.
    var canTakeTurns: Bool {
        if quarantine.isIsolating { return false }
        return !commits.isCommitting || (log.batch.turns < settings.batchTurns && log.batch.byteCount < settings.batchBytes)
    }

    /// Takes what time has brought and what waits in the inbox, at most `turnsPerRound` items.
    ///
    /// Call it after each event or group of events, then `publishView` if `viewIsDue`, then `flush`; and all three again at
    /// once while `hasWork`.
    public mutating func advance(now: Timestamp) {
        guard phase != .stopped, phase != .recovering else { return }
        let now = time(now)
        tickIfDue(now: now)
        releaseHeld(now: now)
        scheduler.offerDelayed(in: state.ledger, now: now)
        takeItems(now: now)
    }

    /// Answers first: they free what inputs would bind. What is overdue takes turns with them, so that neither waits for the end of the other.
    private mutating func takeItems(now: Timestamp) {
        var budget = settings.turnsPerRound
        scheduler.findOverdue(now: now)
        while budget > 0, phase != .stopped, canTakeTurns {
            budget -= 1
            if scheduler.isOverdue, answers.isEmpty || budget.isMultiple(of: 2) {
                takeOverdue(now: now)
                scheduler.findOverdue(now: now)
            } else if let effect = answers.first {
                guard quarantine.isEmpty || mayTake(.answer(effect)) else { break }
                guard let row = answers.popFirst() else { break }
                take(row, now: now)
            } else if let id = scheduler.popOverLimit() {
                failCrowded(id, now: now)
            } else if let failed = quarantine.firstPostponed {
                guard mayTake(.failure(failed.effect)) else { break }
                quarantine.removeFirstPostponed()
                takePostponed(failed, now: now)
            } else if let firing = nextFiring(now: now) {
                guard mayTake(.firing(firing.id)) else { break }
                take(firing, now: now)
            } else if phase == .serving, clients.inbox.count > 0 {
                guard quarantine.isEmpty || mayTakeNextInput() else { break }
                guard let (client, submission) = clients.popFirst() else { break }
                take(submission, of: client, now: now)
            } else {
                break
            }
        }
        answers.letGo()
    }

    private mutating func mayTakeNextInput() -> Bool {
        guard let (client, submission) = clients.inbox.first else { return true }
        return mayTake(.input(client.id, sequence: submission.sequence))
    }

    private mutating func take(_ submission: Submission, of client: ClientSession, now: Timestamp) {
        let id = client.id
        let turn = head + 1
        let origin = Origin.client(session: id, sequence: submission.sequence)
        guard let verdict = verdict(on: submission, of: id, origin, now: now) else { return }
        state.time = now
        let outcome = Outcome(sequence: submission.sequence, turn: turn, verdict: verdict)
        state.sessions.answer(id, outcome)
        if verdict == .applied { counters.applied += 1 } else { counters.refused += 1 }
        openLogged(now: now)
        clients.answer(client, outcome)
    }

    /// Nil if the input has ended the store.
    private mutating func verdict(
        on submission: Submission, of id: SessionID, _ origin: Origin, now: Timestamp
    ) -> Outcome.Verdict? {
        guard submission.instance == instance else {
            let verdict = Outcome.Verdict.rejected("there is no instance \(submission.instance)")
            log.batch.append(Record(turn: state.engine.skip(), time: now, origin: origin, event: .refused(verdict)))
            return verdict
        }
        let call = ProgramCall.input(id, sequence: submission.sequence)
        if let text = giveUp(call, origin, root: nil, now: now) { return .rejected(text) }
        begin(call)
        do throws(GroupLimit) {
            let result = try state.engine.apply(.input(submission.input, origin), now: now, log: &log)
            end(call)
            if case .refused(let verdict) = result { return verdict }
            return .applied
        } catch {
            stop(error)
            return nil
        }
    }

    /// Sends what the round gave and closes a batch. Effects before answers, as a peer may rely on.
    public mutating func flush(now: Timestamp) {
        guard phase != .stopped, phase != .recovering else { return }
        let now = time(now)
        assign(now: now)
        for (route, leases) in cancellations.takeAll() { send(.cancel(leases), to: route, floor: .turn(head)) }
        sendStreamMarks()
        acknowledge()
        sendReceipts()
        answerWaiters(now: now)
        answerReaders()
        announceIdle(now: now)
        closeBatch()
        finishDrain(now: now)
    }

    private mutating func assign(now: Timestamp) {
        followLedger(now: now)
        guard phase == .serving, scheduler.dispatcher.hasWaiting else { return }
        let handed = scheduler.dispatcher.assign(
            from: state.ledger,
            AssignmentContext(
                floor: head, grace: settings.timeoutGrace, frameBytes: settings.taskFrameBytes, proof: identity.jobProof))
        for (workerState, frames) in handed {
            guard case .worker? = connections[workerState.route] else { continue }
            for frame in frames {
                let envelope = Envelope(written: .task, number: frame.number, body: frame.body, timeline: timeline)
                emit(.send(envelope, to: workerState.route), floor: .turn(head))
            }
        }
        scheduler.dispatcher.left(through: commits.durable, now: now)
    }

    private mutating func closeBatch() {
        guard !commits.isCommitting, !log.batch.isEmpty else { return }
        let batch = log.batch
        log.batch = RecordBatch(after: batch.last)
        commits.begin(facts)
        counters.batches += 1
        snapshots.journalGrew(by: batch.byteCount)
        emit(.append(first: batch.first, last: batch.last, bytes: batch.bytes), floor: .none)
        snapshotIfDue()
    }

    /// The journal holds every turn up to this one. What was taken meanwhile goes there at once, and does not wait for another round: perform
    /// what this gives before you call `advance`.
    public mutating func committed(through turn: Int, now: Timestamp) {
        quarantine.committed()
        log.committed(through: turn)
        for action in commits.committed(through: turn) { leave(action) }
        scheduler.dispatcher.left(through: turn, now: time(now))
        if phase != .stopped, phase != .recovering { closeBatch() }
    }

    /// The journal has no space, or has it again. Meanwhile clients are told to come later, and the engine waits with its commit.
    public mutating func journalIsFull(_ isFull: Bool, now: Timestamp) {
        commits.setFull(isFull, now: time(now))
        if isFull {
            note(.error, "the disk is full: nothing is taken until there is space")
        } else {
            note(.info, "there is space again: the store goes on")
        }
    }

    // MARK: Views

    /// Whether `publishView` shall be called now. The host times that call and tells the cost, because the machine has no clock.
    public func viewIsDue(now: Timestamp) -> Bool {
        phase != .stopped && phase != .recovering && views.isDue(head: head, now: time(now), settings: settings)
    }

    public mutating func publishView(now: Timestamp) {
        guard let bytes = makeView(), views.take(bytes, turn: head, now: time(now)) else { return }
        counters.views += 1
        let frame = Frame.view(instance: instance, turn: head, bytes: bytes)
        emit(.publish(Envelope(frame, timeline: timeline), of: instance), floor: .turn(head))
    }

    /// Nil if the program cannot make one; then it is not asked again before the next start.
    mutating func makeView() -> [UInt8]? {
        guard views.off == nil else { return nil }
        begin(.view)
        do {
            let bytes = try state.engine.view()
            end(.view)
            return bytes
        } catch {
            end(.view)
            turnViewsOff("the view cannot be encoded: \(error)")
            return nil
        }
    }

    mutating func turnViewsOff(_ why: String) {
        views.turnOff(why)
        note(.error, "no views are made any more: \(why)")
    }

    public mutating func viewTook(_ cost: Duration) {
        views.note(cost: cost)
    }

    mutating func sendView(to route: Route) {
        if let bytes = makeView() {
            send(.view(instance: instance, turn: head, bytes: bytes), to: route, floor: .turn(head))
        } else if let why = views.off {
            send(.waiting(turn: head, on: "there is no view: \(why)"), to: route, floor: .turn(head))
        }
    }

    private mutating func answerWaiters(now: Timestamp) {
        for route in waiters.takeViews(upTo: head) { sendView(to: route) }
        for root in waiters.settling.keys.filter({ state.ledger.isSettled($0) }).sorted() {
            let frame = Frame.settled(turn: root, dead: state.ledger.report(of: root))
            for route in waiters.takeSettled(root) { send(frame, to: route, floor: .turn(head)) }
        }
    }

    // MARK: Idleness

    /// Nothing waits, nothing runs, nothing is due: only a new input can change the state.
    var isIdle: Bool {
        state.ledger.open.isEmpty && clients.inbox.count == 0 && answers.isEmpty && state.subscriptions.isIdle
    }

    /// Idle, and subscribers have the newest view.
    private var isAtRest: Bool { isIdle && views.isCurrent(head: head) }

    private mutating func announceIdle(now: Timestamp) {
        guard isAtRest else { return idleNotice.busy() }
        if idleNotice.idle(now: now, pause: settings.idlePause, interval: settings.idleInterval) { publishTick() }
    }

    mutating func publishTick() {
        let frame = Frame.tick(instance: instance, head: head, view: views.published, idle: isAtRest)
        emit(.publish(Envelope(frame, timeline: timeline), of: instance), floor: .turn(head))
    }

    /// While the disk is full: subscribers shall know that the store lives, and hear of nothing that is not on disk.
    mutating func publishDurableTick() {
        let frame = Frame.tick(instance: instance, head: commits.durable, view: views.shown?.turn ?? 0, idle: false)
        emit(.publish(Envelope(frame, timeline: timeline), of: instance), floor: .none)
    }
}
