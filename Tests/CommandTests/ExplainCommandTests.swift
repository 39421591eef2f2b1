import Foundation
import ProcessSupport
import Testing

/// `diff`, `why` and `bisect` on real journals.
@Suite(.serialized) struct ExplainCommandTests {
    /// A counter that went 1, 2, 3, 2 and 3 in two starts, with a snapshot of each, and the turns of its inputs.
    private static func counted() async throws -> (store: CounterStore, turns: [Int]) {
        let store = try await CounterStore(workers: 0)
        var turns: [Int] = []
        for _ in 0..<3 { turns.append(try await store.increment(1)) }
        try await store.stop()
        let again = try await CounterStore(workers: 0, in: store.scratch, data: store.data)
        let down = try await again.run("send", "decrement")
        turns.append(try #require(try down.json["turn"] as? Int))
        turns.append(try await again.increment(1))
        try await again.stop()
        return (again, turns)
    }

    @Test func `Turns are compared, explained and found, with the store stopped`() async throws {
        let (store, turns) = try await Self.counted()
        let diff = try await store.run("diff", "\(turns[0])", "\(turns[2])")
        #expect(diff.output == "state.sync: 1 → 3\n", "\(diff.output)\(diff.errors)")
        let view = try await store.run("diff", "\(turns[0])", "--view", "--format", "json")
        #expect(view.output.contains(#""changes":[{"path":"view.sync","before":"1","after":"3"}]"#), "\(view.output)")
        let equal = try await store.run("diff", "\(turns[2])", "\(turns[4])")
        #expect(equal.output.isEmpty && equal.errors == "the states of turns \(turns[2]) and \(turns[4]) are equal\n")

        // Both snapshots have a 3, and in between it was another.
        let why = try await store.run("why", "state.sync")
        #expect(why.output.hasPrefix("state.sync = 3, since \(turns[4]) (incremented) ← client "), "\(why.output)\(why.errors)")
        #expect(why.output.hasSuffix(" #1\n  before: 2\n"), "\(why.output)")
        let former = try await store.run("why", "state.sync", "--turn", "\(turns[3] - 1)")
        #expect(former.output.hasPrefix("state.sync = 3, since \(turns[2]) (incremented)"), "\(former.output)\(former.errors)")
        let start = try await store.run("why", "state.isBusy", "--format", "json")
        #expect(try start.json["turn"] as? Int == 1, "\(start.output)\(start.errors)")
        let all = try await store.run("why", "state.sync", "--all")
        let lines = all.output.split(separator: "\n")
        #expect(
            lines.map { $0.prefix { $0 != "," } } == [
                "state.sync: nothing → 0", "state.sync: 0 → 1", "state.sync: 1 → 2", "state.sync: 2 → 3", "state.sync: 3 → 2",
                "state.sync: 2 → 3",
            ])

        let found = try await store.run("bisect", "state.sync > 1 && view.status == \"idle\"")
        #expect(
            found.end == .exited(0) && found.output.hasPrefix("turn \(turns[1]) (incremented) "), "\(found.output)\(found.errors)")
        #expect(found.output.hasSuffix("\n  state.sync: 1 → 2\n"), "\(found.output)")
        let later = try await store.run("bisect", "state.sync == 2", "--from", "\(turns[2])", "--format", "json")
        #expect(try later.json["turn"] as? Int == turns[3] && later.json["isCut"] as? Bool == false)
    }

    @Test func `An invariant is found by its name, and a name that is nearly one is asked about`() async throws {
        let store = try await CounterStore(Executable.tally, workers: 0)
        #expect(try await store.run("send", #"{"add":{"name":"tea"}}"#).end == .exited(0))
        try await store.stop()
        let kept = try await store.run("bisect", "no count is negative")
        #expect(kept.end == .exited(1) && kept.errors.contains("none of the turns 1 to "), "\(kept.errors)")
        #expect(kept.errors.contains(" breaks it"), "\(kept.errors)")
        let told = try await store.run("bisect", "no count is negative", "--format", "json")
        #expect(try told.end == .exited(1) && told.json["turn"] is NSNull && told.json["from"] as? Int == 1, "\(told.output)")
        let nearly = try await store.run("bisect", "no cuont is negative")
        #expect(nearly.end == .exited(64), "\(nearly.errors)")
        #expect(nearly.errors.contains("did you mean the invariant “no count is negative”?"), "\(nearly.errors)")
    }

    @Test func `What cannot be is said, with an exit code`() async throws {
        let (store, _) = try await Self.counted()
        let cases: [([String], Int32, String)] = [
            (["why", "state.synk"], 65, "error: there is no state.synk: did you mean state.sync?"),
            (
                ["why", "sync"], 64,
                "error: the path cannot be read: column 1: a path begins with `state` or `view`: did you mean `state.sync`?"
            ),
            (["diff", "1", "999"], 78, "ends at turn "),
            (["why", "state.sync", "--turn", "\(Int.max)"], 78, "ends at turn "),
            (["why", "state.sync", "--all", "--turn", "999"], 78, "ends at turn "),
            (["diff", "0"], 64, "0 is no turn: they are numbered from 1"),
            (["bisect", "state.sync = 3"], 64, "column 12: `=` is no operator: did you mean `==`?"),
            (["bisect", "state.sync > 3"], 1, "it is true after none of the turns 1 to "),
            (["bisect", "state.synk > 3"], 1, "there is no state.synk: did you mean state.sync?"),
            (["bisect", "state.sync > 3", "--from", "5", "--to", "4"], 64, "--to 4 is before --from 5"),
        ]
        for (arguments, code, words) in cases {
            let child = try store.start(arguments)
            #expect(try await child.wait() == .exited(code), "\(arguments): \(child.errors)")
            #expect(child.errors.contains(words), "\(arguments): \(child.errors)")
            #expect(child.output.isEmpty || code == 1, "\(arguments): \(child.output)")
        }
    }
}
