import DequeModule
import SamovarCore

/// Until when jobs with a timeout have to be answered. The time of a job begins when its task leaves for its worker, and that waits for
/// the disk.
struct AttemptTimeouts {
    /// A job under the lease of one attempt.
    struct Attempt: Comparable {
        let effect: EffectID
        let lease: Lease

        static func < (a: Attempt, b: Attempt) -> Bool { a.lease < b.lease }
    }

    /// Those that have left, with those that are over.
    private(set) var running = TimedQueue<Attempt>()
    private var atGate: Deque<(floor: Int, attempt: Attempt, limit: Duration)> = []

    /// A task waits at the gate for this turn.
    mutating func waits(_ attempt: Attempt, floor: Int, limit: Duration) {
        atGate.append((floor, attempt, limit))
    }

    /// A task that has left, with its time; nil if there are no more that waited for this turn or an earlier one.
    mutating func popLeft(through durable: Int) -> (attempt: Attempt, limit: Duration)? {
        guard let first = atGate.first, first.floor <= durable else { return nil }
        atGate.removeFirst()
        return (first.attempt, first.limit)
    }

    mutating func begin(_ attempt: Attempt, until time: Timestamp) { running.insert(attempt, at: time) }

    /// The earliest that is due. It may be over.
    mutating func popDue(now: Timestamp) -> Attempt? { running.popDue(now: now) }

    /// Forgets those that are over, if there are more than so many.
    mutating func keep(ifBeyond limit: Int, where isRunning: (Attempt) -> Bool) {
        running.keep(ifBeyond: limit) { attempt, _ in isRunning(attempt) }
    }
}
