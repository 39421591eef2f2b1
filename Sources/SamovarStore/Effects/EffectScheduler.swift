import DequeModule
import SamovarCore
import SamovarWire

/// What becomes of open effects: when they wait for a worker, who has them, what takes too long, and what follows when an attempt fails.
///
/// All that it remembers is memory, and follows from the books: after a restart it is built anew. What it decides is written by `Turns`.
///
/// | an open effect | `offer` | later |
/// |---|---|---|
/// | a worker of before the restart may run it | held | `release` offers it |
/// | one too many with its label | over the limit | `failOverLimit`: it fails |
/// | behind another with its label, or its label is paused | – | the ledger names it when it is its turn |
/// | any other | waits in the `Dispatcher` | is handed out, or overdue |
struct EffectScheduler {
    private let settings: StoreSettings
    var dispatcher: Dispatcher
    /// Attempts that run in vain, whose workers are told at the end of the round.
    private var cancellations: [WorkerID: [Lease]] = [:]
    /// Workers of before the restart that have not spoken yet: each may be running an effect of then unseen.
    private(set) var awaited: Set<WorkerID>
    /// Open effects of before the restart, which are offered only when all of those workers have spoken, are known to be gone, or have been
    /// silent for too long.
    private var held: Set<EffectID>
    private var started = Timestamp(microseconds: 0)
    /// Effects that fail without an attempt, since too many with their label are open.
    private(set) var overLimit: Deque<EffectID> = []
    /// Failures for good of suspects, each of which has to be alone. With the lease of the attempt which has said so, or ran out of time.
    private(set) var postponed: Deque<(effect: EffectID, failure: Failure, lease: Lease?)> = []
    private(set) var deadlines = TimedQueue<Deadline>()
    /// Workers that were silent for too long, and are still to be taken for dead.
    private var silent: Deque<WorkerID> = []
    /// Some of what time has brought still waits for its turn.
    private(set) var isOverdue = false
    /// When queues were resumed last.
    private var resumed: [Queue: Timestamp] = [:]
    /// When the last break ended, or this start began to serve.
    private var handsOutSince = Timestamp(microseconds: .min)
    /// When a break began in which nothing is handed out; nil if there is none now.
    private var breakBegan: Timestamp?
    /// How long those took that have ended.
    private var breaks = Duration.zero
    private var watch = QueueWatch()
    /// Effects whose answers wait for their turn, of workers that have left meanwhile.
    var answeredByGone: Set<EffectID> = []

    /// - Parameters:
    ///   - start: the number of this start.
    ///   - workers: those of before that may hold jobs; while there are any, all that is open is held.
    init(
        _ settings: StoreSettings, start: Int, awaiting workers: Set<WorkerID> = [], effects: @autoclosure () -> [EffectID] = []
    ) {
        self.settings = settings
        dispatcher = Dispatcher(settings, start: start)
        awaited = workers
        held = workers.isEmpty ? [] : Set(effects())
    }

    // MARK: Offering

    /// Lets an open effect wait for a worker, if it is its turn and no worker of before the restart can be running it unseen.
    ///
    /// Whatever made it available: one that comes to the front of its label may be running if its policy let it, and an attempt that
    /// failed may have an older lease than another worker's.
    mutating func offer(_ effect: OpenEffect, in ledger: EffectLedger, now: Timestamp) {
        // Its deadline passed it over while an answer waited, which was none.
        if let expiry = effect.expiry, expiry <= now { limit(effect) }
        guard !held.contains(effect.id) else { return }
        if effect.isCrowded { return overLimit.append(effect.id) }
        guard !ledger.isBlocked(effect) else { return }
        dispatcher.enqueue(effect, now: now)
        limitWaiting(effect, in: ledger)
    }

    /// Notes until when a worker has to take an effect that waits for one.
    private mutating func limitWaiting(_ effect: OpenEffect, in ledger: EffectLedger) {
        guard let time = waitingExpiry(effect, in: ledger) else { return }
        deadlines.insert(Deadline(effect: effect.id, limit: .waiting), at: time)
    }

    /// Nil if it does not wait for a worker, or may do so for ever. While the store hands nothing out, or its queue is paused, it waits for none.
    private func waitingExpiry(_ effect: OpenEffect, in ledger: EffectLedger) -> Timestamp? {
        guard let limit = effect.options.limits.waiting, let since = dispatcher.waits(effect.id), breakBegan == nil,
            !ledger.controls.isPaused(effect.queue)
        else { return nil }
        return max(since, handsOutSince, resumed[effect.queue] ?? since) + limit
    }

