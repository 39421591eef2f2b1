import Foundation
import PostgreSQL
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// How the journal goes from one store to the next, and what their logs tell of it to people: real processes on a real server.
@Suite(.enabled("there is no PostgreSQL: journals in it are not tested") { TestServer.programs != nil })
struct StandbyLogTests {
    @Test func `A store that hands its journal over to nobody asks to be started again, and takes it back`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let scratch = try Scratch()
        func start() throws -> Child {
            try Child(
                Executable.path("tickets"),
                ["store", "--journal", "\(place.address)&schema=\(place.schema)", "--data", scratch.folder("one")], in: scratch)
        }
        let store = try start()
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("] serving") }
        try server.run("UPDATE \(place.schema).partitions SET wanted = 'gone'")
        #expect(try await store.wait() == .exited(69), "\(store.errors)")
        #expect(store.errors.contains("the journal was handed over: started again, this one follows it"), "\(store.errors)")
        let next = try start()
        try await eventually("the next one serves: \(next.errors)", within: .seconds(10)) { next.errors.contains("] serving") }
        next.send(SIGTERM)
        #expect(try await next.wait() == .exited(0), "\(next.errors)")
    }

    @Test func `A store that has taken the journal and cannot listen gives it up before it ends`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let scratch = try Scratch()
        let port = ["--endpoint", "tcp://127.0.0.1:\(try Ports.free())", "--insecure-tcp"]
        func start(_ folder: String, _ words: [String] = []) throws -> Child {
            try Child(Executable.path("tickets"), ["store", "--data", scratch.folder(folder)] + port + words, in: scratch)
        }
        let owner = try start("one")
        try await eventually("one has the port: \(owner.errors)") { owner.errors.contains("] serving") }
        let store = try start("two", ["--journal", "\(place.address)&schema=\(place.schema)"])
        #expect(try await store.wait() == .exited(75), "\(store.errors)")
        #expect(store.errors.contains("cannot listen at tcp://127.0.0.1:"), "\(store.errors)")
        var connection = try server.connect()
        let rows = try connection.run("SELECT epoch, released FROM \(place.schema).partitions", [])
        let (epoch, isReleased) = (try rows.integer(0, 0), try rows.boolean(0, 1))
        #expect(epoch > 0 && isReleased)
        owner.send(SIGTERM)
        #expect(try await owner.wait() == .exited(0), "\(owner.errors)")
    }

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
