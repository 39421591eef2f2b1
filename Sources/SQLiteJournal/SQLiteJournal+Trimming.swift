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
        return try writing { state throws(JournalError) in
            let (removed, hasMore) = try connection.perform("the batches up to turn \(turn.grouped) cannot be removed") { db in
                try Self.trimStep(db, through: turn)
            }
            CrashPoint.pass(.storeAfterTrim)
            guard let removed else { return hasMore }
            state.anchor = removed.anchor
            // The pages that become free may be written to the log, too, and a trim may be all that is written for long.
            try checkpointIfLarge(&state, added: removed.bytes)
            return hasMore
        }
    }

    /// The file does not shrink, because that would cost as much as writing it again: its pages are used again.
    private static func trimStep(
        _ db: Database, through turn: Int
    ) throws -> (removed: (anchor: BatchChain, bytes: Int)?, hasMore: Bool) {
        let rows = try Row.fetchCursor(
            db, sql: "SELECT first, last, length(data) FROM batches WHERE last <= ? ORDER BY first LIMIT ?",
            arguments: [turn, trimBatches])
        var size = 0
        var newest: (first: Int, last: Int)?
        var count = 0
        while size < trimSize, count < trimBatches, let row = try rows.next() {
            newest = (try row.integer(at: 0), try row.integer(at: 1))
            size += try row.integer(at: 2)
            count += 1
        }
        guard let newest else { return (nil, false) }
        var anchor = BatchChain()
        try db.inTransaction(.immediate) {
            let row = try Row.fetchOne(db, sql: "SELECT digest FROM batches WHERE first = ?", arguments: [newest.first])
            anchor = BatchChain(last: newest.last, digest: try row?.bytes(at: 0) ?? [])
            try db.execute(sql: "DELETE FROM batches WHERE first <= ?", arguments: [newest.first])
            CrashPoint.pass(.storeDuringTrim)
            try Facts.write(anchor.bytes, as: Facts.anchor, to: db)
            return .commit
        }
        return ((anchor: anchor, bytes: size), size >= trimSize || count == trimBatches)
    }
}
