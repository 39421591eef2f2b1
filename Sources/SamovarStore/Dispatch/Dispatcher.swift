import DequeModule
import MessagePack
import SamovarCore
import SamovarWire

/// Who runs what: queues of effects that wait, workers with room, and the leases between them.
///
/// All of it is memory. After a restart it is built anew from the ledger and from what workers say they hold. Effects wait in
/// their queue, first in, first out; workers with credit are served in turn, one job each, so that load spreads.
struct Dispatcher {
    private(set) var workers: [WorkerID: WorkerState] = [:]
    /// Authoritative: an entry of a queue or of the suspects that does not wait here is stale.
    private(set) var places = AssignmentTable()
    private(set) var lines = WaitingLines()
    private(set) var suspects: Deque<EffectID> = []
    /// The worker that gets nothing new until it is empty, so that a suspect gets its chance.
    private var reserved: WorkerID?
    /// What running jobs told of themselves last.
    var told: [EffectID: JobProgress] = [:]
    /// Effects that wait for some time before another attempt.
    private var delayed = TimedQueue<EffectID>()
    private var timeouts = Timeouts()
    /// The turn through which what waits at the gate has left it.
    private(set) var departed = 0
    /// When the rate of a queue, and nothing else, lets the next effect go.
    private var nextToken: Timestamp?
    /// The order in which workers are served next.
    private var rotation = RoundRobin<WorkerID>()
    private let start: Int
    private var leases = 0
    private let suspectDeaths: Int
    /// What a job has beyond its timeout.
    private let grace: Duration
    /// About the bytes of a frame of tasks.
    private let frameBytes: Int
    /// The attempts of open effects whose workers fell silent, and whether these had nothing else. It says little, because a network may
    /// break; but again and again it does. A worker that comes back with its attempt and falls silent anew is not another.
    private var losses: [EffectID: [Lease: Bool]] = [:]
    /// Who had an effect last that was taken back from its worker and is not closed. The worker may be silent and stream later, from the
    /// place that its task told, so no older attempt may move that place meanwhile. What has streamed is on record and keeps every older
    /// attempt out (`EffectLedger.streamed`); a task that was handed out is on no record.
    private var formerLeases = NewestLeases()
    /// Told by `metrics`; nothing depends on it.
    var meters = QueueMeters()
    /// Told by `attempts`; nothing depends on it.
    var recorder = FlightRecorder()

    init(_ settings: StoreSettings, start: Int) {
        self.start = start
        suspectDeaths = settings.suspectDeaths
        grace = settings.timeoutGrace
        frameBytes = settings.taskFrameBytes
    }

    /// Whether it is offered alone: too many workers have ended while they ran it, with proof or without.
    private func isSuspect(_ effect: OpenEffect) -> Bool {
        if trustsNewcomers, effect.isUsual { return false }
        return !effect.isSource && effect.deaths + (losses[effect.id]?.count ?? 0) >= suspectDeaths
    }

    /// Whether no effect is a suspect of which no worker has died.
    var trustsNewcomers: Bool { losses.isEmpty && suspectDeaths > 0 }

    /// Notes that the worker of this effect's newest attempt, which was taken back from it, fell silent; returns of how many attempts one did
    /// that had nothing else.
    mutating func lose(_ id: EffectID, isIsolated: Bool) -> Int {
        if let lease = formerLeases[id] { losses[id, default: [:]].merge([lease: isIsolated]) { $0 || $1 } }
        return losses[id, default: [:]].values.count { $0 }
    }

    /// An effect has failed for good: opened again, it begins anew.
    mutating func forgetLosses(of id: EffectID) { losses[id] = nil }

    // MARK: Effects

    /// Lets an open effect wait for its turn; without effect if it waits or runs already.
    mutating func enqueue(_ effect: OpenEffect, now: Timestamp) {
        guard effect.notBefore <= now else {
            if assignment(of: effect.id) == nil { delayed.insert(effect.id, at: effect.notBefore) }
            return
        }
        guard let number = places.insert(effect.id, since: now) else { return }
        if isSuspect(effect) {
            suspects.append(effect.id)
        } else {
            let entry = PriorityQueue.Entry(effect: effect.id, place: number)
            if let line = lines.append(entry, effect.options) { show(line) }
        }
    }

