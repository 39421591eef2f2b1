import Journal
import JournalChain
import PostgreSQL
import SamovarCore

/// The row of a partition: one statement compares and changes it with each batch.
typealias FenceRow = Fence<BatchChain>

extension FenceRow {
    /// `$1` to `$3` of a statement for whoever has this epoch.
    var key: [PostgreSQLValue] { [.partition, .integer(epoch), .uuid(nonce)] }

    /// `$1` to `$5` of one for which nothing may have changed.
    var all: [PostgreSQLValue] { key + [.integer(end.last), .bytes(end.digest)] }
}

extension JournalServer {
    /// What the row of the partition says.
    struct Partition {
        let identity: UniqueID
        var row: FenceRow
        let anchor: BatchChain
        /// The end of the batches themselves.
        let stored: BatchChain

        /// The row names the end of the batches, or somebody has changed one of both.
        func problem(at place: PostgreSQLPlace) -> JournalError? {
            guard stored != row.end else { return nil }
            return JournalError(
                .damaged,
                "The batches of the journal at \(place) end with turn \(stored.last.grouped), and its row says turn \(row.end.last.grouped)."
            )
        }
    }

    mutating func requireFormat() throws(JournalError) {
        let version: Int
        do throws(PostgreSQLError) {
            version = try ask { [sql = "SELECT version FROM \(place.table("format"))"] connection throws(PostgreSQLError) in
                try connection.run(sql, []).integer(0, 0)
            }
        } catch {
            let found = JournalError(error, "The journal at \(place) cannot be opened.")
            throw found.code == .missing
                ? JournalError(.missing, "There is no journal at \(place): `journal init` makes one.") : found
        }
        guard version == JournalSchema.version else {
            throw JournalError(
                .format, "\(place) has journal format \(version), and this build knows format \(JournalSchema.version) only.")
        }
    }

    mutating func partition() throws(JournalError) -> Partition {
        let sql = """
            SELECT identity, p.epoch, nonce, head, p.digest, trimmed, trimmed_digest,
                coalesce(b.last, trimmed), coalesce(b.digest, trimmed_digest)
            FROM \(place.table("partitions")) AS p LEFT JOIN LATERAL (
                SELECT last, digest FROM \(place.table("batches")) WHERE partition = p.id ORDER BY first DESC LIMIT 1) AS b ON true
            WHERE id = $1
            """
        return try ask("The end of the journal at \(place) cannot be read.") { connection throws(PostgreSQLError) in
            let rows = try connection.run(sql, [.partition])
            return Partition(
                identity: try rows.identity(0, 0),
                row: FenceRow(
                    epoch: try rows.integer(0, 1), nonce: try rows.bytes(0, 2),
                    end: BatchChain(last: try rows.integer(0, 3), digest: try rows.bytes(0, 4))),
                anchor: BatchChain(last: try rows.integer(0, 5), digest: try rows.bytes(0, 6)),
                stored: BatchChain(last: try rows.integer(0, 7), digest: try rows.bytes(0, 8)))
        }
    }

    /// As the server says, and not as it was asked for: for other sessions, since that of a lease has a setting of its own.
    mutating func durability() throws(JournalError) -> Durability {
        let sql = """
            SELECT current_setting('fsync'), (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
                current_setting('synchronous_standby_names')
            """
        return try ask("What the server of \(place) makes durable cannot be read.") { connection throws(PostgreSQLError) in
            let rows = try connection.run(sql, [])
            return .ofServer(fsync: try rows.text(0, 0), commit: try rows.text(0, 1), standbys: try rows.text(0, 2))
        }
    }
}

extension PostgreSQLRows {
    /// Of a journal.
    func identity(_ row: Int, _ column: Int) throws(PostgreSQLError) -> UniqueID {
        guard let identity = UniqueID(bytes: try bytes(row, column)) else {
            throw PostgreSQLError(.unexpected, "the identity of the journal has not 16 bytes")
        }
        return identity
    }
}

extension Durability {
    /// https://www.postgresql.org/docs/15/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT
    static func ofServer(fsync: String, commit: String, standbys: String) -> Durability {
        if fsync == "off" { return .process(why: "the server of PostgreSQL does not sync (fsync is off)") }
        if commit == "off" { return .process(why: "the server of PostgreSQL confirms before it syncs (synchronous_commit is off)") }
        guard !standbys.isEmpty, commit != "local" else { return .disk(how: "the log of a server of PostgreSQL is synced") }
        let how =
            switch commit {
            case "remote_write": "written by replicas"
            case "remote_apply": "synced and shown by replicas"
            default: "synced by replicas"
            }
        return .replicated(how: "\(how) of PostgreSQL (\(standbys))")
    }
}
