import DequeModule
public import SamovarCore

/// Workers: their jobs, their answers, and their deaths.
extension StoreMachine {
    mutating func greet(_ hello: Hello, offer: WorkerOffer, of seen: Timeline, at route: Route, now: Timestamp) {
        let unnamed = hello.schema == nil ? "this store runs \(state.engine.schema); the worker names no program" : nil
        if let mismatch = unnamed ?? mismatch(hello.schema, what: "worker") {
            note(.warning, "refused worker \(offer.id): \(mismatch)")
            return send(.error(PeerError(.schema, mismatch)), to: route, floor: .none)
        }
        if hasLostTail(hello, of: seen, what: "worker \(offer.id)") { return }
        // A WELCOME would wait at the gate for the disk, and the peer in silence.
        if commits.isFull { return refuse(route, "the disk of the store is full") }
        guard phase == .serving else { return refuse(route, "the store is about to stop") }
        let current = scheduler.dispatcher.workers[offer.id]?.route
        if connections.isRepeated(hello.epoch, of: offer.id, at: route, current: current) {
            let welcome = Welcome(schema: state.engine.schema, head: commits.durable, silence: settings.silence)
            return send(.welcome(welcome), isProven: hello.takesProofs, to: route, floor: .turn(head))
        }
        guard isNewest(hello.epoch, of: offer.id, at: route, current) else { return }
        if let old = scheduler.dispatcher.workers[offer.id]?.route, old != route {
            send(.error(PeerError(.superseded, "another connection uses this worker's identity")), to: old, floor: .none)
            forget(old)
        }
        if !state.joined.contains(offer.id) || state.missing[offer.id] != nil { write(.workerJoined(offer.id), now: now) }
        connections.connect(.worker(offer.id), at: route)
        let before = Set(scheduler.dispatcher.jobs(of: offer.id)).subtracting(answered(by: offer.id))
        scheduler.join(offer, takesProofs: hello.takesProofs, at: route, now: now)
        let welcome = Welcome(schema: state.engine.schema, head: commits.durable, silence: settings.silence)
        send(.welcome(welcome), isProven: hello.takesProofs, to: route, floor: .turn(head))
        let claimed = seen == timeline ? adopt(offer.running, of: offer.id, at: route, now: now) : []
        guard phase != .stopped else { return }
        // Handed out, and never arrived: the frame was lost with the connection.
        for effect in before.subtracting(claimed).sorted() { giveBack(effect, now: now) }
        noLongerAwaited(offer.id, now: now)
    }

    /// Believes what a worker says it holds, if it can prove it.
    private mutating func adopt(_ claims: [JobClaim], of id: WorkerID, at route: Route, now: Timestamp) -> Set<EffectID> {
        var claimed: Set<EffectID> = []
        for claim in claims {
            guard isGenuine(claim.effect, claim.lease, claim.token) else {
                drop("worker \(id) claims a job that this store never gave", from: route)
                continue
            }
            if hasLostTail(provenBy: claim.effect.turn, what: "worker \(id)") { return [] }
            let holder = scheduler.dispatcher.assignment(of: claim.effect)
            guard let effect = state.ledger.open[claim.effect], !effect.isOver(under: claim.lease),
                !rejectedStreams.lacksMessages(effect.id, claim.lease),
                scheduler.dispatcher.adopt(
                    effect, lease: claim.lease, token: claim.token, worker: id, now: now, grace: settings.timeoutGrace)
            else {
                cancellations.append(claim.lease, for: route)
                continue
            }
            claimed.insert(claim.effect)
            if let holder, holder.lease != claim.lease { cancel(holder) }
        }
        return claimed
    }

    /// Effects that this worker holds, and whose answers by it wait for their turn. What it says once more of an earlier attempt is
    /// no answer of the one that it holds now.
    private func answered(by id: WorkerID) -> Set<EffectID> {
        var answered: Set<EffectID> = []
        for result in answers.of(id) where !result.answer.isStreamed {
            if scheduler.dispatcher.assignment(of: result.effect)?.lease == result.lease { answered.insert(result.effect) }
        }
        return answered
    }

    private func isGenuine(_ effect: EffectID, _ lease: Lease, _ token: UInt64) -> Bool {
        // Of a job that somebody has, the token is known.
        token == scheduler.dispatcher.token(of: effect, under: lease)
            ?? identity.jobProof.token(of: effect, under: lease)
    }

