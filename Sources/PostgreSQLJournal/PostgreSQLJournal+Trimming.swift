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
            let (fence, parameters) = (state.fence, state.row.key)
            let what = "The batches up to turn \(turn.grouped) cannot be removed."
            let step = try state.server.transaction(what) { connection throws(PostgreSQLError) in
                try Self.trimStep(&connection, place, through: turn, fence, parameters)
            }
            switch step {
            case .fenced: throw try state.fenced()
            case .trimmed(let anchor, let hasMore):
                state.anchor = anchor
                return hasMore
            }
        }
    }

    private enum TrimStep {
        case fenced
        /// As it is now, whoever has trimmed it.
        case trimmed(through: BatchChain, hasMore: Bool)
    }

    private static func trimStep(
        _ connection: inout PostgreSQLConnection, _ place: PostgreSQLPlace, through turn: Int, _ fence: String,
        _ parameters: [PostgreSQLValue]
    ) throws(PostgreSQLError) -> TrimStep {
        let row = try connection.run(fence, parameters)
        guard row.count == 1 else { return .fenced }
        let batches = place.table("batches")
        let partition = PostgreSQLValue.integer(JournalSchema.partition)
        let rows = try connection.run(
            """
            SELECT first, last, digest, octet_length(data) FROM \(batches) WHERE partition = $1 AND first <= $2 AND last <= $2
            ORDER BY first LIMIT $3
            """, [partition, .integer(turn), .integer(trimBatches)])
        var (size, count) = (0, 0)
        while size < trimSize, count < rows.count {
            size += try rows.integer(count, 3)
            count += 1
        }
        guard count > 0 else {
            return .trimmed(through: BatchChain(last: try row.integer(0, 1), digest: try row.bytes(0, 2)), hasMore: false)
        }
        let anchor = BatchChain(last: try rows.integer(count - 1, 1), digest: try rows.bytes(count - 1, 2))
        _ = try connection.run(
            "DELETE FROM \(batches) WHERE partition = $1 AND first <= $2", [partition, .integer(try rows.integer(count - 1, 0))])
        _ = try connection.run(
            "UPDATE \(place.table("partitions")) SET trimmed = $2, trimmed_digest = $3 WHERE id = $1",
            [partition, .integer(anchor.last), .bytes(anchor.digest)])
        return .trimmed(through: anchor, hasMore: count < rows.count || count == trimBatches)
    }
}
