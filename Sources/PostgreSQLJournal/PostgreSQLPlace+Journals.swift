package import Journal
public import JournalChain
import PostgreSQL
import SamovarCore

extension JournalKind {
    /// Journals in PostgreSQL, from version 13 on: `postgresql://user@host/database`, with `schema=NAME` for one that is not `samovar`.
    ///
    /// Passwords come from `~/.pgpass` or the file that `PGPASSFILE` names; beyond this machine, the server proves who it is
    /// (`sslmode=verify-full`).
    public static let postgreSQL = JournalKind(schemes: ["postgresql", "postgres"]) { text throws(JournalError) in
        do throws(PostgreSQLAddressError) {
            return try PostgreSQLPlace(text)
        } catch {
            throw JournalError(.misuse, "\(error)")
        }
    }
}

extension PostgreSQLPlace: FencedJournalPlace {
    package func create(for role: String?) throws(JournalError) -> Bool {
        let isNew = try PostgreSQLJournal.create(at: self)
        if let role { try JournalSchema.grant(to: [role], at: self) }
        return isNew
    }

    package func open(_ access: JournalAccess) throws(JournalError) -> any SharedJournal {
        try PostgreSQLJournal(at: self, access: access)
    }

    package func requireIdle() throws(JournalError) {
        var server = JournalServer(self)
        try server.requireNoOwner()
    }

    package func draft(
        from source: any StoredJournal, as identity: DraftIdentity, behind turn: Int?
    ) throws(JournalError) -> any JournalDraft {
        try PostgreSQLDraft(of: self, from: source, as: identity, behind: turn)
    }

    package func archive() throws(JournalError) -> String {
        var server = JournalServer(self)
        let found = try server.requireNoOwner()
        let archive = try server.archiveName()
        let roles = try JournalSchema.roles(at: self)
        let what = "The journal at \(self) cannot be archived: that takes the role that made it."
        try server.replace(found, at: self, what) { connection throws(PostgreSQLError) in
            try connection.run("ALTER SCHEMA \"\(schema)\" RENAME TO \"\(archive.schema)\"")
            try connection.run(JournalSchema.creation(self))
            // With the tables or not at all: a store must not find a journal that it may not write.
            for role in roles { try JournalSchema.grant(to: role, at: self, over: &connection) }
        }
        return "\(archive)"
    }
}

extension JournalServer {
    /// Where the journal of this place goes when another takes it.
    mutating func archiveName() throws(JournalError) -> PostgreSQLPlace {
        let sql = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD\"_\"HH24MISSMS')"
        var archive = place
        let time = try ask("The journal at \(place) cannot be archived.") { connection throws(PostgreSQLError) in
            try connection.run(sql, []).text(0, 0)
        }
        archive.schema += "_" + time
        return archive
    }

    /// Only a journal that no store has is replaced.
    ///
    /// - Returns: how it was found.
    @discardableResult
    mutating func requireNoOwner() throws(JournalError) -> JournalOwnership {
        let found = try PostgreSQLLease(place, id: [UInt8](repeating: 0, count: 16), address: "").look()
        guard found.isReleased || found.isLockFree || found.isExpired else {
            throw JournalError(.busy, "A store\(found.owner.isEmpty ? "" : " (\(found.owner))") has the journal at \(place).")
        }
        return found
    }

    /// Replaces a journal, and takes it in the same transaction: an append that waits for its row fails then, and does not end in the archive.
    ///
    /// - Parameter found: the journal as it was looked at; nil if there was none.
    /// - Throws: ``JournalError/Code/busy`` if it is another one by now.
    mutating func replace(
        _ found: JournalOwnership?, at target: PostgreSQLPlace, _ what: String,
        _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Void
    ) throws(JournalError) {
        let sql = """
            UPDATE \(target.table("partitions")) SET epoch = epoch + 1, nonce = gen_random_uuid(), released = true
            WHERE id = $1 AND epoch = $2 AND head = $3 AND digest = $4
            """
        // As a server calls what somebody else uses.
        let isUsed = PostgreSQLError(.refused(state: "55006"), "the journal has changed")
        do throws(PostgreSQLError) {
            try transaction { connection throws(PostgreSQLError) in
                if let found {
                    let row: [PostgreSQLValue] = [.partition, .integer(found.epoch), .integer(found.head), .bytes(found.digest)]
                    guard try connection.run(sql, row).changed == 1 else { throw isUsed }
                }
                try body(&connection)
                guard let found else { return }
                // Who had the former one, and missed this, is told that another has the journal, and of no lost end.
                _ = try connection.run(
                    "UPDATE \(target.table("partitions")) SET epoch = $2 WHERE id = $1", [.partition, .integer(found.epoch + 2)])
            }
        } catch {
            throw error == isUsed ? Self.hasChanged(target) : JournalError(error, what)
        }
    }

    /// The error of one who would replace what was written since it was looked at.
    static func hasChanged(_ place: PostgreSQLPlace) -> JournalError {
        JournalError(.busy, "A store has come back to the journal at \(place), which is not replaced.")
    }
}
