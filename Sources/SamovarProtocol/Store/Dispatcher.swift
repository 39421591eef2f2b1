import DequeModule
import MessagePack
import SamovarCore

/// Who runs what: queues of effects that wait, workers with room, and the leases between them.
///
/// All of it is memory. After a restart it is built anew from the ledger and from what workers say they hold. Effects wait in
/// their queue, first in, first out; workers with credit are served in turn, one job each, so that load spreads.
struct Dispatcher {
    struct Assignment {
        let lease: Lease
        let workerState: WorkerState

        var worker: WorkerID { workerState.id }
    }

    /// A job under the lease of one attempt.
    private struct Attempt: Comparable {
        let effect: EffectID
        let lease: Lease

        static func < (a: Attempt, b: Attempt) -> Bool { a.lease < b.lease }
    }

    private(set) var workers: [WorkerID: WorkerState] = [:]
    /// Authoritative: an entry of a queue or of the suspects that does not wait here is stale.
    private var places = AssignmentTable()
    private var waitingCount = 0
    private(set) var lines = WaitingLines()
    private var suspects: Deque<EffectID> = []
    /// The worker that gets nothing new until it is empty, so that a suspect gets its chance.
    private var reserved: WorkerID?
    /// What running jobs told of themselves last.
    private var told: [EffectID: JobProgress] = [:]
    /// Effects that wait for some time before another attempt.
    private var delayed = TimedQueue<EffectID>()
    /// Until when jobs with a timeout have to be answered, with those that are over.
    private var timeouts = TimedQueue<Attempt>()
    /// Tasks with a timeout that wait at the gate. The time of a job begins when its task leaves for its worker, and that waits for the disk.
    private var atGate: Deque<(floor: Int, attempt: Attempt, limit: Duration)> = []
    /// The order in which workers are served next.
    private var rotation = RoundRobin<WorkerID>()
    private let start: Int
    private var leases = 0
    private let suspectDeaths: Int
    /// What a job has beyond its timeout.
    private let grace: Duration
    /// About the bytes of a frame of tasks.
    private let frameBytes: Int
    /// How often workers fell silent with an effect, and how often of them one that had nothing else. It says little, because a network may
    /// break; but again and again it does.
    private var losses: [EffectID: (all: Int, alone: Int)] = [:]
    /// Who had an effect last that was taken back from its worker and is not closed. The worker may be silent and stream later, from the
    /// place that its task told, so no older attempt may move that place meanwhile. What has streamed is on record and keeps every older
    /// attempt out (`EffectLedger.streamed`); a task that was handed out is on no record.
    private var formerLeases = NewestLeases()

    init(_ settings: StoreSettings, start: Int) {
        self.start = start
        suspectDeaths = settings.suspectDeaths
        grace = settings.timeoutGrace
        frameBytes = settings.taskFrameBytes
    }

    /// Whether it is offered alone: too many workers have ended while they ran it, with proof or without.
    private func isSuspect(_ effect: OpenEffect) -> Bool {
        if trustsNewcomers, effect.isUsual { return false }
        return !effect.isSource && effect.deaths + (losses.isEmpty ? 0 : losses[effect.id]?.all ?? 0) >= suspectDeaths
    }

    /// Whether no effect is a suspect of which no worker has died.
    var trustsNewcomers: Bool { losses.isEmpty && suspectDeaths > 0 }

    /// Counts that a worker fell silent with this effect; returns how often one did that had nothing else.
    mutating func lose(_ id: EffectID, isIsolated: Bool) -> Int {
        let (all, alone) = losses[id] ?? (0, 0)
        let counted = (all: all + 1, alone: alone + (isIsolated ? 1 : 0))
        losses[id] = counted
        return counted.alone
    }

    /// Forgets what was held against effects that are not open any more.
    mutating func forgetLosses(exceptOf ledger: EffectLedger) {
        losses = losses.filter { ledger.open[$0.key] != nil }
        formerLeases.keep { ledger.isKept($0) }
    }

    // MARK: Effects

    /// Lets an open effect wait for its turn; without effect if it waits or runs already.
    mutating func enqueue(_ effect: OpenEffect, now: Timestamp) {
        guard effect.notBefore <= now else {
            if assignment(of: effect.id) == nil { delayed.insert(effect.id, at: effect.notBefore) }
            return
        }
        guard let number = places.insert(effect.id, since: now) else { return }
        waitingCount += 1
        if isSuspect(effect) {
            suspects.append(effect.id)
        } else {
            let entry = PriorityQueue.Entry(effect: effect.id, place: number)
            lines.append(entry, to: effect.queue, priority: effect.options.priority)
        }
    }

