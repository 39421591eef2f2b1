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

    private func start(
        _ arguments: [String], _ place: [String], of program: String = Executable.path("tickets")
    ) throws -> Child {
        try Child(program, arguments + place, in: scratch, variables: Self.order)
    }

    private func answer(
        _ arguments: [String], _ place: [String], of program: String = Executable.path("tickets")
    ) async throws -> String {
        let child = try start(arguments, place, of: program)
        try await child.wait()
        #expect(child.end == .exited(0), "\(arguments): \(child.errors)")
        return child.output
    }

    // MARK: The explorer of the page

    private static let fickle = Executable.path("FickleProgram")
    private static let order = ["FICKLE_ORDER": "forward"]
    private static let questions = [
        #"{"path":"/api/v1/turns","query":{"before":"7","count":"9"}}"#,
        #"{"path":"/api/v1/turns","query":{"text":"greet","before":"9"}}"#, #"{"path":"/api/v1/turns/3"}"#,
        #"{"path":"/api/v1/turns/4/diff"}"#, #"{"path":"/api/v1/turns/6/diff","query":{"from":"1"}}"#,
        #"{"path":"/api/v1/turns/5/causes"}"#, #"{"path":"/api/v1/state","query":{"turn":"6"}}"#,
        #"{"path":"/api/v1/state","query":{"turn":"2","path":"state.names"}}"#,
    ]

    /// What it says of some turns, but for how many there are by now.
    private func explored(_ place: [String]) async throws -> [String] {
        let folder = scratch.folder("explorer-\(UUID().uuidString)")
        let explorer = try Conversation(Self.fickle, ["explore", "--folder", folder] + place, in: scratch, variables: Self.order)
        var answers: [String] = []
        for question in Self.questions {
            answers.append(try await explorer.ask(question).replacing(/,"(durable|last)":[0-9]+/, with: ""))
        }
        #expect(try await explorer.end() == .exited(0))
        return answers
    }

    @Test func `What the page shows of the past is the same of the database, beside its store and afterwards, and of a folder`()
        async throws
    {
        _ = try await answer(["journal", "init"], inDatabase, of: Self.fickle)
        let store = try start(["store"], inDatabase, of: Self.fickle)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        for input in [#"{"add":{"names":["Ada","Alan"]}}"#, "visit", "greet", "look"] {
            _ = try await answer(["send", input], inDatabase, of: Self.fickle)
        }
        let beside = try await explored(inDatabase)
        #expect(beside.allSatisfy { !$0.contains("problem") }, "\(beside)")
        #expect(beside[3].contains("changes") && beside[6].contains("visited"), "\(beside)")
        store.send(SIGINT)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
        #expect(try await explored(inDatabase) == beside)
        _ = try await answer(["journal", "export", scratch.folder("copy")], inDatabase, of: Self.fickle)
        #expect(try await explored(["--data", scratch.folder("copy")]) == beside)
    }

    // MARK: Commands

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
        // As a peer of a store and its standby has it. Neither is asked for what is in the database.
        let stores = ["--endpoint", "tcp://127.0.0.1:7410,tcp://127.0.0.1:7420"]
        #expect(try await answer(commands[0], inDatabase + stores) == running[0])
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
