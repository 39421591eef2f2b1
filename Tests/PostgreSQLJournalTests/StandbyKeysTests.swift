import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// Who gets in at a store that has followed another one: real processes on a real server.
@Suite(.enabled("there is no PostgreSQL: journals in it are not tested") { TestServer.programs != nil })
struct StandbyKeysTests {
    @Test func `A store that takes over lets in whoever has a key then, and not whoever had one at its start`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let scratch = try Scratch()
        func start(_ words: [String]) throws -> Child { try Child(Executable.path("tickets"), words, in: scratch) }
        func keys(_ words: String...) async throws {
            let child = try start(["keys"] + words + ["--keys", scratch.folder("keys")])
            #expect(try await child.wait() == .exited(0), "\(child.errors)")
        }
        func issue(_ name: String) async throws {
            try await keys("new", name, "--role", "client", "--out", scratch.folder("\(name).key"))
        }
        func store(_ name: String, _ endpoint: String, _ words: String...) throws -> Child {
            try start(
                ["store", "--journal", "\(place.address)&schema=\(place.schema)", "--data", scratch.folder(name)]
                    + ["--endpoint", endpoint, "--keys", scratch.folder("keys")] + words)
        }
        func send(_ name: String, _ endpoint: String) async throws -> Child.End {
            let child = try start(
                ["send", #"{"buy":{"by":"Ada"}}"#, "--endpoint", endpoint, "--key", scratch.folder("\(name).key")])
            return try await child.wait()
        }
        let (first, second) = ("tcp://127.0.0.1:\(try Ports.free())", "tcp://127.0.0.1:\(try Ports.free())")
        try await issue("shop")
        let owner = try store("one", first)
        try await eventually("one serves: \(owner.errors)") { owner.errors.contains("] serving") }
        let standby = try store("two", second, "--standby")
        try await eventually("two follows: \(standby.errors)") { standby.errors.contains("this one follows it") }
        #expect(try await send("shop", first) == .exited(0))

        try await keys("revoke", "shop")
        try await issue("late")
        owner.send(SIGKILL)
        #expect(try await owner.wait() == .killed(SIGKILL))
        try await eventually("two serves: \(standby.errors)") { standby.errors.contains("] serving") }
        #expect(try await send("shop", second) == .exited(77))
        #expect(try await send("late", second) == .exited(0))
        standby.send(SIGTERM)
        #expect(try await standby.wait() == .exited(0), "\(standby.errors)")
    }
}