    /// Effects are handed out from now on, after a break, or not any more: the time of those that wait for a worker begins, or stands still.
    mutating func handsOut(_ doesSo: Bool, in ledger: EffectLedger, now: Timestamp) {
        guard doesSo == (breakBegan != nil) else { return }
        guard let began = breakBegan.take() else { return breakBegan = now }
        handsOutSince = now
        breaks += now - began
        for effect in ledger.open.values { limitWaiting(effect, in: ledger) }
    }

    /// The same by its name; without effect if it is not open.
    mutating func offer(_ id: EffectID, in ledger: EffectLedger, now: Timestamp) {
        if let effect = ledger.open[id] { offer(effect, in: ledger, now: now) }
    }

    /// The same for an effect that was ordered now without options; false if more has to be known of it. One of this start is never held.
    mutating func offer(usual id: EffectID, now: Timestamp) -> Bool {
        guard dispatcher.trustsNewcomers else { return false }
        dispatcher.enqueue(usual: id, now: now)
        return true
    }

    /// Offers again what had to wait after an attempt.
    mutating func offerDelayed(in ledger: EffectLedger, now: Timestamp) {
        while let id = dispatcher.popDue(now: now) { offer(id, in: ledger, now: now) }
    }

    /// Notes until when all attempts of an effect have to be over.
    mutating func limit(_ effect: OpenEffect) {
        if let expiry = effect.expiry { deadlines.insert(Deadline(effect: effect.id, limit: .total), at: expiry) }
    }

    /// Enters what the last group ordered, and offers it.
    mutating func enterOrders(now: Timestamp, _ turns: inout Turns) {
        if turns.enterOrders() { follow(now: now, &turns) }
    }

    /// Follows what policies, cancellations and closings did in the ledger.
    mutating func follow(now: Timestamp, _ turns: inout Turns) {
        for index in turns.state.ledger.changes.cancelled.indices {
            let cancelled = turns.state.ledger.changes.cancelled[index]
            close(cancelled.id, as: .cancelled, of: cancelled.queue)
        }
        for index in turns.state.ledger.changes.controls.indices {
            follow(turns.state.ledger.changes.controls[index], in: turns.state.ledger, now: now)
        }
        for index in turns.state.ledger.changes.opened.indices {
            let opened = turns.state.ledger.changes.opened[index]
            // So it is with nearly all. A source may have been closed since, by what the state wanted then.
            if opened.isUsual, offer(usual: opened.id, now: now) { continue }
            guard let effect = turns.state.ledger.open[opened.id], !drop(abandoned: effect, now: now, &turns) else { continue }
            if opened.isNew { limit(effect) }
            offer(effect, in: turns.state.ledger, now: now)
        }
        turns.followedChanges()
    }

    /// Jobs that run go on, whatever is paused.
    private mutating func follow(_ control: Control, in ledger: EffectLedger, now: Timestamp) {
        switch control {
        case .pause(.queue(let queue)): dispatcher.pause(queue)
        case .pause(.label(let label)):
            for id in ledger.openEffects(label) where dispatcher.waits(id) != nil { dispatcher.takeBack(id) }
        case .resume(.queue(let queue)):
            dispatcher.resume(queue)
            resumed[queue] = now
            for effect in ledger.open.values where effect.queue == queue { limitWaiting(effect, in: ledger) }
        case .rule(let queue, let rules): dispatcher.rule(queue, rules, isNew: true, from: ledger, now: now)
        // The ledger names the effects.
        case .resume(.label), .requeue, .drop: break
        }
    }

    // MARK: In vain

    /// Takes an effect back that is given up, and tells whoever runs it: an operator may have it run again.
    mutating func withdraw(_ effect: EffectID, as outcome: AttemptOutcome = .cancelled) {
        if let holder = dispatcher.takeBack(effect, as: outcome) { cancel(holder) }
    }

    mutating func cancel(_ holder: Dispatcher.Assignment) {
        cancel(holder.lease, at: holder.worker)
    }

    /// Tells a worker that this attempt is in vain.
    mutating func cancel(_ lease: Lease, at worker: WorkerID) { cancellations[worker, default: []].append(lease) }

    /// In a fixed order: the same events always give the same frames. Who is gone is told nothing.
    mutating func sendCancellations(head: Int, _ out: inout Outlet) {
        for (id, leases) in cancellations.sorted(by: { $0.key < $1.key }) {
            guard let worker = dispatcher.workers[id] else { continue }
            worker.cancels += 1
            out.send(.cancel(leases, number: worker.cancels), to: worker.route, floor: .turn(head))
        }
        cancellations = [:]
    }