    /// Lets an effect wait for its turn that was ordered now without options, while newcomers are trusted.
    mutating func enqueue(usual id: EffectID, now: Timestamp) {
        guard let number = places.insert(id, since: now) else { return }
        lines.append(usual: PriorityQueue.Entry(effect: id, place: number))
    }

    /// A worker serves these queues from now on, and no others.
    private mutating func serve(_ queues: [Queue], can capabilities: Set<String> = [], _ workerState: WorkerState) {
        workerState.queues = queues
        workerState.capabilities = capabilities
        workerState.lines = lines.serve(queues, can: capabilities, insteadOf: workerState.lines)
    }

    /// A line with needs is new: workers that can do all of it serve it.
    private func show(_ line: WaitingLine) {
        for workerState in workers.values where workerState.serves(line.name) {
            let place = workerState.lines.firstIndex { $0.queue == line.queue && line.name < $0.name }
            workerState.lines.insert(line, at: place ?? workerState.lines.count)
            line.servers += 1
        }
    }

    /// Forgets an effect; returns who held it.
    ///
    /// - Parameter outcome: of its attempt; nil if it goes on.
    @discardableResult
    mutating func forget(_ id: EffectID, as outcome: AttemptOutcome? = .cancelled) -> Assignment? {
        guard let former = places.remove(id), let workerState = former.workerState else { return nil }
        if !told.isEmpty { told[id] = nil }
        if let outcome { ended(former, outcome) }
        return Assignment(lease: former.lease, workerState: workerState)
    }

    /// Effects that wait for a worker or that one has.
    var placed: Int { places.count }

    /// Jobs that workers have.
    var running: Int { places.count - places.waiting }

    /// Takes an effect back from its worker, or out of its line. It stays open. Returns who held it.
    @discardableResult
    mutating func takeBack(_ id: EffectID, as outcome: AttemptOutcome = .cancelled) -> Assignment? {
        let holder = forget(id, as: outcome)
        if let holder { formerLeases.insert(holder.lease, of: id) }
        return holder
    }

    /// Whether a newer attempt than this one was handed out and taken back.
    func isOutdated(_ lease: Lease, of effect: EffectID) -> Bool { formerLeases[effect].map { lease < $0 } ?? false }

    /// An effect whose delay is over; nil if there is none. It may be closed by now.
    mutating func popDue(now: Timestamp) -> EffectID? {
        // Who was woken by it assigns next, or has stopped to.
        if let time = nextToken, time <= now { nextToken = nil }
        return delayed.popDue(now: now)
    }

    /// A job that overran its timeout so far that its worker will not see to it; nil if there is none.
    mutating func popExpired(now: Timestamp) -> EffectID? { timeouts.popExpired(places, now: now) }

    /// Tasks that waited for this turn or an earlier one have left, and their time begins.
    mutating func left(through durable: Int, now: Timestamp) {
        departed = max(departed, durable)
        timeouts.left(through: durable, places, now: now)
    }

    /// The earliest time at which `popDue` gives something, or a rate lets `assign` go on.
    var nextDue: Timestamp? {
        guard let nextToken else { return delayed.nextTime }
        return min(nextToken, delayed.nextTime ?? nextToken)
    }
    /// The earliest time at which `popExpired` may give something.
    var nextExpiry: Timestamp? { timeouts.nextExpiry }

    /// Forgets what was held against effects that were closed meanwhile, their delays, if they are many, and queues in which nothing waits and
    /// that nobody serves.
    mutating func forgetClosed(exceptOf ledger: EffectLedger) {
        losses = losses.filter { ledger.open[$0.key] != nil }
        formerLeases.keep { ledger.isKept($0) }
        delayed.keep(ifBeyond: 2 * ledger.open.count + 1_024) { id, time in ledger.open[id]?.notBefore == time }
        let places = places
        let gone = lines.forgetStale { places.isWaiting($0.effect, at: $0.place) }
        for workerState in workers.values { workerState.lines.removeAll { line in gone.contains { $0 === line } } }
    }

