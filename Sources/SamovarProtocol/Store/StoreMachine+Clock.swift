import DequeModule
public import SamovarCore

/// What time brings: ticks, silence, and the end of a drain.
extension StoreMachine {
    mutating func tickIfDue(now: Timestamp) {
        guard let lateness = clock.tick(now: now, interval: settings.tickInterval) else { return }
        // Late by so much, it was the store that was away: a machine that slept, a debugger. Silence then proves nothing.
        if lateness > settings.silence / 2 { forgiveSilence(now: now) }
        if commits.isFull { publishDurableTick() } else { publishTick() }
        buryTheSilent(now: now)
        scheduler.forgetClosed(exceptOf: state.ledger)
        expireSessions(now: now)
        clients.limitFingerprints(settings)
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
        for id in scheduler.dispatcher.workers.keys { scheduler.dispatcher.heard(id, credit: nil, now: now) }
        clients.forgiveSilence(now: now)
    }

    private mutating func buryTheSilent(now: Timestamp) {
        scheduler.findSilent(for: settings.silence, now: now)
        for client in clients.silent(for: settings.silence, now: now) {
            if let route = client.route { forget(route) }
            // A session without a record is nothing to keep.
            if state.sessions.last(of: client.id) == 0, client.inbox.isEmpty {
                clients.remove(client.id)
                connections.forget(client.id)
            }
        }
    }

    // MARK: Sessions

    private mutating func expireSessions(now: Timestamp) {
        guard canTakeTurns else { return }
        // Each may be a record; the others are still expired at the next tick.
        for session in clients.expired(settings, now: now).prefix(settings.turnsPerRound) { expire(session, now: now) }
    }

    private mutating func expire(_ session: SessionID, now: Timestamp) {
        clients.remove(session)
        connections.forget(session)
        if state.sessions.last(of: session) > 0 { write(.sessionExpired(session), now: now) }
    }

    /// Makes room for another session, at the cost of the one that nobody was connected to for the longest time.
    mutating func expireIdlest(now: Timestamp) {
        guard let idlest = clients.idlest(settings, now: now) else { return }
        note(.warning, "there are \(settings.sessions) sessions: the one that was silent for longest has expired")
        expire(idlest, now: now)
    }

    private mutating func warnOfUnservedQueues(now: Timestamp) {
        let due = scheduler.findUnserved(in: state.ledger, now: now, after: settings.unservedWarning)
        guard !due.isEmpty else { return }
        // To count looks at all that wait, so it is done once for each queue.
        let waiting = scheduler.dispatcher.waitingByQueue(in: state.ledger)
        for queue in due {
            let number = waiting[queue] ?? 0
            let what = "\(count(number, "effect")) \(number == 1 ? "waits" : "wait") in queue \(queue)"
            note(.warning, "\(what), and no worker serves it")
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
        note(.info, "draining: \(count(scheduler.dispatcher.running, "job")) running")
        for (_, workerState) in scheduler.dispatcher.workers.sorted(by: { $0.key < $1.key }) {
            send(.drain, to: workerState.route, floor: .none)
        }
    }

    mutating func finishDrain(now: Timestamp) {
        guard case .draining(let end) = phase else { return }
        let isQuiet =
            answers.isEmpty && lifecycleEvents.isEmpty && scheduler.dispatcher.running == 0 && scheduler.hold.awaited.isEmpty
        guard (isQuiet && !commits.isFull) || now >= end else { return }
        if isQuiet {
            write(.drained, now: now)
        } else {
            note(
                .warning, "\(count(scheduler.dispatcher.running, "job")) did not end in time; workers will answer after the restart"
            )
        }
        // The commit that waits for space will not come; nobody has heard of its turns, so their peers will send again.
        guard !commits.isFull else { return stop(.drained) }
        phase = .stopped
        quarantine.forgetWhatIsOff()
        let batch = log.batch
        if !batch.isEmpty { emit(.append(first: batch.first, last: batch.last, bytes: batch.bytes), floor: .none) }
        log.batch = RecordBatch(after: batch.last)
        saveSnapshot()
        for route in connections.routes { send(.goodbye, to: route, floor: .turn(head)) }
        emit(.publish(Envelope(.goodbye, timeline: timeline), of: instance), floor: .turn(head))
        emit(.stop(.drained), floor: .turn(head))
    }
}
