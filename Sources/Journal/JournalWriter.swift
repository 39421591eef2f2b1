/// Appends what a store has computed, one batch after the other, and says what came of it. It decides which errors are waited out and
/// which end the store; when it is called, and on which thread, is its host's business. Snapshots are ``JournalMaintenance``'s.
public struct JournalWriter: ~Copyable {

    public enum Event: Sendable {
        case committed(through: Int)
        /// The disk is full, or the journal is not reached; the batch is tried again until there is space. Told again if it is
        /// another reason.
        case full(JournalError)
        case freed
        /// The journal cannot be used any more.
        case failed(JournalError)
    }

    /// How long to wait before work that found the disk full is tried again.
    public static let pause = Duration.seconds(1)

    private var journal: any Journal
    /// After a failure nothing may be written.
    private var hasFailed = false
    /// What the batch waits for; nil if nothing does.
    private var obstacle: JournalError.Code?

    public init(_ journal: any Journal) {
        self.journal = journal
    }

    /// - Parameter waiting: Whether space or the journal may be waited for; if not, it is a failure.
    /// - Returns: False if the same batch is to be tried again after ``pause``.
    public mutating func append(_ batch: Batch, waiting: Bool, report: (Event) -> Void) -> Bool {
        guard !hasFailed else { return true }
        do throws(JournalError) {
            try journal.append(batch)
            if obstacle.take() != nil { report(.freed) }
            report(.committed(through: batch.last))
            return true
        } catch {
            guard error.code == .full || error.isAway, waiting else {
                hasFailed = true
                report(.failed(error))
                return true
            }
            if obstacle != error.code { report(.full(error)) }
            obstacle = error.code
            return false
        }
    }

    /// Gives the journal up.
    public mutating func close(report: (Event) -> Void) {
        guard !hasFailed else { return }
        do throws(JournalError) { try journal.close() } catch { report(.failed(error)) }
    }
}
