public import Journal
import JournalChain
import PostgreSQL
import Synchronization

extension PostgreSQLJournal {
    /// What one step of trimming removes at most, unless a single batch is larger. Appends wait for so much and no more.
    private static let trimSize = 1 << 20
    private static let trimBatches = 1_000

    public func trim(through turn: Int) throws(JournalError) -> Bool {
        if state.withLock({ $0.verifiedSnapshot }) < turn {
            try requireSnapshot(behind: turn)
            state.withLock { $0.verifiedSnapshot = max($0.verifiedSnapshot, turn) }
        }
        return try writing { state throws(JournalError) in
            let key = state.row.key
            let what = "The batches up to turn \(turn.grouped) cannot be removed."
            let step = try state.server.ask(what) { connection throws(PostgreSQLError) in
                try Self.step(&connection, place, through: turn, key)
            }
            guard let step else { throw try state.fenced() }
            if let newest = step.newest {
                // One statement, as an append is: a store that stands still within a transaction would hold the row, and nobody could take
                // the journal over.
                let sql = """
                    WITH fence AS (
                        UPDATE \(place.table("partitions")) SET trimmed = $4, trimmed_digest = $5
                        WHERE id = $1 AND epoch = $2 AND nonce = $3 RETURNING id),
                    gone AS (DELETE FROM \(place.table("batches")) USING fence WHERE partition = fence.id AND first <= $6)
                    SELECT id FROM fence
                    """
                let parameters = key + [.integer(step.anchor.last), .bytes(step.anchor.digest), .integer(newest)]
                try state.requireDone(try state.server.change(what, sql, parameters))
            }
            state.anchor = step.anchor
            return step.hasMore
        }
    }

    private struct TrimStep {
        /// Where the journal begins behind it; as it does now, whoever has trimmed it, if nothing is left to remove.
        let anchor: BatchChain
        /// The first turn of the newest batch that is removed.
        var newest: Int?
        var hasMore = false
    }

    /// What comes next; nil for a store that does not have the journal any more.
    private static func step(
        _ connection: inout PostgreSQLConnection, _ place: PostgreSQLPlace, through turn: Int, _ key: [PostgreSQLValue]
    ) throws(PostgreSQLError) -> TrimStep? {
        let row = try connection.run(
            "SELECT trimmed, trimmed_digest FROM \(place.table("partitions")) WHERE id = $1 AND epoch = $2 AND nonce = $3", key)
        guard row.count == 1 else { return nil }
        let rows = try connection.run(
            """
            SELECT first, last, digest, octet_length(data) FROM \(place.table("batches")) WHERE partition = $1 AND first <= $2 AND last <= $2
            ORDER BY first LIMIT $3
            """, [.partition, .integer(turn), .integer(trimBatches)])
        var (size, count) = (0, 0)
        while size < trimSize, count < rows.count {
            size += try rows.integer(count, 3)
            count += 1
        }
        guard count > 0 else { return TrimStep(anchor: BatchChain(last: try row.integer(0, 0), digest: try row.bytes(0, 1))) }
        return TrimStep(
            anchor: BatchChain(last: try rows.integer(count - 1, 1), digest: try rows.bytes(count - 1, 2)),
            newest: try rows.integer(count - 1, 0), hasMore: count < rows.count || count == trimBatches)
    }
}
