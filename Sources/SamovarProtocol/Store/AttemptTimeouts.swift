import DequeModule
import HeapModule
import SamovarCore

/// Until when jobs with a timeout have to be answered. The time of a job begins when its task leaves for its worker, and that waits for
/// the disk.
struct AttemptTimeouts {
    /// A job under the lease of one attempt.
    struct Attempt {
        let effect: EffectID
        let lease: Lease
    }

    private struct Expiry: Comparable {
        let time: Timestamp
        let attempt: Attempt

        static func == (a: Expiry, b: Expiry) -> Bool { (a.time, a.attempt.lease) == (b.time, b.attempt.lease) }
        static func < (a: Expiry, b: Expiry) -> Bool { (a.time, a.attempt.lease) < (b.time, b.attempt.lease) }
    }

    private var expiries = Heap<Expiry>()
    private var atGate: Deque<(floor: Int, attempt: Attempt, limit: Duration)> = []

    /// Those of attempts that are over included.
    var count: Int { expiries.count }

    /// The earliest of them; it may be that of an attempt that is over.
    var nextTime: Timestamp? { expiries.min?.time }

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

    mutating func begin(_ attempt: Attempt, until time: Timestamp) {
        expiries.insert(Expiry(time: time, attempt: attempt))
    }

    /// The earliest that is due. It may be over.
    mutating func popDue(now: Timestamp) -> Attempt? {
        guard let first = expiries.min, first.time <= now else { return nil }
        expiries.removeMin()
        return first.attempt
    }

    /// Forgets the others.
    mutating func keep(where isRunning: (Attempt) -> Bool) {
        expiries = Heap(expiries.unordered.filter { isRunning($0.attempt) })
    }
}