    mutating func workerSent(_ frame: Frame, _ id: WorkerID, at route: Route, now: Timestamp) {
        switch frame {
        case .ping(let credit):
            scheduler.dispatcher.heard(id, credit: credit, now: now)
            let workerState = scheduler.dispatcher.workers[id]
            send(.pong(workerState?.sent ?? 0), isProven: workerState?.takesProofs ?? false, to: route, floor: .none)
        case .credit(let credit): scheduler.dispatcher.heard(id, credit: credit, now: now)
        case .result(let results, let credit):
            scheduler.dispatcher.heard(id, credit: credit, now: now)
            guard let workerState = scheduler.dispatcher.workers[id] else { return }
            receive(results, of: workerState)
        case .progress(let reports):
            scheduler.dispatcher.heard(id, credit: nil, now: now)
            for report in reports { scheduler.dispatcher.note(report, of: id) }
        case .drain: scheduler.dispatcher.setLeaving(id)
        case .goodbye:
            // Its last answers may still wait for their turn; whatever it holds beyond them is free at once.
            let answered = answered(by: id)
            let jobs = scheduler.dispatcher.leave(id)
            connections.forget(id)
            if state.joined.contains(id) { write(.workerLeft(id), now: now) }
            for effect in jobs where !answered.contains(effect) { giveBack(effect, now: now) }
            forget(route)
            noLongerAwaited(id, now: now)
        default: misuse("\(frame.kind) is not for workers to send", route)
        }
    }

    private mutating func receive(_ results: JobResults, of worker: Dispatcher.WorkerState) {
        var invalid: Set<Int> = []
        for (number, row) in results.rows.enumerated() {
            if !isGenuine(row.effect, row.lease, row.token) {
                drop("worker \(worker.id) answers a job that this store never gave", from: worker.route)
                invalid.insert(number)
            } else if case .other = row.answer, case .streamed(index: 0, message: _, checkpoint: _) = results.answer(of: row) {
                misuse("there is no streamed message 0: they are numbered from 1", worker.route)
                invalid.insert(number)
            } else if hasLostTail(provenBy: row.effect.turn, what: "worker \(worker.id)") {
                return
            }
        }
        let valid = invalid.isEmpty ? results : JobResults(results.indices.filter { !invalid.contains($0) }.map { results[$0] })
        answers.append(valid, of: worker)
        answers.removeRepeated(beyond: settings.answersUnsifted, bytes: settings.answerBytesUnsifted)
    }

    /// Tells workers of the answers that were taken in this round.
    mutating func acknowledge() {
        for worker in answers.acknowledged where !worker.acknowledged.isEmpty {
            send(.acknowledge(worker.acknowledged), isProven: worker.takesProofs, to: worker.route, floor: .turn(head))
            worker.acknowledged = []
        }
        answers.endRound()
    }

    /// The turn of the answer that was just taken. Where the effect is closed already, or the attempt is not current (`isCurrent`), it
    /// changes nothing, and the worker may forget it.
    mutating func take(_ row: JobResults.Row, now: Timestamp) {
        let (id, lease) = (row.effect, row.lease)
        if case .other = row.answer, case .streamed(let index, let message, let checkpoint) = answers.answer(of: row) {
            guard let route = answers.worker?.route else { return }
            return take(message, number: index, checkpoint: checkpoint, of: id, lease: lease, at: route, now: now)
        }
        counters.results += 1
        answers.acknowledge(lease)
        // Not the effect, whose references would be counted, but what nearly all answers need of it.
        guard let (root, isOver) = state.ledger.open.withEffect(id, { ($0.root, $0.isOver(under: lease)) }),
            !isOver, !scheduler.dispatcher.isHeld(id, underOtherThan: lease)
        else {
            counters.lateResults += 1
            return
        }
        if case .message(let place) = row.answer {
            // Asked only where it may be: the compiler moves the whole machine for that call.
            if !rejectedStreams.isEmpty, rejectedStreams.lacksMessages(id, lease) { return takeIncomplete(id, now: now) }
            let origin = Origin.effect(id, lease: lease, index: 0)
            let input = EngineInput.message(
                answers.bytes._withUnsafeGuaranteedRef { $0.all[place] }, origin, .closes, root: root)
            return complete(id, input, root: root, lease: lease, now: now)
        }
        switch answers.answer(of: row) {
        case .done(let messages):
            if rejectedStreams.lacksMessages(id, lease) { return takeIncomplete(id, now: now) }
            if messages.isEmpty {
                close(id, answered: lease)
                return write(.done(id), root: root, now: now)
            }
            complete(id, .answer(messages, id, lease, root: root), root: root, lease: lease, now: now)
        case .failed(let reason, let text, let permanent):
            attemptFailed(id, reason, text, lease: lease, isPermanent: permanent, now: now)
        case .returned: giveBack(id, now: now)
        case .streamed: break
        }
    }

