import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// A server that is away when a process wants the journal: real processes on a real server.
@Suite(.enabled("there is no PostgreSQL: a start without it is not tested") { TestServer.programs != nil })
struct AbsentServerTests {
    /// A journal whose server has crashed.
    private struct Ruin {
        let server: TestServer
        let journal: String
        let scratch: Scratch

        init() async throws {
            server = try await TestServer()
            let place = try server.place()
            #expect(try PostgreSQLJournal.create(at: place))
            journal = "\(place.address)&schema=\(place.schema)"
            scratch = try Scratch()
            try await server.crash()
        }

        func start(_ words: String...) throws -> Child {
            try Child(
                Executable.path("tickets"), words + ["--data", scratch.folder("data"), "--journal", journal], in: scratch)
        }
    }

    @Test func `A store that starts while the database is away says so, waits for it and serves`() async throws {
        let ruin = try await Ruin()
        let store = try ruin.start("store")
        try await eventually("the store waits: \(store.errors)") { store.errors.contains("the journal is waited for") }
        try await ruin.server.start()
        try await eventually("the store serves: \(store.errors)") {
            if let end = store.end { throw TimedOut("\(end): \(store.errors)") }
            return store.errors.contains("] serving")
        }
        #expect(store.errors.split(separator: "\n").filter { $0.contains("the journal is waited for") }.count == 1)
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }

    @Test func `A store that waits for the database ends when it is told to`() async throws {
        let ruin = try await Ruin()
        let store = try ruin.start("store")
        try await eventually("the store waits: \(store.errors)") { store.errors.contains("the journal is waited for") }
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }

    @Test func `A command that only reads does not wait`() async throws {
        let ruin = try await Ruin()
        let replay = try ruin.start("replay")
        #expect(try await replay.wait() == .exited(74), "\(replay.errors)")
    }
}