    /// Lets an effect wait for its turn that was ordered now without options, while newcomers are trusted.
    mutating func enqueue(usual id: EffectID, now: Timestamp) {
        guard let number = places.insert(id, since: now) else { return }
        waitingCount += 1
        lines.append(usual: PriorityQueue.Entry(effect: id, place: number))
    }

    /// A worker serves these queues from now on, and no others.
    private mutating func serve(_ queues: [Queue], _ workerState: WorkerState) {
        workerState.queues = queues
        workerState.lines = lines.serve(queues, insteadOf: workerState.lines)
    }

    /// Forgets an effect; returns who held it, unless it was by this lease.
    @discardableResult
    mutating func forget(_ id: EffectID, unlessBy lease: Lease? = nil) -> Assignment? {
        guard let former = places.remove(id) else { return nil }
        guard let workerState = former.workerState else {
            waitingCount -= 1
            return nil
        }
        if !told.isEmpty { told[id] = nil }
        return former.lease == lease ? nil : Assignment(lease: former.lease, workerState: workerState)
    }

    /// Since when an effect waits for a worker; nil if it does not.
    func waits(_ id: EffectID) -> Timestamp? {
        guard let number = places.number(of: id), places[number].isWaiting else { return nil }
        return places[number].since
    }

    /// Who runs an effect, and under which lease; nil if nobody does.
    func assignment(of id: EffectID) -> Assignment? {
        places.number(of: id).flatMap { places[$0].assignment }
    }

    /// Whether a worker has an effect under another lease than this one. Asked for each answer: inlined, or the whole dispatcher would be
    /// moved for the call.
    @inline(__always)
    func isHeld(_ id: EffectID, underOtherThan lease: Lease) -> Bool {
        guard let number = places.number(of: id), !places[number].isWaiting else { return false }
        return places[number].lease != lease
    }

    /// The token of a job that somebody has under this lease; nil if nobody does.
    func token(of id: EffectID, under lease: Lease) -> UInt64? {
        guard let number = places.number(of: id), !places[number].isWaiting, places[number].lease == lease else { return nil }
        return places[number].token
    }

    /// Jobs that workers have.
    var running: Int { places.count - waitingCount }

    /// Takes an effect back from its worker, or out of its line. It stays open. Returns who held it.
    @discardableResult
    mutating func takeBack(_ id: EffectID) -> Assignment? {
        let holder = forget(id)
        if let holder { formerLeases.insert(holder.lease, of: id) }
        return holder
    }

    /// Whether a newer attempt than this one was handed out and taken back.
    func isOutdated(_ lease: Lease, of effect: EffectID) -> Bool { formerLeases[effect].map { lease < $0 } ?? false }

    /// An effect whose delay is over; nil if there is none. It may be closed by now.
    mutating func popDue(now: Timestamp) -> EffectID? { delayed.popDue(now: now) }

    /// A job that overran its timeout so far that its worker will not see to it; nil if there is none.
    mutating func popExpired(now: Timestamp) -> EffectID? {
        while let attempt = timeouts.popDue(now: now) {
            if assignment(of: attempt.effect)?.lease == attempt.lease { return attempt.effect }
        }
        return nil
    }

    /// Tasks that waited for this turn or an earlier one have left.
    mutating func left(through durable: Int, now: Timestamp) {
        while let first = atGate.first, first.floor <= durable {
            atGate.removeFirst()
            begin(first.attempt, until: now + first.limit)
        }
    }

    /// The earliest time at which `popDue` gives something.
    var nextDue: Timestamp? { delayed.nextTime }
    /// The earliest time at which `popExpired` may give something.
    var nextExpiry: Timestamp? { timeouts.nextTime }

    /// Forgets delays of effects that were closed meanwhile, if they are many, and queues in which nothing waits and that nobody serves.
    mutating func forgetClosed(exceptOf ledger: EffectLedger) {
        delayed.keep(ifBeyond: 2 * ledger.open.count + 1_024) { id, time in ledger.open[id]?.notBefore == time }
        let places = places
        lines.forgetStale { places.isWaiting($0.effect, at: $0.place) }
    }

    // MARK: Workers

    mutating func join(_ offer: WorkerOffer, route: Route, now: Timestamp) {
        let id = offer.id
        if workers[id] == nil { rotation.add(id) }
        let workerState = workers[id] ?? WorkerState(id, route: route, heard: now)
        workers[id] = workerState
        workerState.route = route
        workerState.slots = offer.slots
        serve(offer.queues, workerState)
        workerState.limits = offer.limits
        workerState.held = offer.limits.isEmpty ? [:] : held(by: workerState)
        workerState.credit = 0
        workerState.sent = 0
        workerState.heard = now
        workerState.isLeaving = false
    }

