import SamovarCore

/// The tasks and CANCELs that the store has sent since HELLO, by its own numbers: what of them has come, and what was lost on the way.
struct TaskCount {
    enum Verdict {
        case taken
        /// More than the credit allows.
        case overdrawn
        /// These have come before.
        case repeated
        /// Others before these have not come.
        case incomplete
    }

    /// The number of the newest task that has come.
    private(set) var taken = 0
    /// The number of the newest CANCEL that has come; 0 from a store that does not count them.
    private var cancels = 0
    /// A number that the store says it has sent, and that has not come since.
    private var missing: (number: Int, since: Timestamp)?

    /// Counts the tasks of a frame.
    ///
    /// - Parameter number: that of the last of them.
    mutating func take(_ tasks: Int, number: Int, credit: Int) -> Verdict {
        guard number <= credit, number >= tasks else { return .overdrawn }
        guard number > taken else { return .repeated }
        guard number - tasks <= taken else { return .incomplete }
        taken = number
        return .taken
    }

    /// Counts a CANCEL; false if others before it are lost.
    ///
    /// - Parameter isCount: it names no job, and tells the number of those before it.
    mutating func takeCancel(number: Int, isCount: Bool) -> Bool {
        defer { cancels = max(cancels, number) }
        return number <= (isCount ? cancels : cancels + 1)
    }

    /// Whether tasks are lost, by what PONG says was sent. PONG does not wait for the disk, as tasks do: what it counts is late at
    /// first, and lost when it stays away for longer than `patience`.
    mutating func isIncomplete(sent: Int, now: Timestamp, patience: Duration) -> Bool {
        guard sent > taken else {
            missing = nil
            return false
        }
        guard let known = missing, known.number > taken else {
            missing = (sent, now)
            return false
        }
        return now - known.since >= patience
    }
}