    // MARK: Workers

    mutating func join(_ offer: WorkerOffer, route: Route, now: Timestamp) {
        let id = offer.id
        let workerState = workers[id] ?? WorkerState(id, route: route, heard: now)
        if workers.updateValue(workerState, forKey: id) == nil {
            rotation.add(id)
            workerState.number = recorder.joined(id)
        }
        workerState.route = route
        workerState.slots = offer.slots
        serve(offer.queues, can: offer.capabilities, workerState)
        workerState.limits = offer.limits
        workerState.held = offer.limits.isEmpty ? [:] : held(by: workerState)
        workerState.credit = 0
        workerState.sent = 0
        workerState.cancels = 0
        workerState.heard = now
        workerState.isLeaving = false
    }

    /// Takes a worker's word that it holds a job; false if another worker holds a newer lease.
    mutating func adopt(_ effect: OpenEffect, lease: Lease, token: UInt64, worker: WorkerID, now: Timestamp) -> Bool {
        if let held = assignment(of: effect.id), held.lease > lease { return false }
        guard let workerState = workers[worker] else { return false }
        let former = places.number(of: effect.id, under: lease).map { places[$0] }
        let since = former?.since ?? now
        forget(effect.id, as: former == nil ? .cancelled : nil)
        guard let place = places.insert(effect.id, since: since) else { return false }
        let meter = meters.number(of: effect.queue)
        let attempt = former?.attempt ?? record(effect, to: workerState, isClaimed: true, now: now)
        places.give(effect, at: place, to: workerState, lease: lease, token: token, meter: meter, attempt: attempt, since: since)
        if former?.isAnswered == true { places.answered(at: place) }
        workerState.take(of: effect.queue)
        isolate(workerState, ifSuspect: effect)
        // Of an earlier start: when it was handed out is not known any more, so its time begins now.
        if former == nil, let timeout = effect.timeout {
            timeouts.begin(effect.id, under: lease, until: now + timeout + grace, places)
        }
        return true
    }

    /// Whoever has the effect at this place has answered: it is not overdue any more.
    mutating func answered(at place: Int) { places.answered(at: place) }

    /// Removes a worker, to which nothing leaves any more; returns its jobs in the order in which it was given them.
    ///
    /// - Parameters:
    ///   - outcome: of its attempts.
    ///   - answered: whose answers it has given, which still wait for their turn.
    mutating func leave(
        _ id: WorkerID, as outcome: AttemptOutcome = .returned, answered: Set<EffectID> = []
    ) -> [EffectID] {
        guard let workerState = workers[id] else { return [] }
        serve([], workerState)
        rotation.remove(id)
        let jobs = places.effects(of: workerState)
        let unsent = Set(unsent(of: id))
        for job in jobs {
            let former = forget(job, as: answered.contains(job) ? .answered : outcome)
            if let former, !unsent.contains(job) { formerLeases.insert(former.lease, of: job) }
        }
        workers[id] = nil
        return jobs
    }

    mutating func heard(_ id: WorkerID, credit: Int?, now: Timestamp) {
        guard let workerState = workers[id] else { return }
        workerState.heard = now
        if let credit { workerState.credit = max(workerState.credit, credit) }
    }

    var hasWaiting: Bool { places.waiting > 0 }

    mutating func setLeaving(_ id: WorkerID) { workers[id]?.isLeaving = true }

    // MARK: Rules

    /// Nothing of this queue is handed out until it is resumed. Jobs that run go on.
    mutating func pause(_ queue: Queue) { lines.setPaused(queue, true) }

    mutating func resume(_ queue: Queue) { lines.setPaused(queue, false) }

