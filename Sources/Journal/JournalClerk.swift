/// Does to a journal what a store asks for, one thing after the other, and says what came of it. It decides which errors are
/// waited out and which end the store; when it is called, and on which thread, is its host's business.
public struct JournalClerk: ~Copyable {
    public enum Work: Sendable {
        case append(Batch)
        case save(Snapshot)
    }

    public enum News: Sendable {
        case committed(through: Int)
        /// The disk is full; the batch is tried again until there is space.
        case full(JournalError)
        case freed
        /// The journal cannot be used any more.
        case failed(JournalError)
        case saved(bytes: Int)
        case snapshotFailed(JournalError)
    }

    /// How long to wait before work that found the disk full is tried again.
    public static let pause = Duration.seconds(1)

    private var journal: any Journal
    /// After a failure nothing may be written.
    private var hasFailed = false
    private var isFull = false

    public init(_ journal: any Journal) {
        self.journal = journal
    }

    /// - Parameter waiting: Whether a full disk may be waited for; if not, it is a failure.
    /// - Returns: False if the same work is to be tried again after ``pause``.
    public mutating func perform(_ work: Work, waiting: Bool, report: (News) -> Void) -> Bool {
        guard !hasFailed else { return true }
        do throws(JournalError) {
            switch work {
            case .append(let batch):
                try journal.append(batch)
                if isFull { report(.freed) }
                isFull = false
                report(.committed(through: batch.last))
            case .save(let snapshot):
                try journal.save(snapshot)
                report(.saved(bytes: snapshot.bytes.count))
            }
            return true
        } catch {
            return failed(work, error, waiting: waiting, report)
        }
    }

    private mutating func failed(_ work: Work, _ error: JournalError, waiting: Bool, _ report: (News) -> Void) -> Bool {
        switch work {
        case .append where error.code == .full && waiting:
            if !isFull { report(.full(error)) }
            isFull = true
            return false
        case .save where error.code == .full:
            // A snapshot is a cache: the store goes on without it.
            report(.snapshotFailed(error))
        case .append, .save:
            hasFailed = true
            report(.failed(error))
        }
        return true
    }

    /// Gives the journal up.
    public mutating func close(report: (News) -> Void) {
        guard !hasFailed else { return }
        do throws(JournalError) { try journal.close() } catch { report(.failed(error)) }
    }
}