    /// An answer whose job has streamed messages that have not all come.
    private mutating func takeIncomplete(_ id: EffectID, now: Timestamp) {
        counters.lateResults += 1
        giveBack(id, now: now)
    }

    /// Whether what a worker says of an attempt counts: the attempt is not over on record, and no other holds the effect. So a greater
    /// lease fences a smaller one, in answers, failures and streams alike. A worker that has left meanwhile holds nothing, but its answer
    /// counts as long as nobody else has the effect.
    func isCurrent(_ effect: OpenEffect, _ lease: Lease) -> Bool {
        !effect.isOver(under: lease) && !scheduler.dispatcher.isHeld(effect.id, underOtherThan: lease)
    }

    /// Applies the messages of an answer.
    private mutating func complete(
        _ id: EffectID, _ input: borrowing EngineInput, root: Int, lease: Lease, now: Timestamp
    ) {
        let call = ProgramCall.answer(id)
        if giveUp(call, .effect(id, lease: lease, index: 0), root: root, now: now) != nil { return withdraw(id) }
        begin(call)
        do throws(GroupLimit) {
            let before = log.batch.last
            let result = try state.engine.apply(input, now: now, log: &log)
            end(call)
            if case .unreadable(let why) = result {
                let text = "the answer is not a message of this program: \(why)"
                return attemptFailed(id, .unhandled, text, lease: lease, isPermanent: true, now: now)
            }
            counters.applied += log.batch.last - before
            state.time = now
            close(id, answered: lease)
            openLogged(now: now)
        } catch {
            stop(error)
        }
    }

    /// Ends all work on an effect; whoever runs it in vain is told.
    mutating func close(_ effect: EffectID, answered lease: Lease?) {
        if let holder = scheduler.dispatcher.forget(effect, unlessBy: lease) { cancel(holder) }
    }

    /// The same for an effect that is given up: an operator may have it run again.
    mutating func withdraw(_ effect: EffectID) {
        if let holder = scheduler.dispatcher.takeBack(effect) { cancel(holder) }
    }

    mutating func cancel(_ holder: Dispatcher.Assignment) {
        guard let route = scheduler.dispatcher.workers[holder.worker]?.route else { return }
        cancellations.append(holder.lease, for: route)
    }

    /// Without effect if it is not open.
    ///
    /// - Parameter lease: that of the attempt, which is current; nil if its worker died.
    mutating func attemptFailed(
        _ id: EffectID, _ reason: Failure.Reason, _ text: String, lease: Lease?, isPermanent: Bool, now: Timestamp
    ) {
        guard let effect = state.ledger.open[id] else { return }
        attemptFailed(effect, reason, text, lease: lease, isPermanent: isPermanent, now: now)
    }

    /// - Parameter lease: that of the attempt, which is current; nil if its worker died.
    mutating func attemptFailed(
        _ effect: OpenEffect, _ reason: Failure.Reason, _ text: String, lease: Lease?, isPermanent: Bool, now: Timestamp
    ) {
        scheduler.dispatcher.takeBack(effect.id)
        let isDeath = reason == .workerDied && !effect.isSource
        let failures = effect.failures + (isDeath ? 0 : 1)
        let deaths = effect.deaths + (isDeath ? 1 : 0)
        let text = text.bounded()
        let pause: Duration? =
            if isPermanent { nil } else if isDeath {
                // Two deaths may be bad luck; one more, alone on an empty worker, is evidence.
                deaths > settings.suspectDeaths ? nil : .zero
            } else {
                effect.retry.pause(after: failures, of: effect.id, secret: identity.secret)
            }
        guard let pause else {
            return fail(effect, Failure(reason: reason, text: text, attempts: failures + deaths), now: now)
        }
        note(.warning, "effect \(effect.id) in queue \(effect.queue): attempt \(failures + deaths) failed (\(reason)): \(text)")
        let origin = lease.map { Origin.effect(effect.id, lease: $0, index: 0) } ?? .store
        write(.attemptFailed(effect.id, reason, text, notBefore: now + pause), origin: origin, root: effect.root, now: now)
        scheduler.offer(effect.id, in: state.ledger, now: now)
    }

