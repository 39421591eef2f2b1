import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// A program that looks at more than its arguments, with a standby: real processes on a real server.
@Suite(.enabled("there is no PostgreSQL: journals in it are not tested") { TestServer.programs != nil })
struct FickleStandbyTests {
    private static let fickle = Executable.path("FickleProgram")
    private static let names = #"{"add":{"names":["Ada","Alan","Barbara","Donald","Edsger","Frances","Grace","John"]}}"#

    @Test func `A state that depends on the order of a set ends the standby while the store serves, and verify finds it`()
        async throws
    {
        let server = try await TestServer.common()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let journal = ["--journal", "\(place.address)&schema=\(place.schema)"]
        let scratch = try Scratch()
        func start(_ words: [String], _ folder: String, input: String = "", _ order: String? = nil) throws -> Child {
            try Child(
                Self.fickle, words + ["--data", scratch.folder(folder)], in: scratch, input: input,
                variables: order.map { ["FICKLE_ORDER": $0] } ?? [:])
        }
        let store = try start(["store"] + journal, "one", "forward")
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        let standby = try start(["store", "--standby"] + journal, "two", "backward")
        try await eventually("the standby follows: \(standby.errors)") { standby.errors.contains("this one follows it") }
        let sent = try start(["send", "-"], "one", input: Self.names + "\nlook\n")
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")

        #expect(try await standby.wait() == .exited(65), "\(standby.errors)")
        let alarm = try #require(
            standby.errors.firstMatch(of: /turn (\d+): the state before it is not the one that the store had/), "\(standby.errors)")
        // Within one comparison: the next digest after the turn that did it.
        let turn = try #require(Int(alarm.1))
        #expect(turn > 3 && turn < 20)
        #expect(store.end == nil)
        let status = try start(["status", "--json"], "one")
        try await status.wait()
        #expect(status.output.contains(/"stateDigestTurn": ?\d+/), "\(status.output)")

        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
        let verify = try start(["verify"] + journal, "three", "backward")
        #expect(try await verify.wait() == .exited(65), "\(verify.errors)")
        #expect(verify.errors.contains("turn \(turn): `update` makes another state than the store had"), "\(verify.errors)")
        // The build that made it finds every state as it was.
        let honest = try start(["verify"] + journal, "three", "forward")
        #expect(try await honest.wait() == .exited(0), "\(honest.errors)")
        #expect(honest.output.contains("as the store had them"), "\(honest.output)")
    }
}
