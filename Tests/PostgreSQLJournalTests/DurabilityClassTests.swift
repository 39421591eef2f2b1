import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// What a store says of a commit's worth, on servers that are set in six ways.
@Suite(.enabled("there is no PostgreSQL: what its settings are worth is not tested") { TestServer.programs != nil })
struct DurabilityClassTests {
    private static let classes: [(settings: [String: String], durability: String)] = [
        (["fsync": "off"], "process: the server of PostgreSQL does not sync"),
        (["synchronous_commit": "off"], "process: the server of PostgreSQL confirms before it syncs"),
        (["synchronous_commit": "local", "synchronous_standby_names": "replica"], "disk: "),
        (["synchronous_commit": "on", "synchronous_standby_names": "replica"], "replicated: synced by replicas"),
        (
            ["synchronous_commit": "remote_apply", "synchronous_standby_names": "replica"],
            "replicated: synced and shown by replicas"
        ),
        // Its replica may lack what was confirmed.
        ([:], "disk: "),
    ]

    @Test func `A store says what its server makes durable, for six kinds of servers`() async throws {
        let server = try await TestServer()
        let replica = try await TestServer(replicaOf: server)
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let scratch = try Scratch()
        let data = ["--data", scratch.folder("data")]
        for (settings, durability) in Self.classes {
            for (name, value) in settings { try server.run("ALTER SYSTEM SET \(name) = '\(value)'") }
            try server.run("SELECT pg_reload_conf()")
            let journal = "\(place.address)&schema=\(place.schema)"
            let store = try Child(Executable.path("tickets"), ["store", "--journal", journal] + data, in: scratch)
            try await eventually("the store serves: \(store.errors)") { store.errors.contains(" serving") }
            let status = try Child(Executable.path("tickets"), ["status"] + data, in: scratch)
            #expect(try await status.wait() == .exited(0), "\(status.errors)")
            let lines = status.output.split(separator: "\n").map { $0.drop { $0 == " " } }
            let line = lines.first { $0.hasPrefix("durability") } ?? ""
            #expect(line.drop { $0 != " " }.drop { $0 == " " }.hasPrefix(durability), "\(settings): \(status.output)")
            store.send(SIGTERM)
            #expect(try await store.wait() == .exited(0), "\(store.errors)")
            for name in settings.keys { try server.run("ALTER SYSTEM RESET \(name)") }
        }
        withExtendedLifetime(replica) {}
    }

    @Test func `A store notices that its server makes something else durable`() async throws {
        let server = try await TestServer()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let scratch = try Scratch()
        let data = ["--data", scratch.folder("data")]
        let journal = "\(place.address)&schema=\(place.schema)"
        let store = try Child(Executable.path("tickets"), ["store", "--journal", journal] + data, in: scratch)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains(" serving") }
        try server.set("synchronous_commit = off")
        try await eventually("status says so: \(store.errors)") {
            let status = try Child(Executable.path("tickets"), ["status"] + data, in: scratch)
            try await status.wait()
            return status.output.contains("process: the server of PostgreSQL confirms before it syncs")
        }
        #expect(store.errors.contains("what is on disk has another durability now: process:"), "\(store.errors)")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }
}
