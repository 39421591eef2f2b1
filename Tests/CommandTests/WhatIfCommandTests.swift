import Foundation
import ProcessSupport
import Testing

/// `whatif` on real journals.
@Suite(.serialized) struct WhatIfCommandTests {
    @Test func `What would have been is told in sections, and nothing is written`() async throws {
        let store = try await CounterStore(workers: 1)
        let first = try await store.increment(1)
        let sent = try await store.run("send", "incrementAsync", "--wait", "settled")
        let asked = try #require(try sent.json["turn"] as? Int)
        let last = try await store.increment(2)
        try await store.stop()
        let before = try Self.content(of: store.data)

        let nothing = try await store.run("whatif")
        #expect(nothing.end == .exited(0), "\(nothing.errors)")
        #expect(nothing.output.hasSuffix(" as it was\n") && !nothing.output.contains("fell away"), "\(nothing.output)")

        let fewer = try await store.run("whatif", "--remove", "\(first)", "--view")
        #expect(fewer.output.contains("fell away:\n  turn \(first) (incremented): removed\n"), "\(fewer.output)\(fewer.errors)")
        #expect(fewer.output.contains("\n  view.sync: \"3\" → \"2\"\n"), "\(fewer.output)")

        let unasked = try await store.run("whatif", "--remove", "\(asked)")
        #expect(unasked.output.contains("(finished): effect \(asked)/0 is not ordered\n"), "\(unasked.output)")
        #expect(unasked.output.contains("not ordered any more:\n  effect \(asked)/0: addOne "), "\(unasked.output)")

        let inserted = ["\(first)=incrementAsync", "\(first)=increment"].flatMap { ["--after", $0] }
        let more = try store.start(["whatif", "--format", "json"] + inserted)
        try await more.wait()
        let value = try more.json
        let gained = try #require((value["gained"] as? [String: Any])?["listed"] as? [[String: Any]])
        // The store has written its end behind the last input.
        let numbers = gained.compactMap { $0["turn"] as? Int }
        #expect(numbers.count == 2 && numbers[0] > last && numbers[1] == numbers[0] + 1, "\(more.output)")
        #expect(more.output.contains(#"{"path":"state.sync","before":"#), "\(more.output)")

        #expect(try Self.content(of: store.data) == before)
    }

    @Test func `A running store is asked`() async throws {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(2)
        let fewer = try await store.run("whatif", "--remove", "\(turn)")
        #expect(fewer.output.contains("\n  state.sync: 2 → 1\n"), "\(fewer.output)\(fewer.errors)")
        // What would come next, before it is sent.
        let next = try await store.run("whatif", "--after", "\(turn)=decrement", "--to", "\(turn)")
        #expect(next.output.contains("new turns:\n  turn \(turn + 1), inserted after \(turn): decrement\n"), "\(next.output)")
        #expect(next.output.contains("\n  state.sync: 2 → 1\n"), "\(next.output)")
    }

    @Test func `What cannot be supposed is said, with an exit code`() async throws {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(1)
        try await store.stop()
        let cases: [([String], Int32, String)] = [
            (["--remove", "1"], 64, "--remove 1: turn 1 is the start, and stays"),
            (["--replace", "1=increment"], 64, "--replace 1: turn 1 is the start, and stays"),
            (["--replace", "increment"], 64, "--replace “increment” is not TURN=JSON, such as 12=increment"),
            (["--after", "\(turn)={"], 64, "--after \(turn): what comes after = is no JSON: "),
            (["--after", "0=increment"], 64, "--after 0: turns are numbered from 1"),
            (["--after", "\(turn)=incremint"], 64, "what shall come there is no input of this program: "),
            (["--replace", "\(turn)=increment", "--replace", "\(turn)=decrement"], 64, "--replace \(turn) is given twice"),
            (["--replace", "\(turn)=increment", "--remove", "\(turn)"], 64, "\(turn): it cannot be both removed and replaced"),
            (["--remove", "\(turn)", "--to", "\(turn - 1)"], 78, "comes after turn \(turn - 1), up to which is looked"),
            (["--remove", "9999"], 78, "turn 9999 comes after turn "),
            (["--to", "0"], 64, "--to 0 is no turn: they are numbered from 1"),
        ]
        for (arguments, code, words) in cases {
            let child = try store.start(["whatif"] + arguments)
            #expect(try await child.wait() == .exited(code), "\(arguments): \(child.errors)")
            #expect(child.errors.contains(words), "\(arguments): \(child.errors)")
        }
    }

    /// Every file of a folder, by its name.
    private static func content(of folder: String) throws -> [String: Data] {
        var content: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            content[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
        }
        return content
    }
}
