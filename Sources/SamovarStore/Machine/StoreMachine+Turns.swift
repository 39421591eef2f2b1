public import SamovarCore
import SamovarWire

/// Rounds: what time has brought, items, and what leaves at the end.
extension StoreMachine {
    /// Takes what time has brought and what waits in the inbox, at most `turnsPerRound` items.
    ///
    /// Call it after each event or group of events, then `publishView` if `viewIsDue`, then `flush`; and all three again at
    /// once while `hasWork`.
    public mutating func advance(now: Timestamp) {
        // A store in doubt stands still, and its ticks come late: the silence of its peers proves nothing then.
        guard isRunning, !turns.isInDoubt else { return }
        let now = time(now)
        defer { digests.saw(turns.head, now: now) }
        scheduler.dispatcher.meters.now = now
        expireKeys(now: now)
        followers.expire(after: settings.followedFor, now: now)
        tickIfDue(now: now)
        workers.releaseHeld(now: now, &scheduler, &turns, &out)
        scheduler.offerDelayed(in: turns.state.ledger, now: now)
        scheduler.findOverdue(now: now)
        do throws(StopReason) {
            try takeItems(now: now)
        } catch {
            stop(error, now: now)
        }
        workers.letGo()
    }

    private enum Taken { case one, none, notYet }

    /// Answers first: they free what inputs would bind. What is overdue takes turns with them, and between so many of both comes one of what
    /// waits behind, of each kind in turn: a program may order as fast as it is answered, and again at once what has no time.
    private mutating func takeItems(now: Timestamp) throws(StopReason) {
        var budget = settings.turnsPerRound
        while budget > 0, turns.canTake {
            budget -= 1
            let goesOn = workers.aheadOfOthers < Workers.aheadAtMost
            if goesOn, scheduler.isOverdue, workers.answers.isEmpty || budget.isMultiple(of: 2) {
                workers.aheadOfOthers += 1
                if let silent = try scheduler.takeOverdue(now: now, &turns, &out) {
                    try workers.ended(silent, evidence: nil, now: now, &scheduler, &turns, &out)
                }
                scheduler.findOverdue(now: now)
            } else if goesOn, let effect = workers.answers.first {
                guard turns.mayTake(.answer(effect)) else { return }
                try workers.takeAnswer(now: now, &scheduler, &turns, &out)
            } else {
                switch try takeOther(now: now) {
                case .one:
                    workers.aheadOfOthers = 0
                    workers.interruptions += 1
                case .none where !workers.answers.isEmpty || scheduler.isOverdue: workers.aheadOfOthers = 0
                // Had it to be alone and the answers went on, it would never be.
                case .none, .notYet: return
                }
            }
        }
    }

    /// Takes one item that is neither an answer nor overdue.
    private mutating func takeOther(now: Timestamp) throws(StopReason) -> Taken {
        // Each kind goes before the next. Between those ahead of all, and where inputs were passed over so often, none waits for the end of
        // another: a program may order as fast as it is answered or told that there are too many, and timers may have days to make up for.
        let isInRotation = !workers.answers.isEmpty || scheduler.isOverdue || workers.aheadOfInputs >= Workers.aheadAtMost
        let first = isInRotation ? workers.interruptions : 0
        for kind in 0..<4 {
            switch (first + kind) % 4 {
            case 0:
                guard !scheduler.overLimit.isEmpty else { continue }
                try scheduler.failOverLimit(now: now, &turns, &out)
            case 1:
                guard let failed = scheduler.postponed.first else { continue }
                guard turns.mayTake(.failure(failed.effect)) else { return .notYet }
                try scheduler.failPostponed(now: now, &turns, &out)
            case 2:
                guard let firing = firings.next(turns.state.subscriptions, timersMayFire: timersMayFire, now: now) else { continue }
                guard turns.mayTake(.firing(firing.id)) else { return .notYet }
                try firings.take(firing, now: now, &scheduler, &turns, &out)
            default:
                guard phase == .serving, clients.inbox.count > 0 else { continue }
                guard turns.mayTake(clients.inbox.firstCall), let (client, submission) = clients.popFirst() else { return .notYet }
                let objection = access.objection(to: submission.input, by: client.sender)
                let outcome = try turns.take(submission, of: client.id, sender: client.sender, objection: objection, now: now, &out)
                scheduler.enterOrders(now: now, &turns)
                clients.answer(client, outcome)
                workers.aheadOfInputs = 0
                return .one
            }
            workers.aheadOfInputs += 1
            return .one
        }
        workers.aheadOfInputs = 0
        return .none
    }

