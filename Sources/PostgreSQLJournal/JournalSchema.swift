public import Journal
import JournalChain
import PostgreSQL

/// The tables of a journal and their version.
enum JournalSchema {
    static let version = 1
    /// The one partition that a store has.
    static let partition = 0
    /// Those that a store reads and writes: all that are made.
    private static let tables = ["format", "partitions", "batches", "facts", "snapshots", "snapshot_parts", "stores"]

    /// Makes the tables; all of them or nothing.
    ///
    /// Batches are stored as they are: to compress them takes longer than to write them, and the records are packed already. The row of a
    /// partition is updated by each append, so its page keeps room for that.
    static func creation(_ place: PostgreSQLPlace) -> String {
        let origin = "decode(repeat('00', \(Digest.origin.count)), 'hex')"
        return """
            CREATE SCHEMA IF NOT EXISTS "\(place.schema)";
            CREATE TABLE \(place.table("format")) (version bigint NOT NULL);
            CREATE TABLE \(place.table("partitions")) (
                id bigint PRIMARY KEY, identity uuid NOT NULL, epoch bigint NOT NULL, nonce uuid NOT NULL,
                head bigint NOT NULL, digest bytea NOT NULL, trimmed bigint NOT NULL, trimmed_digest bytea NOT NULL,
                released boolean NOT NULL DEFAULT true, wanted text
            ) WITH (fillfactor = 30);
            CREATE TABLE \(place.table("batches")) (
                partition bigint, first bigint, last bigint NOT NULL, epoch bigint NOT NULL, digest bytea NOT NULL, data bytea NOT NULL,
                PRIMARY KEY (partition, first)
            );
            ALTER TABLE \(place.table("batches")) ALTER data SET STORAGE EXTERNAL;
            CREATE TABLE \(place.table("facts")) (
                partition bigint, name text COLLATE "C", value bytea NOT NULL, PRIMARY KEY (partition, name)
            );
            CREATE TABLE \(place.table("snapshots")) (
                partition bigint, turn bigint, bytes bigint NOT NULL, digest bytea NOT NULL, PRIMARY KEY (partition, turn)
            );
            CREATE TABLE \(place.table("snapshot_parts")) (
                partition bigint, turn bigint, number bigint, data bytea NOT NULL, PRIMARY KEY (partition, turn, number),
                FOREIGN KEY (partition, turn) REFERENCES \(place.table("snapshots")) ON DELETE CASCADE
            );
            ALTER TABLE \(place.table("snapshot_parts")) ALTER data SET STORAGE EXTERNAL;
            INSERT INTO \(place.table("format")) VALUES (\(version));
            CREATE TABLE \(place.table("stores")) (
                id uuid PRIMARY KEY, address text NOT NULL, until timestamptz NOT NULL
            ) WITH (fillfactor = 50);
            INSERT INTO \(place.table("partitions")) (id, identity, epoch, nonce, head, digest, trimmed, trimmed_digest)
                VALUES (\(partition), gen_random_uuid(), 0, gen_random_uuid(), 0, \(origin), 0, \(origin));
            """
    }

    /// Lets roles do what a store has to, and no more.
    static func grant(to roles: [String], at place: PostgreSQLPlace) throws(JournalError) {
        var server = JournalServer(place)
        for role in roles {
            let what = "The journal at \(place) cannot be given to the role \(role)."
            try server.ask(what) { connection throws(PostgreSQLError) in try grant(to: role, at: place, over: &connection) }
        }
    }

    /// The same for one role, as a part of what is done over a connection.
    static func grant(
        to role: String, at place: PostgreSQLPlace, over connection: inout PostgreSQLConnection
    ) throws(PostgreSQLError) {
        let name = try connection.run("SELECT quote_ident($1)", [.text(role)]).text(0, 0)
        let tables = Self.tables.map(place.table).joined(separator: ", ")
        try connection.run(
            """
            GRANT USAGE ON SCHEMA "\(place.schema)" TO \(name);
            GRANT SELECT, INSERT, UPDATE, DELETE ON \(tables) TO \(name);
            """)
    }

    /// Whether the schema holds anything: a table, a function, a type, an extension.
    static func isUsed(
        _ place: PostgreSQLPlace, over connection: inout PostgreSQLConnection
    ) throws(PostgreSQLError) -> Bool {
        let sql = """
            SELECT EXISTS (
                SELECT FROM pg_depend JOIN pg_namespace AS n ON n.oid = refobjid
                WHERE refclassid = 'pg_namespace'::regclass AND deptype = 'n' AND nspname = $1)
            """
        return try connection.run(sql, [.text(place.schema)]).boolean(0, 0)
    }

    /// Whether there is a journal.
    static func exists(at place: PostgreSQLPlace) throws(JournalError) -> Bool {
        var server = JournalServer(place)
        do throws(JournalError) {
            try server.requireFormat()
            return true
        } catch {
            guard error.code == .missing else { throw error }
            return false
        }
    }

    /// Who may write a journal beside its owner.
    static func roles(at place: PostgreSQLPlace) throws(JournalError) -> [String] {
        var server = JournalServer(place)
        let sql = """
            SELECT DISTINCT grantee::text FROM information_schema.role_table_grants
            WHERE table_schema = $1 AND table_name = 'partitions' AND privilege_type = 'UPDATE' AND grantee <> current_user
            """
        let what = "Who may write the journal at \(place) cannot be read."
        return try server.rows(what, sql, [.text(place.schema)]) { rows, row throws(PostgreSQLError) in try rows.text(row, 0) }
    }
}

extension PostgreSQLValue {
    /// That of the store, which nearly every statement has for its first parameter.
    static let partition = PostgreSQLValue.integer(JournalSchema.partition)
}

extension PostgreSQLJournal {
    /// Makes the tables of a journal, by a role that may make a schema. The role of the store needs to read and write them and no more.
    ///
    /// A schema is a journal's alone, for it gets another name when the journal is replaced.
    ///
    /// - Returns: false if there is a journal already, which stays as it is.
    /// - Throws: ``JournalError``; of code ``JournalError/Code/misuse`` if the schema holds something else.
    public static func create(at place: PostgreSQLPlace) throws(JournalError) -> Bool {
        // Who may not make a schema can be told that it is there.
        if try JournalSchema.exists(at: place) { return false }
        var server = JournalServer(place)
        do throws(PostgreSQLError) {
            let isMade = try server.transaction { connection throws(PostgreSQLError) -> Bool in
                guard try !JournalSchema.isUsed(place, over: &connection) else { return false }
                try connection.run(JournalSchema.creation(place))
                return true
            }
            if isMade { return true }
        } catch {
            // A name is taken meanwhile.
            guard error.state == "42P07" || error.state == "23505" else {
                throw JournalError(error, "The journal at \(place) cannot be made.")
            }
        }
        // Of two who make it at once the other was faster.
        if try JournalSchema.exists(at: place) { return false }
        throw JournalError(
            .misuse,
            "The schema \(place.schema) holds something else, and a journal needs one of its own: name another with schema=NAME.")
    }
}
