import Foundation
import ProcessSupport
import Testing

/// Gates and observers of a program, with real processes.
@Suite struct BoundaryCommandTests {
    private static let turnstile = Executable.path("TurnstileProgram")

    private let scratch: Scratch
    private let data: String
    private let audit: String
    private let up: Child

    init() async throws {
        let scratch = try Scratch()
        self.scratch = scratch
        data = scratch.folder("data")
        audit = try scratch.write("", to: "audit")
        let up = try Child(
            Self.turnstile, ["up", "--workers", "1", "--data", data], in: scratch, variables: ["TURNSTILE_AUDIT": audit])
        self.up = up
        try await eventually("the store serves") { up.errors.contains("serving") }
    }

    private func send(_ name: String) async throws -> Child {
        let child = try Child(
            Self.turnstile, ["send", #"{"pass":{"name":"\#(name)"}}"#, "--wait", "settled", "--timeout", "40s", "--data", data],
            in: scratch)
        try await child.wait()
        return child
    }

    /// What observers were told, without the numbers of turns.
    private var told: [String] {
        get throws {
            try String(contentsOfFile: audit, encoding: .utf8).split(separator: "\n")
                .map { String($0.drop { $0 != " " }.dropFirst()) }
        }
    }

    @Test func `C18: Across processes an observer is told once of each turn, answers of workers included, with the state after it`()
        async throws
    {
        for name in ["ann", "bob"] { #expect(try await send(name).end == .exited(0)) }
        let expected = Self.turns(of: "ann", 1) + Self.turns(of: "bob", 2)
        try await eventually("the audit has each turn") { try told == expected }

        // A start replays all of it, and tells nobody.
        let store = try #require(ProcessTable.all(naming: data).first { $0.command == "store" })
        store.send(SIGKILL)
        #expect(try await send("eve").end == .exited(0))
        try await eventually("the audit goes on") { try told == expected + Self.turns(of: "eve", 3) }
    }

    /// One worker with one slot runs what a message ordered, and then what its follow-up did.
    @Test func `C12: A worker gets the effects of an event before those of its follow-up`() async throws {
        #expect(try await send("ann").end == .exited(0))
        try await eventually("the audit has each turn") { try told == Self.turns(of: "ann", 1) }
    }

    @Test func `C20: The effect of a child is answered by a worker, and changes only the child's part`() async throws {
        #expect(try await send("ann").end == .exited(0))
        let view = try Child(Self.turnstile, ["view", "--data", data], in: scratch)
        try await view.wait()
        #expect(view.output.contains(#""passed":1,"greeted":1"#), "\(view.output)")
        let state = try Child(Self.turnstile, ["inspect", "--data", data], in: scratch)
        try await state.wait()
        #expect(state.output.contains(#"{"passed":["ann"],"doorman":{"greeted":["ann"]}}"#), "\(state.output)")
    }

    private static func turns(of name: String, _ count: Int) -> [String] {
        [
            #"passed(name: "\#(name)") \#(count)"#, #"doorman(TurnstileProgram.Doorman.Message.greet(name: "\#(name)")) \#(count)"#,
            #"noted(name: "\#(name)") \#(count)"#,
            #"doorman(TurnstileProgram.Doorman.Message.greeted(name: "\#(name)")) \#(count)"#,
        ]
    }

    @Test func `An input that a gate rejects is answered with its reason, and a restart replays the rejection without the gate`()
        async throws
    {
        #expect(try await send("ann").end == .exited(0))
        let again = try await send("ann")
        #expect(again.end == .exited(65))
        #expect(again.errors == "error: doorman: ann has passed already\n")
        let store = try #require(ProcessTable.all(naming: data).first { $0.command == "store" })
        store.send(SIGKILL)
        #expect(try await send("bob").end == .exited(0))
        let view = try Child(Self.turnstile, ["view", "--data", data], in: scratch)
        try await view.wait()
        #expect(view.output.contains(#""passed":2,"#), "\(view.output)")
    }
}
