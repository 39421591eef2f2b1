import DequeModule
public import SamovarCore

/// What time brings: ticks, silence, and the end of a drain.
extension StoreMachine {
    mutating func tickIfDue(now: Timestamp) {
        guard now >= nextTick else { return }
        // Late by so much, it was the store that was away: a machine that slept, a debugger. Silence then proves nothing.
        if now - nextTick > settings.silence / 2 { forgiveSilence(now: now) }
        nextTick = now + settings.tickInterval
        if isJournalFull { publishDurableTick() } else { publishTick() }
        buryTheSilent(now: now)
        dispatcher.forgetLosses(exceptOf: state.ledger)
        forgetWhatWasMet()
        expireSessions(now: now)
        limitFingerprints()
        watchStreams()
        tickFeed(now: now)
        warnOfUnservedQueues(now: now)
        remakeWaitReportsIfDue()
        for (root, routes) in waiters.settling.sorted(by: { $0.key < $1.key }) {
            let frame = Frame.waiting(turn: root, on: waitReport(of: root))
            for route in routes { send(frame, to: route, floor: .turn(head)) }
        }
    }

    private mutating func forgiveSilence(now: Timestamp) {
        for id in dispatcher.workers.keys { dispatcher.heard(id, credit: nil, now: now) }
        for session in clients.keys { clients[session]?.heard = now }
    }

    private mutating func buryTheSilent(now: Timestamp) {
        if silent.isEmpty { silent = Deque(dispatcher.workers.filter { isSilent($0.value, now: now) }.keys.sorted()) }
        for (session, client) in clients where now - client.heard > settings.silence {
            if let route = client.route { forget(route) }
            // A session without a record is nothing to keep.
            if state.sessions.last(of: session) == 0, client.inbox.isEmpty {
                clients[session] = nil
                attempts[session] = nil
            }
        }
    }

    private func isSilent(_ workerState: Dispatcher.WorkerState, now: Timestamp) -> Bool {
        now - workerState.heard > settings.silence
    }

    // MARK: What is overdue

    /// When something will have taken too long; it may be over by then.
    var nextOverdue: Timestamp? {
        switch (dispatcher.nextExpiry, deadlines.nextTime) {
        case (let expiry?, let deadline?): min(expiry, deadline)
        case (let expiry, let deadline): expiry ?? deadline
        }
    }

    /// Whether something has taken too long.
    func hasOverdue(now: Timestamp) -> Bool { !silent.isEmpty || nextOverdue.map { $0 <= now } ?? false }

    /// Takes one of those that have taken too long: an item like any other, because it may be a turn, and thousands may come at once.
    mutating func takeOverdue(now: Timestamp) {
        if let id = silent.popFirst() {
            if let workerState = dispatcher.workers[id], isSilent(workerState, now: now) { workerLost(id, now: now) }
        } else if let id = dispatcher.popExpired(now: now) {
            expire(id, now: now)
        } else if let (id, limit) = deadlines.popDue(now: now) {
            overrun(id, limit, now: now)
        }
    }

    /// Forgets what time would bring to effects that were closed meanwhile, if that is most of it.
    private mutating func forgetWhatWasMet() {
        dispatcher.forgetClosed(exceptOf: state.ledger)
        guard deadlines.count > 4 * state.ledger.open.count + 1_024 else { return }
        let (open, dispatcher) = (state.ledger.open, dispatcher)
        deadlines.keep { id, limit, time in
            switch limit {
            case .total: open[id]?.expiry == time
            case .waiting: open[id]?.options.limits.waiting.flatMap { limit in dispatcher.waits(id).map { $0 + limit } } == time
            }
        }
    }

    // MARK: Sessions

    /// Each session keeps as many hashes as all of them leave for it.
    private mutating func limitFingerprints() {
        fingerprintLimit = min(settings.window, max(1, settings.fingerprints / max(1, clients.count)))
        guard fingerprintLimit < settings.window else { return }
        for client in clients.values { client.fingerprints.keep(newest: fingerprintLimit) }
    }