    func isPaused(_ queue: Queue) -> Bool { lines.governor(of: queue)?.isPaused ?? false }

    /// Sets the rules of a queue in place of the former ones. With other shares it looks at all that waits in the queue.
    ///
    /// - Parameter isNew: false after a restart, when the rule held before.
    mutating func rule(_ queue: Queue, _ rules: QueueRules, isNew: Bool, from ledger: EffectLedger, now: Timestamp) {
        let places = places
        lines.rule(queue, rules, isNew: isNew, now: now) { entry in
            guard places.isWaiting(entry.effect, at: entry.place), let effect = ledger.open[entry.effect] else { return nil }
            return (places[entry.place].since, effect.label)
        }
    }

    // MARK: Assigning

    /// Hands waiting effects to workers with room.
    ///
    /// - Returns: the tasks of each worker that gets some, in the order in which workers got their first.
    mutating func assign(from ledger: EffectLedger, floor: Int, _ proof: JobProof, now: Timestamp) -> [(
        worker: WorkerState, frames: [TaskBatch.Frame]
    )] {
        nextToken = nil
        guard hasWaiting else { return [] }
        var served: [WorkerState] = []
        isolateSuspects(ledger, floor: floor, proof, now: now, &served)
        // Who is alone is given all at once.
        let share = rotation.count == 1 ? Int.max : 1
        var passes = rotation.count
        while passes > 0, let id = rotation.next() {
            passes -= 1
            guard let workerState = workers[id], workerState.id != reserved else { continue }
            if fill(workerState, atMost: share, from: ledger, floor: floor, proof, now: now, &served) { passes = rotation.count }
        }
        return served.map { ($0, $0.handed.takeFrames()) }
    }

    private mutating func isolateSuspects(
        _ ledger: EffectLedger, floor: Int, _ proof: JobProof, now: Timestamp, _ served: inout [WorkerState]
    ) {
        var (kept, seen): (Deque<EffectID>, Set<EffectID>) = ([], [])
        // For these no worker is empty: nobody looks again for each effect.
        var withoutWorker: Set<LineName> = []
        while let id = suspects.popFirst() {
            guard let place = places.number(of: id), places[place].isWaiting, let effect = ledger.open[id],
                seen.insert(id).inserted
            else { continue }
            let governor = lines.governor(of: effect.queue)
            guard governor?.isPaused != true, isReady(governor, forSuspect: true, now: now),
                !withoutWorker.contains(effect.line)
            else {
                kept.append(id)
                continue
            }
            let empty = rotation.first { worker in
                guard let workerState = workers[worker] else { return false }
                return workerState.isFree && workerState.hasRoom && workerState.serves(effect.line)
                    && workerState.hasRoom(for: effect.queue)
            }
            if let empty = empty.flatMap({ workers[$0] }) {
                let meter = meters.number(of: effect.queue)
                give(effect, at: place, to: empty, meter, floor: floor, proof, &served)
                governor?.handOut(now: now)
                isolate(empty, ifSuspect: effect)
            } else {
                withoutWorker.insert(effect.line)
                kept.append(id)
            }
        }
        suspects = kept
        reserve(ledger, now: now)
    }

    /// Keeps a worker free for the first suspect that can be handed out soon, and a token if its queue has a rate.
    private mutating func reserve(_ ledger: EffectLedger, now: Timestamp) {
        var line: LineName?
        reserved = nil
        var seen: Set<LineName> = []
        for id in suspects where reserved == nil {
            guard let next = ledger.open[id]?.line, seen.insert(next).inserted,
                lines.governor(of: next.queue)?.isReadySoon(now: now) != false, isServed(next)
            else { continue }
            // Behind one that no worker can take, another one may be.
            reserved = workers.filter { $0.value.serves(next) && mayEmpty($0.value, for: next.queue, ledger) }.keys.min()
            if line == nil || reserved != nil { line = next }
        }
        lines.keepToken(of: line?.queue)
    }