    /// Sends what the round gave and closes a batch. Effects before answers, as a peer may rely on.
    public mutating func flush(now: Timestamp) {
        let now = time(now)
        guard isRunning else { return endIfHeldUp(now: now) }
        if turns.isInDoubt {
            closeBatch(now: now)
            return finishDrain(now: now)
        }
        scheduler.follow(now: now, &turns)
        if phase == .serving {
            scheduler.assign(from: turns.state.ledger, head: head, now: now, &out)
        }
        scheduler.sendCancellations(head: head, &out)
        workers.acknowledge(head: head, isOverLimit: turns.hasTooManyEffects, &out)
        clients.sendReceipts(turns.state.sessions, head: head, &out)
        readers.answer(&turns, &out)
        readers.announceIdle(isIdle, head: head, now: now, &out)
        payForViews(now: now)
        closeBatch(now: now)
        finishDrain(now: now)
    }

    private mutating func closeBatch(now: Timestamp) {
        guard let batch = turns.takeBatch(now: now) else { return }
        snapshots.journalGrew(by: batch.byteCount)
        out.emit(.append(first: batch.first, last: batch.last, bytes: batch.bytes), floor: .none)
        snapshots.saveIfDue(settings, &turns, &out)
    }

    /// The journal holds every turn up to this one. What was taken meanwhile goes there at once, and does not wait for another round: perform
    /// what this gives before you call `advance`.
    public mutating func committed(through turn: Int, now: Timestamp) {
        let now = time(now)
        turns.committed(through: turn, now: now)
        out.committed(through: turn)
        if !waiting.answers.isEmpty { waiting.answers = waiting.answers.filter { $0.value.floor > turn } }
        if !turns.isInDoubt { scheduler.dispatcher.left(through: turn, now: now) }
        if isRunning { closeBatch(now: now) }
    }

    /// The journal has no space, or has it again. Meanwhile clients are told to come later, and the engine waits with its commit.
    ///
    /// - Parameter isAway: what is missing is not space, but an answer of the database.
    public mutating func journalIsFull(_ isFull: Bool, isAway: Bool = false, now: Timestamp) {
        let now = time(now)
        turns.journalIsHeldUp(isFull ? (isAway ? .databaseAway : .diskFull) : nil, now: now, &out)
        noteOutage(now: now)
    }

    // MARK: Views

    /// Whether `publishView` shall be called now. The host times that call and tells the cost, because the machine has no clock.
    public func viewIsDue(now: Timestamp) -> Bool {
        let (isRunning, isInDoubt, due, time) = (isRunning, turns.isInDoubt, readers.viewDue(head: head), time(now))
        guard isRunning, !isInDoubt, let due else { return false }
        return due <= time
    }

    public mutating func publishView(now: Timestamp) { readers.publishView(now: time(now), &turns, &out) }

    public mutating func viewTook(_ cost: Duration) {
        readers.viewTook(cost)
        measured.views.add(cost)
    }

    /// The host has done a round, from the events that woke it to the last action.
    public mutating func roundTook(_ cost: Duration) { measured.rounds.add(cost) }

    // MARK: Ticks

