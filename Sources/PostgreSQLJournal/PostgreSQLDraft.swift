import Journal
import JournalChain
import PostgreSQL
import SamovarCore

/// A journal that grows in a schema of its own, and changes its name with the one in its place when it is whole.
///
/// Made by the role that owns the tables. What a draft leaves that was cut short, the next one removes. So a place has one draft at a time: the
/// one whose session has the lock, and which ends with that session.
final class PostgreSQLDraft: JournalDraft {
    private let target: PostgreSQLPlace
    private let place: PostgreSQLPlace
    private let identity: UniqueID
    /// What is in its place; nil if nothing is.
    private let found: JournalOwnership?
    private var server: JournalServer
    private var end: BatchChain
    private let anchor: BatchChain
    /// The number of the lock; `$1` is the schema of the draft.
    private static let lock = "hashtextextended($1, 0)"

    init(
        of target: PostgreSQLPlace, from source: any StoredJournal, as identity: DraftIdentity, behind turn: Int?
    ) throws(JournalError) {
        self.target = target
        var place = target
        // A name that no place can have: nothing but drafts is removed there.
        place.schema += "-draft"
        self.place = place
        self.identity =
            identity == .same ? source.identity : UniqueID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        anchor = try source.chain(behind: turn)
        end = anchor
        found = try Self.requireReplaceable(target)
        // What is salvaged was read before.
        if let found, let source = source as? PostgreSQLJournal, source.place == target,
            (source.epoch, source.witnessed) != (found.epoch, found.head)
        {
            throw JournalServer.hasChanged(target)
        }
        var server = JournalServer(place)
        let what = "A journal cannot be made beside \(target): that takes a role that may make schemas."
        let lock = "SELECT pg_advisory_lock(\(Self.lock))"
        do throws(PostgreSQLError) {
            try server.transaction { connection throws(PostgreSQLError) in
                // A session that is over may have the lock for a moment longer.
                try connection.run("SET LOCAL lock_timeout = '1s'")
                _ = try connection.run(lock, [.text(place.schema)])
            }
        } catch {
            throw error.state == "55P03"
                ? JournalError(.busy, "Another journal is being made for \(target).") : JournalError(error, what)
        }
        try server.transaction(what) { connection throws(PostgreSQLError) in
            try connection.run("DROP SCHEMA IF EXISTS \"\(place.schema)\" CASCADE")
            try connection.run(JournalSchema.creation(place))
        }
        self.server = server
    }

    /// What would keep a draft from its place is told before it is begun: who installs one may have closed its source by then.
    private static func requireReplaceable(_ target: PostgreSQLPlace) throws(JournalError) -> JournalOwnership? {
        var server = JournalServer(target)
        let what = "Whose schema \(target.schema) is cannot be read."
        let sql = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = $1"
        let found = try server.rows(what, sql, [.text(target.schema)]) { rows, row throws(PostgreSQLError) in
            try rows.boolean(row, 0)
        }
        guard let isOwn = found.first else { return nil }
        guard try JournalSchema.exists(at: target) else {
            throw JournalError(
                .missing, "There is a schema without a journal at \(target): `journal init` makes one, which can be replaced.")
        }
        guard isOwn else {
            throw JournalError(.denied, "The journal at \(target) cannot be replaced: that takes the role that made it.")
        }
        return try server.requireNoOwner()
    }

    var last: Int { end.last }

    func record(_ value: [UInt8], as name: String) throws(JournalError) {
        let sql = """
            INSERT INTO \(place.table("facts")) (partition, name, value) VALUES ($1, $2, $3)
            ON CONFLICT (partition, name) DO UPDATE SET value = excluded.value
            """
        try writing { connection throws(PostgreSQLError) in
            _ = try connection.run(sql, [.partition, .text(name), .bytes(value)])
        }
    }

    func append(_ batches: [Batch]) throws(JournalError) {
        var end = end
        var rows: [(batch: Batch, digest: [UInt8])] = []
        for batch in batches {
            end = try end.behind(batch)
            rows.append((batch, end.digest))
        }
        let sql = """
            INSERT INTO \(place.table("batches")) (partition, first, last, epoch, digest, data) VALUES ($1, $2, $3, 0, $4, $5)
            """
        try writing { connection throws(PostgreSQLError) in
            for (batch, digest) in rows {
                _ = try connection.run(
                    sql, [.partition, .integer(batch.first), .integer(batch.last), .bytes(digest), .bytes(batch.bytes)])
            }
        }
        self.end = end
    }

    func save(_ snapshot: Snapshot) throws(JournalError) {
        try snapshot.requireCovered(by: end.last)
        try writing { [place, identity] connection throws(PostgreSQLError) in
            try PostgreSQLJournal.write(snapshot, of: identity, to: place, &connection)
        }
    }

    func finish() throws(JournalError) {
        let sql = """
            UPDATE \(place.table("partitions"))
            SET identity = $2, head = $3, digest = $4, trimmed = $5, trimmed_digest = $6 WHERE id = $1
            """
        let parameters: [PostgreSQLValue] = [
            .partition, .uuid(identity.bytes), .integer(end.last), .bytes(end.digest), .integer(anchor.last), .bytes(anchor.digest),
        ]
        try writing { connection throws(PostgreSQLError) in _ = try connection.run(sql, parameters) }
    }

    func install() throws(JournalError) -> String? {
        var archive: PostgreSQLPlace?
        var roles: [String] = []
        if found != nil {
            var other = JournalServer(target)
            try other.requireNoOwner()
            archive = try other.archiveName()
            roles = try JournalSchema.roles(at: target)
        }
        try requireSession()
        // Before it can be seen: a store must not find a journal that it may not write.
        try JournalSchema.grant(to: roles, at: place)
        let renames =
            (archive.map { "ALTER SCHEMA \"\(target.schema)\" RENAME TO \"\($0.schema)\"; " } ?? "")
            + "ALTER SCHEMA \"\(place.schema)\" RENAME TO \"\(target.schema)\""
        try server.replace(found, at: target, unwritten) { connection throws(PostgreSQLError) in try connection.run(renames) }
        return archive.map { "\($0)" }
    }

    func discard() throws(JournalError) {
        try server.transaction(unwritten) { [place] connection throws(PostgreSQLError) in
            // What is there may be the next one by now.
            let isOwn = try connection.run("SELECT pg_try_advisory_lock(\(Self.lock))", [.text(place.schema)]).boolean(0, 0)
            guard isOwn else { return }
            try connection.run("DROP SCHEMA IF EXISTS \"\(place.schema)\" CASCADE")
        }
    }

    private func writing(_ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Void) throws(JournalError) {
        try requireSession()
        try server.transaction(unwritten, body)
    }

    /// The next session would not have the lock.
    private func requireSession() throws(JournalError) {
        guard server.isConnected else { throw JournalError(.unavailable, unwritten, underlying: "its session is over") }
    }

    private var unwritten: String { "The journal beside \(target) cannot be written." }
}
