import DequeModule
import SamovarCore
import SamovarWire

/// Hashes of the newest inputs of a session, so that two processes that use one session are told apart: the second one would take
/// the outcome of another input for that of its own.
///
/// Only memory, and only of this start: it finds a mistake, and no promise rests on it.
struct Fingerprints: Equatable {
    private var first = 1
    var count: Int { hashes.count }
    private var hashes: Deque<UInt64> = []

    mutating func append(_ submission: Submission, limit: Int) {
        if first + hashes.count != submission.sequence {
            first = submission.sequence
            hashes.removeAll()
        }
        hashes.append(KeyedHash.of(submission.input))
        keep(newest: limit)
    }

    mutating func keep(newest limit: Int) {
        let surplus = hashes.count - limit
        guard surplus > 0 else { return }
        first += surplus
        // An array that has shrunk by far keeps its memory.
        if surplus > limit { hashes = Deque(hashes.suffix(limit)) } else { hashes.removeFirst(surplus) }
    }

    /// Inputs beyond were never taken, and their numbers are free.
    mutating func drop(after sequence: Int) {
        while !hashes.isEmpty, first + hashes.count - 1 > sequence { hashes.removeLast() }
    }

    /// Whether another input is known under this number.
    func differs(_ submission: Submission) -> Bool {
        guard submission.sequence >= first, submission.sequence - first < hashes.count else { return false }
        return hashes[submission.sequence - first] != KeyedHash.of(submission.input)
    }
}
