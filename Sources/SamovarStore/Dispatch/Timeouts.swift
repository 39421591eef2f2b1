import DequeModule
import SamovarCore

/// Until when jobs with a timeout have to be answered.
struct Timeouts {
    /// A job under the lease of one attempt.
    private struct Attempt: Comparable, Hashable {
        let effect: EffectID
        let lease: Lease

        /// What was answered is in time, however long the answer waits for its turn.
        func isRunning(_ places: AssignmentTable) -> Bool {
            places.number(of: effect, under: lease).map { !places[$0].isAnswered } ?? false
        }

        static func < (a: Attempt, b: Attempt) -> Bool { a.lease < b.lease }
    }

    /// With those of attempts that are over.
    private var ends = TimedQueue<Attempt>()
    /// Tasks that wait at the gate. The time of a job begins when its task leaves for its worker, and that waits for the disk.
    private var atGate: Deque<(floor: Int, attempt: Attempt, limit: Duration)> = []

    /// The earliest time at which `popExpired` may give something.
    var nextExpiry: Timestamp? { ends.nextTime }

    /// An attempt whose task leaves when this turn is on disk.
    mutating func hold(_ effect: EffectID, under lease: Lease, for limit: Duration, untilDurable floor: Int) {
        atGate.append((floor, Attempt(effect: effect, lease: lease), limit))
    }

    /// Tasks that waited for this turn or an earlier one have left.
    mutating func left(through durable: Int, _ places: AssignmentTable, now: Timestamp) {
        while let first = atGate.first, first.floor <= durable {
            atGate.removeFirst()
            begin(first.attempt.effect, under: first.attempt.lease, until: now + first.limit, places)
        }
    }

    /// The time of an attempt begins, if it is not over already.
    mutating func begin(_ effect: EffectID, under lease: Lease, until time: Timestamp, _ places: AssignmentTable) {
        let attempt = Attempt(effect: effect, lease: lease)
        guard attempt.isRunning(places) else { return }
        ends.insert(attempt, at: time)
        // Jobs that ended in time leave their entry behind until it is due.
        ends.keep(ifBeyond: 2 * places.count + 1_024) { attempt, _ in attempt.isRunning(places) }
    }

    /// A job that overran its timeout; nil if there is none.
    mutating func popExpired(_ places: AssignmentTable, now: Timestamp) -> EffectID? {
        while let attempt = ends.popDue(now: now) {
            if attempt.isRunning(places) { return attempt.effect }
        }
        return nil
    }
}