    // MARK: Failures

    /// An attempt has failed. Without effect if its effect is not open.
    ///
    /// - Parameter lease: that of the attempt, which is current; nil if its worker died.
    mutating func attemptFailed(
        _ id: EffectID, _ reason: Failure.Reason, _ text: String, lease: Lease?, isPermanent: Bool = false, now: Timestamp,
        _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        guard let effect = turns.state.ledger.open[id] else { return }
        dispatcher.takeBack(effect.id, as: AttemptOutcome(reason))
        let isDeath = reason == .workerDied && !effect.isSource
        let failures = effect.failures + (isDeath ? 0 : 1)
        let deaths = effect.deaths + (isDeath ? 1 : 0)
        let text = text.bounded()
        let pause: Duration? =
            if isPermanent { nil } else if isDeath {
                // Two deaths may be bad luck; one more, alone on an empty worker, is evidence.
                deaths > settings.suspectDeaths ? nil : .zero
            } else {
                effect.pause(after: failures, reason, secret: out.identity.secret)
            }
        guard let pause else {
            let failure = Failure(reason: reason, text: text, attempts: failures + deaths)
            return try fail(effect, failure, of: lease, now: now, &turns, &out)
        }
        out.note(.warning, "effect \(effect.id) in queue \(effect.queue): attempt \(failures + deaths) failed (\(reason)): \(text)")
        let failed = Record.Event.attemptFailed(effect.id, reason, text, notBefore: now + pause)
        turns.write(failed, origin: .attempt(effect.id, lease), root: effect.root, now: now)
        offer(effect.id, in: turns.state.ledger, now: now)
    }

    /// An effect failed for good: the program may make a message of it, else it stays dead for an operator. A limit that it has set is not logged when met.
    /// - Parameter lease: that of the attempt which has said so, or ran out of time.
    private mutating func fail(
        _ effect: OpenEffect, _ failure: Failure, of lease: Lease? = nil, now: Timestamp, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        dispatcher.forgetLosses(of: effect.id)
        let call = ProgramCall.failure(effect.id)
        guard turns.mayTake(call) else { return postponed.append((effect.id, failure, lease)) }
        if failure.reason != .crowded { out.note(.error, "effect \(effect.id) in queue \(effect.queue) \(failure)") }
        dispatcher.meters.closed(effect.queue, .failed)
        let staysDead = effect.retry.keepsDead
        let dead = Record.Event.dead(effect.id, failure)
        let input = EngineInput.failure(failure, effect.id, payload: effect.payload, root: effect.root, staysDead: staysDead)
        let attempt = Origin.attempt(effect.id, lease)
        switch try turns.take(
            call, input, .failure(effect.id), root: effect.root, after: staysDead ? dead : nil, of: attempt, now: now, &out)
        {
        case .applied:
            // Before its orders, one of which may requeue it.
            if staysDead { warnOfDead(turns, &out) }
            enterOrders(now: now, &turns)
        case .unhandled:
            if !staysDead { turns.write(dead, origin: attempt, root: effect.root, now: now) }
            warnOfDead(turns, &out)
        case .givenUp, .refused, .unreadable: break
        }
    }

    private func warnOfDead(_ turns: borrowing Turns, _ out: inout Outlet) {
        let dead = turns.state.ledger.dead.count
        if dead == settings.deadEffectsToWarn || dead == settings.deadEffects {
            let text = "from \(settings.deadEffects) on inputs are refused: requeue them or drop them"
            out.note(.error, "\(dead) effects are dead; \(text)")
        }
    }

    /// The failure of a suspect, for which everything else has made way. Meanwhile another worker may have come with an answer.
    mutating func failPostponed(now: Timestamp, _ turns: inout Turns, _ out: inout Outlet) throws(StopReason) {
        guard let failed = postponed.popFirst(), let effect = turns.state.ledger.open[failed.effect],
            dispatcher.assignment(of: effect.id) == nil
        else { return }
        // It may wait again meanwhile.
        withdraw(effect.id)
        try fail(effect, failed.failure, of: failed.lease, now: now, &turns, &out)
    }

    /// Fails one of those that have no attempt, since too many with their label are open; it may be closed by now.
    mutating func failOverLimit(now: Timestamp, _ turns: inout Turns, _ out: inout Outlet) throws(StopReason) {
        guard let id = overLimit.popFirst(), let effect = turns.state.ledger.open[id], effect.isCrowded,
            let limit = effect.options.policy.lane?.limit
        else { return }
        let text = "\(limit) effects “\(effect.options.id ?? "")” are open, which is its limit"
        try fail(effect, Failure(reason: .crowded, text: text, attempts: 0), now: now, &turns, &out)
    }

