public import Journal
import JournalChain
import PostgreSQL
import SamovarCore
import Synchronization

extension PostgreSQLJournal {
    /// A snapshot is written in parts, so that none is too large for a value.
    private static let partSize = 1 << 20

    public func save(_ snapshot: Snapshot) throws(JournalError) {
        let row = try writing { state throws(JournalError) in
            try snapshot.requireCovered(by: state.row.end.last)
            return state.row
        }
        // Over a connection of its own, so that appends go on.
        var server = JournalServer(place)
        let what = "The snapshot of turn \(snapshot.turn.grouped) cannot be written."
        let isKept: Bool = try server.transaction(what) { connection throws(PostgreSQLError) in
            let key: [PostgreSQLValue] = [.partition, .integer(snapshot.turn)]
            let snapshots = place.table("snapshots")
            // Not locked, which would hold up appends: a snapshot of turns that are durable is none of a later store's errors.
            let fence = try connection.run(
                "SELECT id FROM \(place.table("partitions")) WHERE id = $1 AND head >= $2 AND epoch = $3 AND nonce = $4",
                key + [.integer(row.epoch), .uuid(row.nonce)])
            guard fence.count == 1 else { return false }
            try Self.write(snapshot, of: identity, to: place, &connection)
            _ = try connection.run(
                """
                DELETE FROM \(snapshots) WHERE partition = $1 AND turn NOT IN (
                    SELECT turn FROM \(snapshots) WHERE partition = $1 ORDER BY turn DESC LIMIT $2)
                """, [.partition, .integer(Self.snapshotLimit)])
            return true
        }
        if !isKept { throw JournalError(.fenced, "Another store has the journal at \(place), or it has lost its end.") }
    }

    /// Puts a snapshot in the place of an older one of its turn, within a transaction.
    static func write(
        _ snapshot: Snapshot, of identity: UniqueID, to place: PostgreSQLPlace, _ connection: inout PostgreSQLConnection
    ) throws(PostgreSQLError) {
        let key: [PostgreSQLValue] = [.partition, .integer(snapshot.turn)]
        let (snapshots, parts) = (place.table("snapshots"), place.table("snapshot_parts"))
        _ = try connection.run("DELETE FROM \(snapshots) WHERE partition = $1 AND turn = $2", key)
        _ = try connection.run(
            "INSERT INTO \(snapshots) (partition, turn, bytes, digest) VALUES ($1, $2, $3, $4)",
            key + [.integer(snapshot.bytes.count), .bytes(Digest.of(snapshot, in: identity))])
        for (number, start) in stride(from: 0, to: snapshot.bytes.count, by: partSize).enumerated() {
            let part = Array(snapshot.bytes[start..<min(start + partSize, snapshot.bytes.count)])
            _ = try connection.run(
                "INSERT INTO \(parts) (partition, turn, number, data) VALUES ($1, $2, $3, $4)",
                key + [.integer(number), .bytes(part)])
        }
    }

    public func snapshots() throws(JournalError) -> [Int] {
        let sql = "SELECT turn FROM \(place.table("snapshots")) WHERE partition = $1 AND turn <= $2 ORDER BY turn DESC"
        return try reading("The snapshots cannot be read.", sql, [.integer(last)]) { rows, row throws(PostgreSQLError) in
            try rows.integer(row, 0)
        }
    }

    public func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        let key: [PostgreSQLValue] = [.partition, .integer(turn)]
        try state.withLock { state throws(JournalError) in try state.requireOpen(place) }
        // Over a connection of its own, so that appends go on.
        var server = JournalServer(place)
        let what = "The snapshot of turn \(turn.grouped) cannot be read."
        typealias Found = (bytes: [UInt8], count: Int, digest: [UInt8])
        let found = try server.transaction(what) { connection throws(PostgreSQLError) -> Found? in
            // All parts or none: the store may take them away meanwhile.
            try connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            let head = try connection.run(
                "SELECT bytes, digest FROM \(place.table("snapshots")) WHERE partition = $1 AND turn = $2", key)
            guard head.count == 1 else { return nil }
            let sql = "SELECT data FROM \(place.table("snapshot_parts")) WHERE partition = $1 AND turn = $2 AND number = $3"
            var bytes: [UInt8] = []
            var number = 0
            // One by one: the patience is for one answer, however large the snapshot is.
            while true {
                let part = try connection.run(sql, key + [.integer(number)])
                guard part.count == 1 else { break }
                bytes += try part.bytes(0, 0)
                number += 1
            }
            return (bytes, try head.integer(0, 0), try head.bytes(0, 1))
        }
        guard let found else { throw JournalError(.missing, "There is no snapshot of turn \(turn.grouped).") }
        let snapshot = Snapshot(turn: turn, bytes: found.bytes)
        guard found.bytes.count == found.count, Digest.of(snapshot, in: identity) == found.digest else {
            throw JournalError(.damaged, "\(place): the snapshot of turn \(turn.grouped) is not what was saved.")
        }
        return snapshot
    }
}
