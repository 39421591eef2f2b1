import Foundation
import ProcessSupport
import Testing

/// Questions about the past of a journal that was trimmed. Each turn of it adds one, so that all answers are known beforehand.
@Suite(.serialized) struct TrimmedPastTests {
    /// What it says. It is asked again if the journal was trimmed while it was read, which it says then.
    private static func read(_ store: CounterStore, _ arguments: [String]) async throws -> String {
        try await eventually("\(arguments) is not trimmed meanwhile") { () async throws -> String? in
            let child = try store.start(arguments)
            let end = try await child.wait()
            if child.errors.contains("was trimmed meanwhile") { return nil }
            #expect(end == .exited(0), "\(arguments): \(child.errors)")
            return child.output
        }
    }

    /// A store whose journal does not begin with its first turn any more.
    ///
    /// - Returns: with the first turn that is kept, the last that added one, and what it added up to.
    private static func trimmed(
        _ program: String = Executable.counter, by one: String = "increment"
    ) async throws -> (store: CounterStore, first: Int, last: Int, sum: Int) {
        let store = try await CounterStore(
            program, workers: 0, arguments: ["--retain", "300"], variables: ["SAMOVAR_STORE_SNAPSHOT_TURNS": "100"])
        var sum = 0
        var last = 0
        let first = try await eventually("it is trimmed") { () async throws -> Int? in
            let sent = try await store.run("send", "-", input: String(repeating: one + "\n", count: 200))
            last = try #require(try sent.json["turn"] as? Int)
            sum += 200
            let first = Int(try await read(store, ["journal", "list"]).prefix { $0 != " " })
            return first.flatMap { $0 > 100 ? $0 : nil }
        }
        return (store, first, last, sum)
    }

    @Test(arguments: [true, false])
    func `The page shows of a trimmed journal what is so, and says from where it is known`(_ isRunning: Bool) async throws {
        let (store, _, last, sum) = try await Self.trimmed(Executable.trapProgram, by: #"{"add":{"amount":1}}"#)
        if !isRunning { try await store.stop() }
        let (early, late) = (last - 100, last - 10)
        let folder = store.scratch.folder("explorer")
        let explorer = try Conversation(store.executable, ["explore", "--folder", folder, "--data", store.data], in: store.scratch)
        let state = try await explorer.ask(#"{"path":"/api/v1/state","query":{"turn":"\#(late)"}}"#)
        #expect(state.contains(#""path":"state.total","kind":"value","value":"\#(sum - 10)""#), "\(state)")
        let diff = try await explorer.ask(#"{"path":"/api/v1/turns/\#(late)/diff","query":{"from":"\#(early)"}}"#)
        #expect(diff.contains(#"{"path":"state.total","before":\#(sum - 100),"after":\#(sum - 10)}"#), "\(diff)")
        let row = try await explorer.ask(#"{"path":"/api/v1/turns/\#(early)"}"#)
        #expect(row.contains(#""hasState":true"#), "\(row)")
        for (path, words) in [
            ("state", "the state after turn 1 is not known: those of "), ("turns/1", "the record of turn 1 is not kept"),
        ] {
            let answer = try await explorer.ask(#"{"path":"/api/v1/\#(path)","query":{"turn":"1"}}"#)
            #expect(answer.contains(words), "\(answer)")
        }
        let oldest = try await explorer.ask(#"{"path":"/api/v1/turns","query":{"after":"1","count":"1"}}"#)
        #expect(oldest.contains(#"{"rows":[{"turn":"#) && !oldest.contains(#""turn":1,"#), "\(oldest)")
        #expect(try await explorer.end() == .exited(0))
    }

    @Test(arguments: [true, false])
    func `Each command answers of a trimmed journal what is so, beside its store and afterwards`(_ isRunning: Bool) async throws {
        let (store, first, last, sum) = try await Self.trimmed()
        if !isRunning { try await store.stop() }
        /// What the turns of the last client add up to: nobody else sends, and its turns follow each other.
        func count(_ turn: Int) -> Int { sum - (last - turn) }
        let (early, late) = (last - 100, last - 10)
        #expect(early > first)
        #expect(try await Self.read(store, ["diff", "\(early)", "\(late)"]) == "state.sync: \(count(early)) → \(count(late))\n")
        let why = try await Self.read(store, ["why", "state.sync", "--turn", "\(late)"])
        #expect(why.hasPrefix("state.sync = \(count(late)), since \(late) "), "\(why)")
        let never = try await Self.read(store, ["why", "state.async"])
        #expect(never.contains("or before, where the journal was trimmed"), "\(never)")
        let found = try await Self.read(store, ["bisect", "state.sync == \(count(early))"])
        #expect(found.hasPrefix("turn \(early) "), "\(found)")
        let fewer = try await Self.read(store, ["whatif", "--remove", "\(early)", "--to", "\(late)"])
        #expect(fewer.hasSuffix("  state.sync: \(count(late)) → \(count(late) - 1)\n"), "\(fewer)")

        let folder = store.scratch.folder("fork")
        let forked = try await Self.read(store, ["fork", "--turn", "\(late)", folder])
        #expect(forked.hasPrefix("Forked turn \(late) into \(folder)"), "\(forked)")
        let replay = try Child(store.executable, ["replay", "--state", "--data", folder], in: store.scratch)
        #expect(try await replay.wait() == .exited(0), "\(replay.errors)")
        #expect(replay.output.contains("\"sync\":\(count(late))"), "\(replay.output)")

        for command in [
            ["diff", "1", "\(late)"], ["bisect", "true", "--to", "1"], ["trace", "--to", "1"], ["whatif", "--remove", "2"],
            ["fork", "--turn", "1", store.scratch.folder("none")],
        ] {
            let child = try store.start(command)
            #expect(try await child.wait() == .exited(78), "\(command): \(child.errors)")
            #expect(child.errors.contains("is not kept any more"), "\(command): \(child.errors)")
        }
    }
}