    /// An effect failed for good: the program may make a message of it, else it stays dead for an operator.
    mutating func fail(_ effect: OpenEffect, _ failure: Failure, now: Timestamp) {
        let call = ProgramCall.failure(effect.id)
        guard mayTake(call) else { return quarantine.postpone(failure, of: effect.id) }
        note(.error, "effect \(effect.id) in queue \(effect.queue) \(failure)")
        if giveUp(call, .failure(effect.id), root: effect.root, now: now) != nil { return }
        begin(call)
        do throws(GroupLimit) {
            let input = EngineInput.failure(failure, effect.id, payload: effect.payload, root: effect.root)
            let result = try state.engine.apply(input, now: now, log: &log)
            end(call)
            guard result == .applied else { return bury(effect, failure, now: now) }
            state.time = now
            openLogged(now: now)
        } catch {
            stop(error)
        }
    }

    private mutating func bury(_ effect: OpenEffect, _ failure: Failure, now: Timestamp) {
        write(.dead(effect.id, failure), root: effect.root, now: now)
        let dead = state.ledger.dead.count
        if dead == settings.deadEffectsToWarn || dead == settings.deadEffects {
            note(.error, "\(dead) effects are dead; from \(settings.deadEffects) on inputs are refused: requeue them or drop them")
        }
    }

    /// The failure of a suspect, for which everything else has made way. Meanwhile another worker may have come with an answer.
    mutating func takePostponed(_ failed: Quarantine.Postponed, now: Timestamp) {
        guard let effect = state.ledger.open[failed.effect], scheduler.dispatcher.assignment(of: failed.effect) == nil else {
            return
        }
        // It may wait again meanwhile.
        withdraw(effect.id)
        fail(effect, failed.failure, now: now)
    }

    /// A job overran its timeout, and its worker did not see to it.
    mutating func expire(_ id: EffectID, now: Timestamp) {
        guard let effect = state.ledger.open[id], let holder = scheduler.dispatcher.assignment(of: id) else { return }
        cancel(holder)
        attemptFailed(effect, .timedOut, "no answer within its timeout", lease: holder.lease, isPermanent: false, now: now)
    }

    /// A worker is dead, as its supervisor saw. Its jobs go to others at once, and what it had started is suspected.
    public mutating func workerDied(_ id: WorkerID, _ evidence: String, now: Timestamp) {
        guard phase != .stopped, phase != .recovering else { return }
        let now = time(now)
        if let (started, rest) = takeJobs(of: id, "is dead: \(evidence)", now: now) {
            for effect in started.compactMap({ state.ledger.open[$0] }) {
                attemptFailed(effect, .workerDied, evidence, lease: nil, isPermanent: false, now: now)
            }
            for job in rest { giveBack(job, now: now) }
        }
        noLongerAwaited(id, now: now)
    }

    /// A worker is silent. It may be dead, or busy, or behind a broken network: that spends nothing of its jobs. Yet those that it
    /// had started are offered alone if that happens to them again and again, and are given up when even that leads nowhere.
    mutating func workerLost(_ id: WorkerID, now: Timestamp) {
        let silence = "silent for \(settings.silence.components.seconds) s"
        let isIsolated = scheduler.dispatcher.workers[id]?.isIsolated == true
        if let (started, rest) = takeJobs(of: id, "is taken for dead: \(silence)", now: now) {
            for effect in started.compactMap({ state.ledger.open[$0] }) {
                let losses = scheduler.dispatcher.lose(effect.id, isIsolated: isIsolated)
                guard losses >= settings.suspectLosses, !effect.isSource else {
                    giveBack(effect.id, now: now)
                    continue
                }
                scheduler.dispatcher.forget(effect.id)
                let text = "its worker fell silent \(losses) times while it ran nothing else"
                fail(effect, Failure(reason: .workerDied, text: text, attempts: effect.failures + effect.deaths + losses), now: now)
            }
            for job in rest { giveBack(job, now: now) }
        }
        noLongerAwaited(id, now: now)
    }

    /// Removes a worker, and returns what it had started and what it had not; nil if it is not there.
    private mutating func takeJobs(
        of id: WorkerID, _ what: String, now: Timestamp
    ) -> (started: [EffectID], rest: [EffectID])? {
        if state.joined.contains(id) { write(.workerLeft(id), now: now) }
        guard let workerState = scheduler.dispatcher.workers[id] else { return nil }
        counters.deadWorkers += 1
        note(.warning, "worker \(id) \(what); \(count(workerState.running, "job")) taken back")
        let answered = answered(by: id)
        let jobs = scheduler.dispatcher.leave(id).filter { !answered.contains($0) }
        connections.forget(id)
        forget(workerState.route)
        // Only what it had started can have killed it, and it starts its jobs in order.
        return (Array(jobs.prefix(workerState.slots)), Array(jobs.dropFirst(workerState.slots)))
    }
}
