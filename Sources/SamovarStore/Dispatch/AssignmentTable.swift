import SamovarCore
import SamovarWire

/// Where open effects are: those that wait for a worker, and those that one has. An effect that is delayed, or behind another with its
/// label, is nowhere.
///
/// Each has a row of its own. Who knows the number of the row needs no look-up, and a field of it is read without a copy of the others.
struct AssignmentTable {
    struct Row {
        /// Whose row it is; nil while it is nobody's.
        fileprivate(set) var effect: EffectID?
        /// When the effect came to wait, or was handed out.
        fileprivate(set) var since = Timestamp(microseconds: 0)
        /// The worker that has it, and all that follows; nil while it waits.
        fileprivate(set) var workerState: Dispatcher.WorkerState?
        fileprivate(set) var lease = Lease(start: 0, counter: 0)
        /// What proves that the lease was given.
        fileprivate(set) var token: UInt64 = 0
        /// Its worker has answered, and the answer waits for its turn.
        fileprivate(set) var isAnswered = false
        /// Nil also for the default ones.
        fileprivate var options: RunOptions?
        /// The number of its queue in `QueueMeters`, if a worker has it.
        fileprivate(set) var meter = 0
        /// The number of the attempt in `FlightRecorder`, if a worker has it.
        fileprivate(set) var attempt = 0
        /// The turn that has to be on disk before its task leaves for the worker. A worker that claims the job has had its task.
        fileprivate(set) var floor = 0
        /// The rows that the same worker was given before and after this one. After a row that is nobody's stands the next of these.
        fileprivate var before: Int?
        fileprivate var after: Int?

        /// From now on it is the row of an effect that waits.
        fileprivate mutating func wait(_ effect: EffectID, since: Timestamp) {
            self.effect = effect
            self.since = since
        }

        fileprivate mutating func give(
            _ options: RunOptions?, to workerState: Dispatcher.WorkerState, lease: Lease, token: UInt64, meter: Int,
            attempt: Int, floor: Int, since: Timestamp, after before: Int?
        ) {
            self.workerState = workerState
            self.lease = lease
            self.token = token
            isAnswered = false
            self.options = options
            self.meter = meter
            self.attempt = attempt
            self.floor = floor
            self.since = since
            self.before = before
            after = nil
        }

        /// It is nobody's from now on. Returns the worker that had its effect, and has one less; nil if it waited.
        @inline(__always)
        fileprivate mutating func clear(nextFree: Int?) -> Dispatcher.WorkerState? {
            let workerState = workerState.take()
            if effect?.isOfSource == true { workerState?.sources -= 1 }
            workerState?.release(of: queue)
            effect = nil
            options = nil
            after = nextFree
            return workerState
        }

        /// The queue in which it waited.
        var queue: Queue { options?.queue ?? .default }

        var isWaiting: Bool { workerState == nil }

        var assignment: Dispatcher.Assignment? { workerState.map { Dispatcher.Assignment(lease: lease, workerState: $0) } }
    }

    private var numbers = EffectMap<Int>()
    private var rows: [Row] = []
    /// The first row that is nobody's; nil if there is none.
    private var free: Int?

    /// Effects that wait or that a worker has.
    var count: Int { numbers.count }
    /// Those of them that wait.
    private(set) var waiting = 0

    /// The number of an effect's row; nil if it is nowhere.
    func number(of effect: EffectID) -> Int? { numbers[effect] }

    subscript(number: Int) -> Row {
        _read { yield rows[number] }
    }

    /// Lets an effect wait; nil if it has a row already.
    mutating func insert(_ effect: EffectID, since: Timestamp) -> Int? {
        let number = free ?? rows.count
        guard numbers.insert(number, for: effect) else { return nil }
        waiting += 1
        if number == rows.count { rows.append(Row()) } else { free = rows[number].after }
        rows[number].wait(effect, since: since)
        return number
    }

    /// Gives a waiting effect, whose row has this number, to a worker.
    mutating func give(
        _ effect: OpenEffect, at number: Int, to workerState: Dispatcher.WorkerState, lease: Lease, token: UInt64, meter: Int,
        attempt: Int, floor: Int = 0, since: Timestamp
    ) {
        let before = workerState.newest
        waiting -= 1
        if effect.id.isOfSource { workerState.sources += 1 }
        rows[number].give(
            effect.isUsual ? nil : effect.options, to: workerState, lease: lease, token: token, meter: meter,
            attempt: attempt, floor: floor, since: since, after: before)
        if let before { rows[before].after = number }
        workerState.newest = number
    }

    /// Where an effect was. No tuple: the compiler destroys one of this size by what the runtime knows of it, in 400 instructions.
    struct Former {
        /// Nil if it waited.
        let workerState: Dispatcher.WorkerState?
        let lease: Lease
        let since: Timestamp
        /// The number of its queue.
        let meter: Int
        /// The number of the attempt.
        let attempt: Int
    }

    /// The number of an effect's row, if a worker has it under this lease.
    func number(of effect: EffectID, under lease: Lease) -> Int? {
        guard let number = numbers[effect], !rows[number].isWaiting, rows[number].lease == lease else { return nil }
        return number
    }

    /// Whoever has the effect of this row has answered.
    mutating func answered(at number: Int) { rows[number].isAnswered = true }

    /// Takes an effect's row from it, and the job off its worker's count; nil if it is nowhere. Inlined, or an optional `Former` is destroyed by
    /// what the runtime knows of it.
    @inline(__always)
    mutating func remove(_ effect: EffectID) -> Former? {
        guard let number = numbers.removeValue(forKey: effect) else { return nil }
        let (lease, since, meter, attempt) = (rows[number].lease, rows[number].since, rows[number].meter, rows[number].attempt)
        let (before, after) = (rows[number].before, rows[number].after)
        let workerState = rows[number].clear(nextFree: free)
        free = number
        if let workerState {
            if let before { rows[before].after = after }
            if let after { rows[after].before = before } else { workerState.newest = before }
        } else {
            waiting -= 1
        }
        return Former(workerState: workerState, lease: lease, since: since, meter: meter, attempt: attempt)
    }

    /// What a worker has, in the order in which it was given it.
    func effects(of workerState: Dispatcher.WorkerState) -> [EffectID] {
        sequence(state: workerState.newest) { number in
            defer { number = number.flatMap { rows[$0].before } }
            return number.flatMap { rows[$0].effect }
        }.reversed()
    }

    /// Whether this row is still that of this effect, and no worker has it.
    func isWaiting(_ effect: EffectID, at number: Int) -> Bool { rows[number].isWaiting && rows[number].effect == effect }

    /// The rows that are somebody's, in no order.
    var taken: some Sequence<Row> { rows.lazy.filter { $0.effect != nil } }
}

extension Dispatcher {
    /// Who runs an effect, and under which lease.
    struct Assignment {
        let lease: Lease
        let workerState: WorkerState

        var worker: WorkerID { workerState.id }
    }
}
