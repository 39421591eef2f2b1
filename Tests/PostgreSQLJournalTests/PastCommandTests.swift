import Foundation
import PostgreSQLSupport
import ProcessSupport
import Testing

@testable import PostgreSQLJournal

/// Questions about the past of a journal in a database are answered as those about the same turns in a folder.
@Suite(.enabled("there is no PostgreSQL: the past of journals in it is not asked for") { TestServer.programs != nil })
struct PastCommandTests {
    private let server: TestServer
    private let scratch: Scratch
    private let journal: String

    init() async throws {
        server = try await TestServer.common()
        let place = try server.place()
        scratch = try Scratch()
        journal = "\(place.address)&schema=\(place.schema)"
    }

    private var inDatabase: [String] { ["--data", scratch.folder("data"), "--journal", journal] }

    private func start(_ arguments: [String], _ place: [String]) throws -> Child {
        try Child(Executable.path("tickets"), arguments + place, in: scratch)
    }

    private func answer(_ arguments: [String], _ place: [String]) async throws -> String {
        let child = try start(arguments, place)
        try await child.wait()
        #expect(child.end == .exited(0), "\(arguments): \(child.errors)")
        return child.output
    }

    @Test func `What is asked of the database, beside its store and afterwards, is answered as the folder answers it`() async throws
    {
        _ = try await answer(["journal", "init"], inDatabase)
        let up = try start(["up", "--workers", "1"], inDatabase)
        try await eventually("the store serves: \(up.errors)") { up.errors.contains("serving") }
        for name in ["Ada", "Alan", "Grace"] {
            _ = try await answer(["send", #"{"buy":{"by":"\#(name)"}}"#, "--wait", "settled"], inDatabase)
        }
        let rows = try await answer(["journal", "list"], inDatabase).split(separator: "\n")
        let turns = rows.filter { $0.contains("bought") }.compactMap { Int($0.prefix { $0 != " " }) }
        let last = try #require(rows.last.flatMap { Int($0.prefix { $0 != " " }) })
        #expect(turns.count == 3, "\(rows)")
        let commands = [
            ["diff", "1", "\(last)"], ["diff", "\(turns[0])", "\(turns[1])", "--format", "json"],
            ["why", "state.sold", "--turn", "\(last)"], ["why", "state.printed", "--all", "--turn", "\(last)"],
            ["bisect", "state.sold == 2", "--to", "\(last)"], ["replay", "--state", "--turn", "\(turns[2])"],
            ["whatif", "--remove", "\(turns[1])", "--to", "\(last)"], ["whatif", "--to", "\(last)", "--format", "json"],
        ]
        var running: [String] = []
        for command in commands { running.append(try await answer(command, inDatabase)) }
        #expect(running[0].contains("state.sold: 0 → 3"), "\(running[0])")
        let beside = try await answer(["fork", "--turn", "\(turns[1])", scratch.folder("beside")], inDatabase)
        #expect(beside.hasPrefix("Forked turn \(turns[1])"), "\(beside)")
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")

        let folder = ["--data", scratch.folder("copy")]
        _ = try await answer(["journal", "export", scratch.folder("copy")], inDatabase)
        for (command, before) in zip(commands, running) {
            #expect(try await answer(command, inDatabase) == before, "\(command)")
            #expect(try await answer(command, folder) == before, "\(command)")
        }
        let forked = try await answer(["fork", "--turn", "\(turns[1])", scratch.folder("forked")], folder)
        #expect(forked.hasPrefix("Forked turn \(turns[1])"), "\(forked)")
        let state = try await answer(["replay", "--state", "--turn", "\(turns[1])"], folder)
        for name in ["beside", "forked"] {
            let there = ["--data", scratch.folder(name)]
            #expect(try await answer(["replay", "--state"], there) == state, "\(name)")
            #expect(
                try await answer(["journal", "verify"], there).contains("goes on from turn \(turns[1]) of timeline "), "\(name)")
        }
    }
}
