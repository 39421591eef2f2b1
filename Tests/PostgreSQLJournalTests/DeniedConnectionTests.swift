import Foundation
import Journal
import PostgreSQL
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// A server that is there and lets nobody in: a person has to act, and no waiting helps.
struct DeniedConnectionTests {
    private static let way = #"connection to server at "db" (10.0.0.7), port 5432 failed: "#

    private static let words: [(String, PostgreSQLError.Kind)] = [
        (#"FATAL:  28P01: password authentication failed for user "ada""#, .denied),
        ("FATAL:  28000: no pg_hba.conf entry for host", .denied), (#"FATAL:  3D000: database "orders" does not exist"#, .denied),
        (#"FATAL:  42501: permission denied for database "orders""#, .denied),
        ("FATAL:  57P03: the database system is starting up", .lost), ("FATAL:  53300: sorry, too many clients already", .lost),
        ("Connection refused", .lost),
    ]

    @Test(arguments: words)
    func `What the server has said tells whether to wait for it`(_ words: String, _ kind: PostgreSQLError.Kind) {
        let error = PostgreSQLError(
            connecting: "\(Self.way)\(words)\nLOCATION:  auth_failed, auth.c:326\n", needsPassword: false)
        #expect(error == PostgreSQLError(kind, Self.way + words))
    }

    @Test func `The last attempt counts`() {
        let denied = Self.way + "FATAL:  28000: no encryption"
        let starting = Self.way + "FATAL:  57P03: the database system is starting up"
        #expect(PostgreSQLError(connecting: "\(starting)\n\(denied)\n", needsPassword: false).kind == .denied)
        #expect(PostgreSQLError(connecting: "\(denied)\n\(starting)\n", needsPassword: false).kind == .lost)
    }

    @Test func `A password that is asked for and not there is no server that is away`() {
        let error = PostgreSQLError(connecting: "fe_sendauth: no password supplied\n", needsPassword: true)
        #expect(error == PostgreSQLError(.denied, "fe_sendauth: no password supplied"))
    }
}

/// The same with real processes on a real server.
@Suite(.enabled("there is no PostgreSQL: a server that lets nobody in is not tested") { TestServer.programs != nil })
struct DeniedStoreTests {
    @Test(arguments: [("stranger", "postgres", "stranger"), ("samovar", "nowhere", "nowhere")])
    func `A store that is not let in at its start ends as wrongly configured`(
        _ role: String, _ database: String, _ name: String
    ) async throws {
        let server = try await TestServer.common()
        let scratch = try Scratch()
        let journal = "postgresql://\(role)@/\(database)?host=\(server.folder)"
        let store = try Child(
            Executable.path("tickets"), ["store", "--data", scratch.folder("data"), "--journal", journal], in: scratch)
        #expect(try await store.wait() == .exited(78), "\(store.errors)")
        #expect(store.errors.contains("\"\(name)\" does not exist"), "\(store.errors)")
        #expect(store.errors.contains("look at the role"), "\(store.errors)")
    }

    @Test(arguments: [false, true])
    func `A store whose role may not use the journal at its start, or only read it, ends as wrongly configured`(
        mayRead: Bool
    ) async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        let (schema, role) = (place.schema, "stranger_\(place.schema)")
        #expect(try PostgreSQLJournal.create(at: place))
        try server.run("CREATE ROLE \(role) LOGIN")
        if mayRead {
            try server.run(
                "GRANT USAGE ON SCHEMA \(schema) TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(role)")
        }
        let scratch = try Scratch()
        let journal = "postgresql://\(role)@/postgres?host=\(server.folder)&schema=\(schema)"
        let store = try Child(
            Executable.path("tickets"), ["store", "--data", scratch.folder("data"), "--journal", journal], in: scratch)
        #expect(try await store.wait() == .exited(78), "\(store.errors)")
        let denied = mayRead ? "table stores" : "schema \(schema)"
        #expect(store.errors.contains("permission denied for \(denied)"), "\(store.errors)")
        #expect(store.errors.contains("look at what the role of the address may do"), "\(store.errors)")
    }

    /// A store that serves, with a role of its own.
    private struct Keeper {
        let server: TestServer
        let schema: String
        let role: String
        let scratch: Scratch
        let store: Child

        init() async throws {
            server = try await TestServer.common()
            let place = try server.place()
            (schema, role) = (place.schema, "keeper_\(place.schema)")
            #expect(try PostgreSQLJournal.create(at: place))
            try server.run(
                """
                CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role);
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role)
                """)
            scratch = try Scratch()
            let journal = "postgresql://\(role)@/postgres?host=\(server.folder)&schema=\(schema)"
            let store = try Child(
                Executable.path("tickets"), ["store", "--data", scratch.folder("data"), "--journal", journal], in: scratch)
            self.store = store
            try await eventually("the store serves: \(store.errors)") { store.errors.contains("] serving") }
        }

        /// Begins to send an input.
        func send() throws -> Child {
            try Child(
                Executable.path("tickets"),
                ["send", #"{"buy":{"by":"Ada"}}"#, "--data", scratch.folder("data"), "--timeout", "60s"], in: scratch)
        }

        /// Waits until the store, which goes on, has said all of this.
        func hasSaid(_ texts: String...) async throws {
            try await eventually("the reason is told: \(store.errors)") {
                if let end = store.end { throw TimedOut("\(end): \(store.errors)") }
                let errors = store.errors
                return texts.allSatisfy { errors.contains($0) }
            }
        }

        func stop() async throws {
            store.send(SIGTERM)
            #expect(try await store.wait() == .exited(0), "\(store.errors)")
        }
    }

    @Test func `A store that serves and is not let in any more says why, waits and goes on`() async throws {
        let keeper = try await Keeper()
        let (server, role) = (keeper.server, keeper.role)
        try server.run("ALTER ROLE \(role) NOLOGIN")
        try server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(role)'")
        try await keeper.hasSaid("is not permitted to log in")
        try server.run("ALTER ROLE \(role) LOGIN")
        let sent = try keeper.send()
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await keeper.stop()
    }

    @Test func `A store that serves and whose role lost a right to the journal says why, waits and goes on`() async throws {
        let keeper = try await Keeper()
        let (server, role, schema) = (keeper.server, keeper.role, keeper.schema)
        try server.run("REVOKE INSERT ON \(schema).batches FROM \(role)")
        let sent = try keeper.send()
        try await keeper.hasSaid("cannot be written. (permission denied for table batches", "look at what the role")
        // Last, for a store whose lease is in doubt takes no input that it could not write.
        try server.run("REVOKE INSERT ON \(schema).stores FROM \(role)")
        try await keeper.hasSaid("cannot be renewed. (permission denied for table stores")
        #expect(sent.end == nil, "\(sent.output)\(sent.errors)")
        try server.run("GRANT INSERT ON ALL TABLES IN SCHEMA \(schema) TO \(role)")
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await keeper.stop()
    }
}