    /// Whether a rate lets the next effect go now; if not, notes when it does.
    private mutating func isReady(_ governor: QueueGovernor?, forSuspect: Bool = false, now: Timestamp) -> Bool {
        guard let governor, let next = governor.pause(now: now, forSuspect: forSuspect) else { return true }
        let time = governor.wakeUp(at: next, now: now)
        nextToken = min(time, nextToken ?? time)
        return false
    }

    /// Gives a worker what waits for it, as far as it has room; false if that is nothing.
    private mutating func fill(
        _ workerState: WorkerState, atMost limit: Int, from ledger: EffectLedger, floor: Int, _ proof: JobProof, now: Timestamp,
        _ served: inout [WorkerState]
    ) -> Bool {
        var given = 0
        let keepsSlot = workerState.keepsSlot(now: now)
        for line in workerState.lines {
            // Most effects wait in the default queue, whose number is known.
            let meter = line.isDefault || line.count == 0 ? 0 : meters.number(of: line.queue)
            if let governor = line.governor {
                while given < limit, let next = next(of: line, governor, for: workerState, from: ledger, now: now) {
                    give(next.effect, at: next.place, to: workerState, meter, floor: floor, proof, &served)
                    governor.handOut(now: now)
                    given += 1
                }
                continue
            }
            while given < limit, workerState.hasRoom, workerState.hasRoom(for: line.queue),
                !keepsSlot || workerState.running < workerState.slots, let first = line.effects.value.popFirst()
            {
                guard places.isWaiting(first.effect, at: first.place) else { continue }
                let isGiven = ledger.open.withEffect(first.effect) { effect in
                    if isSuspect(effect) { return false }
                    give(effect, at: first.place, to: workerState, meter, floor: floor, proof, &served)
                    return true
                }
                if isGiven == true { given += 1 }
            }
        }
        return given > 0
    }

    /// Takes the next effect out of a line whose queue is held back; nil if it must not be handed out now, or there is none.
    private mutating func next(
        of line: WaitingLine, _ governor: QueueGovernor, for workerState: WorkerState, from ledger: EffectLedger, now: Timestamp
    ) -> (effect: OpenEffect, place: Int)? {
        // For free slots only: jobs that are read ahead begin in heaps, and are out of turn.
        guard !governor.isPaused, workerState.hasRoom, workerState.hasRoom(for: line.queue), workerState.running < workerState.slots
        else { return nil }
        var next: OpenEffect?
        func isWaiting(_ entry: PriorityQueue.Entry) -> Bool {
            guard places.isWaiting(entry.effect, at: entry.place) else { return false }
            next = ledger.open[entry.effect]
            return next.map { !isSuspect($0) } ?? false
        }
        guard let entry = line.first(where: isWaiting), isReady(governor, now: now) else { return nil }
        line.removeFirst()
        return next.map { ($0, entry.place) }
    }

    private mutating func give(
        _ effect: OpenEffect, at place: Int, to worker: WorkerState, _ meter: Int, floor: Int, _ proof: JobProof,
        _ served: inout [WorkerState]
    ) {
        leases += 1
        let lease = Lease(start: start, counter: leases)
        let token = proof.token(of: effect.id, under: lease)
        meters.handedOut(meter, since: places[place].since)
        let attempt = record(effect, to: worker, now: meters.now)
        places.give(
            effect, at: place, to: worker, lease: lease, token: token, meter: meter, attempt: attempt, floor: floor,
            since: meters.now)
        worker.take(of: effect.queue)
        worker.sent += 1
        if let timeout = effect.timeout {
            timeouts.hold(effect.id, under: lease, for: timeout + grace, untilDurable: floor)
        }
        if worker.handed.isEmpty { served.append(worker) }
        worker.handed.append(effect, lease: lease, token: token, number: worker.sent, limit: frameBytes)
    }

    /// A worker that has a suspect gets nothing else.
    private func isolate(_ workerState: WorkerState, ifSuspect effect: OpenEffect) {
        if isSuspect(effect) { workerState.isIsolated = true }
    }
}
