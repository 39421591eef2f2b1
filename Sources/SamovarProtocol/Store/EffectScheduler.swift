import DequeModule
import SamovarCore

/// When an open effect waits for a worker, and what takes too long.
///
/// All of it is memory, and follows from the books: after a restart it is built anew.
///
/// | an open effect | `offer` | later |
/// |---|---|---|
/// | a worker of before the restart may run it | held | `release` offers it |
/// | one too many with its label | over the limit | `popOverLimit`: it fails |
/// | behind another with its label | – | the ledger names it when it is its turn |
/// | any other | waits in the `Dispatcher` | is handed out, or overdue |
struct EffectScheduler {
    /// What has taken too long; it may be over by now.
    enum Overdue {
        /// A worker is silent.
        case worker(WorkerID)
        /// A job overran its timeout, and its worker did not see to it.
        case attempt(EffectID)
        case effect(EffectID, Deadlines.Limit)
    }

    var dispatcher: Dispatcher
    /// What may not be handed out yet, since somebody may be running it unseen.
    private(set) var hold: RestartHold
    /// Effects that fail without an attempt, since too many with their label are open.
    private var overLimit: Deque<EffectID> = []
    private var deadlines = Deadlines()
    /// Workers that were silent for too long, and are still to be taken for dead.
    private var silent: Deque<WorkerID> = []
    /// Some of what time has brought still waits for its turn.
    private(set) var isOverdue = false
    private var unserved = UnservedQueues()

    /// - Parameters:
    ///   - start: the number of this start.
    ///   - workers: those of before that may hold jobs; while there are any, all that is open is held.
    init(start: Int, suspectDeaths: Int, awaiting workers: Set<WorkerID> = [], effects: @autoclosure () -> [EffectID] = []) {
        dispatcher = Dispatcher(start: start, suspectDeaths: suspectDeaths)
        hold = RestartHold(awaiting: workers, effects: effects())
    }

    // MARK: Offering

    /// Lets an open effect wait for a worker, if it is its turn and no worker of before the restart can be running it unseen.
    ///
    /// Whatever made it available: one that comes to the front of its label may be running if its policy let it, and an attempt that
    /// failed may have an older lease than another worker's.
    mutating func offer(_ effect: OpenEffect, in ledger: EffectLedger, now: Timestamp) {
        guard !hold.holds(effect.id) else { return }
        if effect.isCrowded { return overLimit.append(effect.id) }
        guard !ledger.isBehindAnother(effect) else { return }
        dispatcher.enqueue(effect, now: now)
        guard let limit = effect.options.limits.waiting, dispatcher.waits(effect.id) != nil else { return }
        deadlines.insert(.waiting, of: effect.id, at: now + limit)
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
        for id in dispatcher.takeDue(now: now) { offer(id, in: ledger, now: now) }
    }

    /// Notes until when all attempts of an effect have to be over.
    mutating func limit(_ effect: OpenEffect) {
        if let expiry = effect.expiry { deadlines.insert(.total, of: effect.id, at: expiry) }
    }

    var hasOverLimit: Bool { !overLimit.isEmpty }

    /// An effect that fails without an attempt; it may be closed by now.
    mutating func popOverLimit() -> EffectID? { overLimit.popFirst() }

    // MARK: Workers

    mutating func join(_ offer: WorkerOffer, takesProofs: Bool, at route: Route, now: Timestamp) {
        dispatcher.join(offer, route: route, now: now)
        dispatcher.workers[offer.id]?.takesProofs = takesProofs
        for queue in offer.queues { unserved.forget(queue) }
    }

    /// Queues to be warned of, in order: effects have waited there for a while, and no worker serves them.
    mutating func findUnserved(in ledger: EffectLedger, now: Timestamp, after pause: Duration) -> [Queue] {
        unserved.due(of: dispatcher.unservedQueues(in: ledger), now: now, after: pause)
    }

    // MARK: After a restart

    /// A worker has spoken, or is known to be gone. Whether it was awaited.
    mutating func heard(_ worker: WorkerID) -> Bool { hold.heard(worker) }

    /// Lets the effects of before go: the workers that have not spoken, and the effects, both in order.
    mutating func release() -> (missing: [WorkerID], effects: [EffectID]) { hold.release() }

    // MARK: What is overdue

    /// When something will have taken too long; it may be over by then.
    var nextOverdue: Timestamp? {
        switch (dispatcher.nextExpiry, deadlines.nextTime) {
        case (let expiry?, let deadline?): min(expiry, deadline)
        case (let expiry, let deadline): expiry ?? deadline
        }
    }

    /// Looks whether something has taken too long.
    mutating func findOverdue(now: Timestamp) {
        isOverdue = !silent.isEmpty || nextOverdue.map { $0 <= now } ?? false
    }

    mutating func popOverdue(now: Timestamp) -> Overdue? {
        if let worker = silent.popFirst() { return .worker(worker) }
        if let effect = dispatcher.popExpired(now: now) { return .attempt(effect) }
        return deadlines.popDue(now: now).map { .effect($0.effect, $0.limit) }
    }

    /// Says in words by what an effect is overdue; nil if it is not, because it met its deadline.
    func overrun(_ effect: OpenEffect, _ limit: Deadlines.Limit, now: Timestamp) -> String? {
        let limits = effect.options.limits
        switch limit {
        case .waiting:
            guard let waiting = limits.waiting, let since = dispatcher.waits(effect.id), since + waiting <= now else { return nil }
            return "no worker took it within \(waiting)"
        case .total:
            guard let total = limits.total, let expiry = effect.expiry, expiry <= now else { return nil }
            return "not done within \(total)"
        }
    }

    // MARK: Ticks

    /// Looks for workers that were silent for longer, unless some of the last look are left.
    mutating func findSilent(for limit: Duration, now: Timestamp) {
        guard silent.isEmpty else { return }
        silent = Deque(dispatcher.workers.values.filter { $0.isSilent(for: limit, now: now) }.map(\.id).sorted())
    }

    /// Forgets what time would bring to effects that were closed meanwhile, if that is most of it.
    mutating func forgetClosed(exceptOf ledger: EffectLedger) {
        dispatcher.forgetLosses(exceptOf: ledger)
        dispatcher.forgetClosed(exceptOf: ledger)
        guard deadlines.count > 4 * ledger.open.count + 1_024 else { return }
        let dispatcher = dispatcher
        deadlines.keep { id, limit, time in
            switch limit {
            case .total: ledger.open[id]?.expiry == time
            case .waiting:
                ledger.open[id]?.options.limits.waiting.flatMap { limit in dispatcher.waits(id).map { $0 + limit } } == time
            }
        }
    }

    /// Deadlines that are remembered, of closed effects too.
    var deadlineCount: Int { deadlines.count }
}
