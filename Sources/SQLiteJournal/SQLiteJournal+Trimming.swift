import CrashPoints
import GRDB
public import Journal
import JournalChain
import Synchronization

extension SQLiteJournal {
    /// What one step of trimming removes at most, unless a single batch is larger. Appends wait for so much and no more.
    private static let trimSize = 1 << 20
    private static let trimBatches = 1_000

    public func trim(through turn: Int) throws(JournalError) -> Bool {
        if state.withLock(\.verifiedSnapshot) < turn {
            try requireSnapshot(behind: turn)
            state.withLock { $0.verifiedSnapshot = max($0.verifiedSnapshot, turn) }
        }
        let trimmed: Result<Bool, JournalError> = try writing { state throws(JournalError) in
            let anchor = state.anchor
            let removed: (anchor: BatchChain, bytes: Int)?, hasMore: Bool
            do throws(JournalError) {
                (removed, hasMore) = try connection.perform("the batches up to turn \(turn.grouped) cannot be removed") { db in
                    try Self.trimStep(db, of: connection.path, behind: anchor, through: turn)
                }
            } catch {
                // Nothing has changed, and nobody's state comes from these batches: what follows them can be written all the same.
                guard error.code == .damaged else { throw error }
                return .failure(error)
            }
            CrashPoint.pass(.storeAfterTrim)
            guard let removed else { return .success(hasMore) }
            state.anchor = removed.anchor
            // The pages that become free may be written to the log, too, and a trim may be all that is written for long.
            try checkpointIfLarge(&state, added: removed.bytes)
            return .success(hasMore)
        }
        return try trimmed.get()
    }

    /// Both bounds are needed: SQLite looks up the one by its key, and would read to the end of the journal for the other.
    static let oldest = "SELECT first, last, data, digest FROM batches WHERE first <= ?1 AND last <= ?1 ORDER BY first LIMIT ?2"

    /// The file does not shrink, because that would cost as much as writing it again: its pages are used again.
    private static func trimStep(
        _ db: Database, of path: String, behind anchor: BatchChain, through turn: Int
    ) throws -> (removed: (anchor: BatchChain, bytes: Int)?, hasMore: Bool) {
        let rows = try Row.fetchCursor(db, sql: oldest, arguments: [turn, trimBatches])
        var (anchor, newest, size, count) = (anchor, 0, 0, 0)
        while size < trimSize, count < trimBatches, let row = try rows.next() {
            let batch = Batch(first: try row.integer(at: 0), last: try row.integer(at: 1), bytes: try row.bytes(at: 2))
            // A damaged row may claim pages of another one, which would go with it.
            if let problem = anchor.advance(over: batch, digest: try row.bytes(at: 3)) {
                throw JournalError(.damaged, "\(path): the batch of \(batch.turns) cannot be removed: \(problem).")
            }
            newest = batch.first
            size += batch.bytes.count
            count += 1
        }
        guard count > 0 else { return (nil, false) }
        try db.inTransaction(.immediate) {
            try db.execute(sql: "DELETE FROM batches WHERE first <= ?", arguments: [newest])
            CrashPoint.pass(.storeDuringTrim)
            try Facts.write(anchor.bytes, as: Facts.anchor, to: db)
            return .commit
        }
        return ((anchor: anchor, bytes: size), size >= trimSize || count == trimBatches)
    }
}