    private mutating func expireSessions(now: Timestamp) {
        guard canTakeTurns else { return }
        let expired = clients.filter { _, client in
            let idle = client.isDurable ? settings.durableSessionIdle : settings.sessionIdle
            return client.inbox.isEmpty && now - client.heard > idle
        }
        // Each may be a record; the others are still expired at the next tick.
        for session in expired.keys.sorted().prefix(settings.turnsPerRound) { expire(session, now: now) }
    }

    private mutating func expire(_ session: SessionID, now: Timestamp) {
        clients[session] = nil
        attempts[session] = nil
        if state.sessions.last(of: session) > 0 { write(.sessionExpired(session), now: now) }
    }

    /// Makes room for another session, at the cost of the one that nobody was connected to for the longest time.
    mutating func expireIdlest(now: Timestamp) {
        let left = clients.filter { $0.value.route == nil && $0.value.inbox.isEmpty && now - $0.value.heard > settings.silence }
        guard let idlest = left.min(by: { ($0.value.heard, $0.key) < ($1.value.heard, $1.key) }) else { return }
        note(.warning, "there are \(settings.sessions) sessions: the one that was silent for longest has expired")
        expire(idlest.key, now: now)
    }

    private mutating func warnOfUnservedQueues(now: Timestamp) {
        let queues = dispatcher.unservedQueues(in: state.ledger)
        for queue in unserved.keys where !queues.contains(queue) { unserved[queue] = nil }
        // To count looks at all that wait, so it is done once for each queue.
        var waiting: [Queue: Int]?
        for queue in queues.sorted() {
            let entry = unserved[queue] ?? (since: now, isWarned: false)
            let isDue = !entry.isWarned && now - entry.since >= settings.unservedWarning
            if isDue {
                let counts = waiting ?? dispatcher.waitingByQueue(in: state.ledger)
                waiting = counts
                let number = counts[queue] ?? 0
                note(
                    .warning,
                    "\(count(number, "effect")) \(number == 1 ? "waits" : "wait") in queue \(queue), and no worker serves it")
            }
            unserved[queue] = (entry.since, entry.isWarned || isDue)
        }
    }

    // MARK: Drain

    /// Stops in order: no further inputs and jobs, running jobs may finish, then a snapshot and a goodbye.
    public mutating func drain(within limit: Duration, now: Timestamp) {
        beginDrain(within: limit, now: time(now))
    }

    mutating func beginDrain(within limit: Duration, now: Timestamp) {
        guard phase == .serving else { return }
        tell(.draining, now: now)
        phase = .draining(until: now + limit)
        note(.info, "draining: \(count(dispatcher.running, "job")) running")
        for (_, workerState) in dispatcher.workers.sorted(by: { $0.key < $1.key }) {
            send(.drain, to: workerState.route, floor: .none)
        }
    }

    mutating func finishDrain(now: Timestamp) {
        guard case .draining(let end) = phase else { return }
        let isQuiet = answers.isEmpty && lifecycleEvents.isEmpty && dispatcher.running == 0 && hold.awaited.isEmpty
        guard (isQuiet && !isJournalFull) || now >= end else { return }
        if isQuiet {
            write(.drained, now: now)
        } else {
            note(
                .warning, "\(count(dispatcher.running, "job")) did not end in time; workers will answer after the restart"
            )
        }
        // The commit that waits for space will not come; nobody has heard of its turns, so their peers will send again.
        guard !isJournalFull else { return stop(.drained) }
        phase = .stopped
        forgetWhatIsOff()
        let batch = log.batch
        if !batch.isEmpty { emit(.append(first: batch.first, last: batch.last, bytes: batch.bytes), floor: .none) }
        log.batch = RecordBatch(after: batch.last)
        saveSnapshot()
        for route in peers.keys.sorted() { send(.goodbye, to: route, floor: .turn(head)) }
        emit(.publish(Envelope(.goodbye, timeline: timeline), of: instance), floor: .turn(head))
        emit(.stop(.drained), floor: .turn(head))
    }
}