    /// The worker of an effect that it had started fell silent. That spends nothing; yet the effect is offered alone if it happens again and
    /// again, and is given up when even that leads nowhere.
    private mutating func lost(
        _ effect: OpenEffect, isIsolated: Bool, now: Timestamp, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        let counted = effect.isSource ? nil : dispatcher.lose(effect.id, isIsolated: isIsolated)
        guard let losses = counted, losses >= settings.suspectLosses else {
            return giveBack(effect.id, in: turns.state.ledger, now: now)
        }
        let text = "its worker fell silent \(losses) times while it ran nothing else"
        let failure = Failure(reason: .workerDied, text: text, attempts: effect.failures + effect.deaths + losses)
        try fail(effect, failure, now: now, &turns, &out)
    }

    // MARK: Workers

    mutating func join(_ offer: WorkerOffer, takesProofs: Bool, at route: Route, now: Timestamp) {
        dispatcher.join(offer, route: route, now: now)
        cancellations[offer.id] = nil
        dispatcher.workers[offer.id]?.takesProofs = takesProofs
        if let worker = dispatcher.workers[offer.id] { watch.serve(worker) }
    }

    /// Takes a worker's word that it holds a job, and tells whoever held it before; false if another worker holds a newer lease.
    mutating func adopt(_ effect: OpenEffect, _ claim: JobClaim, by worker: WorkerID, now: Timestamp) -> Bool {
        let holder = dispatcher.assignment(of: effect.id)
        guard dispatcher.adopt(effect, lease: claim.lease, token: claim.token, worker: worker, now: now) else { return false }
        if let holder, holder.lease != claim.lease { cancel(holder) }
        return true
    }

    /// A worker is gone that had started these jobs and had not started the rest.
    ///
    /// - Parameters:
    ///   - evidence: what proves its death; nil if it only fell silent. Then it may be dead, or busy, or behind a broken network.
    ///   - isIsolated: it had nothing else.
    mutating func ended(
        started: [EffectID], rest: [EffectID], evidence: String?, isIsolated: Bool, now: Timestamp, _ turns: inout Turns,
        _ out: inout Outlet
    ) throws(StopReason) {
        for effect in started.compactMap({ turns.state.ledger.open[$0] }) {
            if let evidence {
                try attemptFailed(effect.id, .workerDied, evidence, lease: nil, now: now, &turns, &out)
            } else {
                try lost(effect, isIsolated: isIsolated, now: now, &turns, &out)
            }
        }
        for job in rest { giveBack(job, in: turns.state.ledger, now: now) }
    }

    /// Hands waiting effects to workers with credit.
    mutating func assign(from ledger: EffectLedger, head: Int, now: Timestamp, _ out: inout Outlet) {
        guard dispatcher.hasWaiting else { return }
        let handed = dispatcher.assign(from: ledger, floor: head, out.identity.jobProof, now: now)
        for (worker, frames) in handed {
            for frame in frames { out.send(frame, to: worker.route, floor: .turn(head)) }
        }
        dispatcher.left(through: out.durable, now: now)
    }

    // MARK: After a restart

    /// Begins with what is open: it is offered, unless it has to be held. Its time goes on in either case, whoever may run it.
    mutating func begin(_ ledger: EffectLedger, now: Timestamp) {
        (started, handsOutSince) = (now, now)
        for place in ledger.controls.paused { if case .queue(let queue) = place { dispatcher.pause(queue) } }
        for (queue, rules) in ledger.controls.rules { dispatcher.rule(queue, rules, isNew: false, from: ledger, now: now) }
        for effect in ledger.open.values { limit(effect) }
        guard awaited.isEmpty else { return }
        for effect in ledger.open.values.sorted(by: { $0.id < $1.id }) { offer(effect, in: ledger, now: now) }
    }

    /// How soon a worker that was sent away is back: it waits a second, and then for a pause of at most another.
    private static let comeback = Duration.seconds(2)

    /// When the last worker of before has been missing for as long as silence may last, over further starts, too, breaks since the start not
    /// counted, and could have come back to this start, and behind each break; nil if nothing is held.
    func heldUntil(_ missing: [WorkerID: Timestamp]) -> Timestamp? {
        if awaited.isEmpty, held.isEmpty { return nil }
        let since = awaited.compactMap { missing[$0] }.max() ?? started
        return max(since + breaks + settings.silence, handsOutSince + Self.comeback)
    }