    private func held(by workerState: WorkerState) -> [Queue: Int] {
        places.effects(of: workerState).reduce(into: [:]) { held, job in
            if let number = places.number(of: job) { held[places[number].queue, default: 0] += 1 }
        }
    }

    /// The jobs of a worker in the order in which it was given them, and so starts them.
    func jobs(of worker: WorkerID) -> [EffectID] { workers[worker].map { places.effects(of: $0) } ?? [] }

    /// Notes what a job tells of itself, if this worker runs it.
    mutating func note(_ report: ProgressReport, of worker: WorkerID) {
        guard let job = assignment(of: report.effect), job.workerState.id == worker, job.lease == report.lease else { return }
        told[report.effect] = report.progress
    }

    /// What a running job told of itself last.
    func progress(of id: EffectID) -> JobProgress? { told[id] }

    /// The same of all jobs of a worker, the oldest first.
    func progress(of worker: WorkerID) -> [(effect: EffectID, progress: JobProgress)] {
        told.isEmpty ? [] : jobs(of: worker).sorted().compactMap { id in told[id].map { (id, $0) } }
    }

    /// Takes a worker's word that it holds a job; false if another worker holds a newer lease.
    mutating func adopt(_ effect: OpenEffect, lease: Lease, token: UInt64, worker: WorkerID, now: Timestamp) -> Bool {
        let held = assignment(of: effect.id)
        if let held, held.lease > lease { return false }
        guard let workerState = workers[worker] else { return false }
        forget(effect.id)
        guard let place = places.insert(effect.id, since: now) else { return false }
        assign(effect, at: place, to: workerState, lease: lease, token: token)
        isolate(workerState, ifSuspect: effect)
        // Of an earlier start: when it was handed out is not known any more, so its time begins now.
        if held?.lease != lease, let timeout = effect.timeout {
            begin(Attempt(effect: effect.id, lease: lease), until: now + timeout + grace)
        }
        return true
    }

    /// Removes a worker; returns its jobs in the order in which it was given them.
    mutating func leave(_ id: WorkerID) -> [EffectID] {
        guard let workerState = workers[id] else { return [] }
        serve([], workerState)
        rotation.remove(id)
        let jobs = places.effects(of: workerState)
        for job in jobs {
            if let former = places.remove(job) { formerLeases.insert(former.lease, of: job) }
            told[job] = nil
        }
        workers[id] = nil
        return jobs
    }

    mutating func heard(_ id: WorkerID, credit: Int?, now: Timestamp) {
        guard let workerState = workers[id] else { return }
        workerState.heard = now
        if let credit { workerState.credit = max(workerState.credit, credit) }
    }

    func isServed(_ queue: Queue) -> Bool {
        workers.values.contains { !$0.isLeaving && $0.queues.contains(queue) }
    }

    /// Queues in which something waits, suspects included, and that nobody serves.
    func unservedQueues(in ledger: EffectLedger) -> Set<Queue> {
        var queues: Set<Queue> = []
        for line in lines.all where line.servers == 0 || !isServed(line.queue) {
            if line.effects.value.first(where: { places.isWaiting($0.effect, at: $0.place) }) != nil { queues.insert(line.queue) }
        }
        for id in suspects {
            if let queue = ledger.open[id]?.queue, !queues.contains(queue), !isServed(queue) { queues.insert(queue) }
        }
        return queues
    }

    /// How many effects wait in each queue, suspects included. Looks at all of them.
    func waitingByQueue(in ledger: EffectLedger) -> [Queue: Int] {
        var counts: [Queue: Int] = [:]
        for place in places.taken where place.isWaiting {
            if let queue = place.effect.flatMap({ ledger.open[$0]?.queue }) { counts[queue, default: 0] += 1 }
        }
        return counts
    }

    /// How many effects of each queue workers have.
    func runningByQueue() -> [Queue: Int] {
        var counts: [Queue: Int] = [:]
        for place in places.taken where !place.isWaiting { counts[place.queue, default: 0] += 1 }
        return counts
    }

    var hasWaiting: Bool { waitingCount > 0 }

    mutating func setLeaving(_ id: WorkerID) { workers[id]?.isLeaving = true }

    // MARK: Assigning