    private mutating func tickIfDue(now: Timestamp) {
        guard let lateness = clock.tick(now: now, interval: settings.tickInterval) else { return }
        // Late by so much, it was the store that was away: a machine that slept, a debugger. Silence then proves nothing.
        if lateness > settings.silence / 2 {
            for worker in scheduler.dispatcher.workers.values { worker.heard = now }
            clients.forgiveSilence(now: now)
        }
        noteSample(now: now)
        let isHeldUp = turns.outage != nil
        if isHeldUp { readers.publishDurableTick(&out) } else { readers.publishTick(isIdle: isIdle, head: head, &out) }
        scheduler.findSilent(now: now)
        clients.buryTheSilent(turns.state.sessions, now: now, &readers, &out)
        scheduler.forgetClosed(exceptOf: turns.state.ledger)
        if turns.canTake { clients.expire(now: now, &turns) }
        clients.limitFingerprints()
        workers.watchStreams(turns.state.ledger)
        readers.tickFeed(now: now, &turns)
        scheduler.tellOfQueues(in: turns.state.ledger, head: isHeldUp ? nil : head, now: now, &out)
        // The gate may stay closed for hours, and they would gather there.
        if !isHeldUp { readers.reportWaiting(turns.state.ledger, scheduler.dispatcher, head: head, &out) }
    }

    // MARK: Drain

    /// Stops in order: no further inputs and jobs, running jobs may finish, then a snapshot and a goodbye.
    public mutating func drain(within limit: Duration, now: Timestamp) {
        beginDrain(within: limit, now: time(now))
    }

    mutating func beginDrain(within limit: Duration, now: Timestamp) {
        guard phase == .serving else { return }
        firings.tell(.draining, turns.state.subscriptions, now: now)
        phase = .draining(until: now + limit)
        scheduler.handsOut(false, in: turns.state.ledger, now: now)
        out.note(.info, "draining: \(count(scheduler.dispatcher.running, "job")) running")
        for (_, worker) in scheduler.dispatcher.workers.sorted(by: { $0.key < $1.key }) {
            out.send(.drain, to: worker.route, floor: .none)
        }
    }

    private mutating func finishDrain(now: Timestamp) {
        guard case .draining(let end) = phase else { return }
        let running = scheduler.dispatcher.running
        let isQuiet = workers.answers.isEmpty && firings.isEmpty && running == 0
        let isHeldUp = turns.outage != nil
        guard (isQuiet && !isHeldUp) || now >= end else { return }
        if !isQuiet { out.note(.warning, "\(count(running, "job")) did not end in time; workers will answer after the restart") }
        guard !isHeldUp else {
            // The commit that waits will not come; nobody has heard of its turns, so their peers will send again.
            turns.forgetWhatIsOff()
            return stop(.drained, now: now)
        }
        if isQuiet {
            if isFollowed, digests.isBehind(turns.head) { writeDigest(at: now) }
            // A worker of before is not let in any more, so it is not waited for. It stays joined, for it may run its jobs; others hold none.
            if scheduler.awaited.isEmpty {
                turns.write(.drained, now: now)
            } else {
                for id in turns.state.joined.subtracting(scheduler.awaited).sorted() { turns.write(.workerLeft(id), now: now) }
            }
        }
        phase = .stopped(until: end)
        // Behind the digest, which is not made of a state that cannot be encoded.
        turns.forgetWhatIsOff()
        let batch = turns.takeLastBatch()
        if !batch.isEmpty { out.emit(.append(first: batch.first, last: batch.last, bytes: batch.bytes), floor: .none) }
        snapshots.save(&turns, &out)
        for route in clients.connections.routes + workers.connections.routes {
            out.send(.goodbye, to: route, floor: .turn(head))
        }
        out.publish(.goodbye, of: .main, floor: .turn(head))
        out.emit(.stop(.drained), floor: .turn(head))
    }

    /// The last commit is the first to find the journal held up. It is waited for no longer than anything else of a drain.
    private mutating func endIfHeldUp(now: Timestamp) {
        guard case .stopped(let deadline?) = phase, turns.outage != nil, now >= deadline else { return }
        stop(.drained, now: now)
    }
}