    /// Lets the effects of before go, once nobody can be running them unseen.
    ///
    /// - Parameter isHeldUp: by an outage, which sends workers away.
    /// - Returns: workers of before that have not come back by then.
    mutating func releaseHeld(in state: borrowing StoreState, isHeldUp: Bool, now: Timestamp) -> [WorkerID] {
        guard let end = heldUntil(state.missing), awaited.isEmpty || (!isHeldUp && now >= end) else { return [] }
        let (missing, effects) = (awaited.sorted(), held.sorted())
        (awaited, held) = ([], [])
        for id in effects { offer(id, in: state.ledger, now: now) }
        return missing
    }

    /// A worker of before has spoken, or is known to be gone; false if it was none, or was known of before.
    mutating func noLongerAwaits(_ worker: WorkerID) -> Bool { awaited.remove(worker) != nil }

    // MARK: What is overdue

    /// When something will have taken too long; it may be over by then.
    var nextOverdue: Timestamp? {
        guard let expiry = dispatcher.nextExpiry else { return deadlines.nextTime }
        return min(expiry, deadlines.nextTime ?? expiry)
    }

    mutating func findOverdue(now: Timestamp) {
        isOverdue = !silent.isEmpty || nextOverdue.map { $0 <= now } ?? false
    }

    /// Takes one of those that have taken too long: an item like any other, because it may be a turn, and thousands may come at once.
    ///
    /// - Returns: a worker that is silent still, and so is taken for dead; nil if it was something else.
    mutating func takeOverdue(now: Timestamp, _ turns: inout Turns, _ out: inout Outlet) throws(StopReason) -> WorkerID? {
        if let worker = silent.popFirst() {
            return dispatcher.workers[worker]?.isSilent(for: settings.silence, now: now) == true ? worker : nil
        }
        if let id = dispatcher.popExpired(now: now) {
            // Its worker did not see to it.
            guard let holder = dispatcher.assignment(of: id) else { return nil }
            cancel(holder)
            try attemptFailed(id, .timedOut, "no answer within its timeout", lease: holder.lease, now: now, &turns, &out)
        } else if let deadline = deadlines.popDue(now: now), let effect = turns.state.ledger.open[deadline.effect],
            let text = overrun(effect, deadline.limit, in: turns.state.ledger, now: now)
        {
            withdraw(effect.id, as: .timedOut)
            let failure = Failure(reason: .timedOut, text: text, attempts: effect.failures + effect.deaths)
            try fail(effect, failure, now: now, &turns, &out)
        }
        return nil
    }

    /// Says in words by what an effect is overdue; nil if it is not, because it met its deadline.
    func overrun(_ effect: OpenEffect, _ limit: Limit, in ledger: EffectLedger, now: Timestamp) -> String? {
        let limits = effect.options.limits
        switch limit {
        case .waiting:
            guard let waiting = limits.waiting, let expiry = waitingExpiry(effect, in: ledger), expiry <= now else { return nil }
            return "no worker took it within \(waiting)"
        case .total:
            guard let total = limits.total, let expiry = effect.expiry, expiry <= now, !dispatcher.isAnswered(effect.id),
                !answeredByGone.contains(effect.id)
            else { return nil }
            return "not done within \(total)"
        }
    }

    // MARK: Ticks

    /// Warns of queues that nobody serves, and tells how much waits.
    ///
    /// - Parameter head: nil while commits are held up.
    mutating func tellOfQueues(in ledger: EffectLedger, head: Int?, now: Timestamp, _ out: inout Outlet) {
        watch.tick(dispatcher, ledger, settings, head: head, now: now, &out)
    }

    /// Looks for workers that were silent for longer, unless some of the last look are left.
    mutating func findSilent(now: Timestamp) {
        guard silent.isEmpty else { return }
        silent = Deque(dispatcher.workers.values.filter { $0.isSilent(for: settings.silence, now: now) }.map(\.id).sorted())
    }

    /// Forgets what time would bring to effects that were closed meanwhile, if that is most of it.
    mutating func forgetClosed(exceptOf ledger: EffectLedger) {
        dispatcher.forgetClosed(exceptOf: ledger)
        if resumed.count > 1_024 {
            let queues = Set(ledger.open.values.map(\.queue))
            resumed = resumed.filter { queues.contains($0.key) }
        }
        var kept = deadlines
        kept.keep(ifBeyond: 4 * ledger.open.count + 1_024) { deadline, time in
            guard let effect = ledger.open[deadline.effect] else { return false }
            if case .total = deadline.limit { return effect.expiry == time }
            return waitingExpiry(effect, in: ledger) == time
        }
        deadlines = kept
    }
}
