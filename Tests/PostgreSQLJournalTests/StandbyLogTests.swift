import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// What the log of a standby tells to people: real processes on a real server.
@Suite(.enabled("there is no PostgreSQL: journals in it are not tested") { TestServer.programs != nil })
struct StandbyLogTests {
    @Test func `A standby that takes over tells how far it was behind`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let journal = ["--journal", "\(place.address)&schema=\(place.schema)"]
        let scratch = try Scratch()
        func start(_ words: [String], _ folder: String) throws -> Child {
            try Child(Executable.path("tickets"), words + ["--data", scratch.folder(folder)], in: scratch)
        }
        let store = try start(["store"] + journal, "one")
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        let standby = try start(["store", "--standby"] + journal, "two")
        try await eventually("the standby follows: \(standby.errors)") { standby.errors.contains("this one follows it") }
        let sent = try start(["send", #"{"buy":{"by":"Ada"}}"#], "one")
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
        try await eventually("the standby serves: \(standby.errors)") { standby.errors.contains("] serving") }
        let told = try #require(
            standby.errors.firstMatch(of: /batches=\d+ lag-max=(\d+)ms .*turn=(\d+) .*followed/), "\(standby.errors)")
        #expect(try #require(Int(told.1)) >= 1)
        #expect(try #require(Int(told.2)) >= 2)
        standby.send(SIGTERM)
        #expect(try await standby.wait() == .exited(0), "\(standby.errors)")
    }
}