    /// Hands waiting effects to workers with room.
    ///
    /// - Returns: the tasks of each worker that gets some, in the order in which workers got their first.
    mutating func assign(from ledger: EffectLedger, floor: Int, _ proof: JobProof) -> [(
        worker: WorkerState, frames: [TaskBatch.Frame]
    )] {
        guard hasWaiting else { return [] }
        var served: [WorkerState] = []
        isolateSuspects(ledger, floor: floor, proof, &served)
        // Who is alone is given all at once.
        let share = rotation.count == 1 ? Int.max : 1
        var passes = rotation.count
        while passes > 0, let id = rotation.next() {
            passes -= 1
            guard let workerState = workers[id], workerState.id != reserved else { continue }
            if fill(workerState, atMost: share, from: ledger, floor: floor, proof, &served) { passes = rotation.count }
        }
        return served.map { ($0, $0.handed.takeFrames()) }
    }

    private mutating func isolateSuspects(_ ledger: EffectLedger, floor: Int, _ proof: JobProof, _ served: inout [WorkerState]) {
        var kept: Deque<EffectID> = []
        while let id = suspects.popFirst() {
            guard let place = places.number(of: id), places[place].isWaiting, let effect = ledger.open[id] else { continue }
            let empty = rotation.first { worker in
                guard let workerState = workers[worker] else { return false }
                return workerState.running == 0 && hasRoom(workerState) && workerState.queues.contains(effect.queue)
                    && workerState.hasRoom(for: effect.queue)
            }
            if let empty = empty.flatMap({ workers[$0] }) {
                give(effect, at: place, to: empty, floor: floor, proof, &served)
                isolate(empty, ifSuspect: effect)
            } else {
                kept.append(id)
            }
        }
        suspects = kept
        let queue = kept.lazy.compactMap { ledger.open[$0]?.queue }.first { isServed($0) }
        reserved = queue.flatMap { queue in
            workers.filter { !$0.value.isLeaving && $0.value.queues.contains(queue) }.keys.min()
        }
    }

    private func hasRoom(_ workerState: WorkerState) -> Bool {
        workerState.sent < workerState.credit && !workerState.isLeaving && !workerState.isIsolated
    }

    /// Gives a worker what waits for it, as far as it has room; false if that is nothing.
    private mutating func fill(
        _ workerState: WorkerState, atMost limit: Int, from ledger: EffectLedger, floor: Int, _ proof: JobProof,
        _ served: inout [WorkerState]
    ) -> Bool {
        var given = 0
        for line in workerState.lines {
            while given < limit, hasRoom(workerState), workerState.hasRoom(for: line.queue),
                let first = line.effects.value.popFirst()
            {
                guard places.isWaiting(first.effect, at: first.place) else { continue }
                let isGiven = ledger.open.withEffect(first.effect) { effect in
                    if isSuspect(effect) { return false }
                    give(effect, at: first.place, to: workerState, floor: floor, proof, &served)
                    return true
                }
                if isGiven == true { given += 1 }
            }
        }
        return given > 0
    }

    private mutating func give(
        _ effect: OpenEffect, at place: Int, to worker: WorkerState, floor: Int, _ proof: JobProof, _ served: inout [WorkerState]
    ) {
        leases += 1
        let lease = Lease(start: start, counter: leases)
        waitingCount -= 1
        let token = proof.token(of: effect.id, under: lease)
        assign(effect, at: place, to: worker, lease: lease, token: token)
        worker.sent += 1
        if let timeout = effect.timeout {
            atGate.append((floor, Attempt(effect: effect.id, lease: lease), timeout + grace))
        }
        if worker.handed.isEmpty { served.append(worker) }
        worker.handed.append(effect, lease: lease, token: token, number: worker.sent, limit: frameBytes)
    }

    private mutating func assign(_ effect: OpenEffect, at place: Int, to workerState: WorkerState, lease: Lease, token: UInt64) {
        places.give(effect, at: place, to: workerState, lease: lease, token: token)
        workerState.take(of: effect.queue)
    }

    /// A worker that has a suspect gets nothing else.
    private func isolate(_ workerState: WorkerState, ifSuspect effect: OpenEffect) {
        if isSuspect(effect) { workerState.isIsolated = true }
    }

    /// The time of an attempt begins, if it is not over already.
    private mutating func begin(_ attempt: Attempt, until time: Timestamp) {
        guard assignment(of: attempt.effect)?.lease == attempt.lease else { return }
        timeouts.insert(attempt, at: time)
        // Jobs that ended in time leave their entry behind until it is due.
        let places = places
        timeouts.keep(ifBeyond: 2 * running + 1_024) { attempt, _ in
            places.number(of: attempt.effect).map { !places[$0].isWaiting && places[$0].lease == attempt.lease } ?? false
        }
    }
}
