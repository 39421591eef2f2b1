import Foundation
import ProcessSupport
import Testing

/// Inputs, answers and jobs that end the processes that take them: each is given up with a reason, and nothing else is lost.
@Suite(.serialized) struct PoisonTests {
    /// Starts the program of these tests and sends good inputs before, beside and after a bad one.
    private static func meet(
        _ poison: String, _ check: (Child) -> Void
    ) async throws -> CounterStore {
        let store = try await CounterStore(Executable.trapProgram)
        #expect(try await store.run("send", #"{"add":{"amount":1}}"#).end == .exited(0))
        let beside = try store.start(
            ["send", "-"], input: (1...400).map { _ in #"{"add":{"amount":10}}"# }.joined(separator: "\n"))
        try await eventually("the other client is at work") { !beside.output.isEmpty }
        let bad = try store.start(["send", poison])
        _ = try await bad.wait()
        check(bad)
        #expect(try await beside.wait() == .exited(0), "\(beside.errors)")
        #expect(try await store.run("send", #"{"add":{"amount":1000}}"#).end == .exited(0))
        #expect(try await store.run("view").output.contains(#""total":5001"#))
        #expect(store.up.end == nil)
        return store
    }

    @Test(arguments: [("trap", "signal"), ("dive", "signal"), ("trapInAccept", "signal"), ("chain", "more than 1000 turns")])
    func `An input that ends the store gets its receipt, and all others are applied`(poison: String, why: String) async throws {
        let store = try await Self.meet(poison) { bad in
            #expect(bad.end == .exited(65), "\(bad.errors)")
            #expect(bad.errors.contains("quarantined: the store ended 3 times"), "\(bad.errors)")
            #expect(bad.errors.contains(why), "\(bad.errors)")
        }
        #expect(try await store.status("quarantined") == 1)
        #expect(store.up.errors.contains("it is not tried again"), "\(store.up.errors)")
    }

    @Test func `The journal with a quarantined input replays to the same state`() async throws {
        let store = try await Self.meet("trap") { _ in }
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0))
        #expect(try await store.run("replay", "--state").output.contains(#""total":5001"#))
    }

    @Test func `An answer that ends the store leaves its effect dead with the reason`() async throws {
        let store = try await CounterStore(Executable.trapProgram)
        #expect(try await store.run("send", #"{"work":{"name":"before"}}"#, "--wait", "settled").end == .exited(0))
        let bad = try await store.run("send", "answerTrap", "--wait", "settled")
        #expect(bad.end == .exited(70), "\(bad.errors)")
        #expect(bad.errors.contains("not all of its effects were done: effect "), "\(bad.errors)")
        #expect(bad.errors.contains("could not be handled after 1 attempt: quarantined: the store ended 3 times"), "\(bad.errors)")
        #expect(try await store.run("send", #"{"work":{"name":"after"}}"#, "--wait", "settled").end == .exited(0))
        #expect(try await store.run("view").output.contains(#""done":["before","after"]"#))
        #expect(try await store.status("deadEffects") == 1)

        let list = try await store.run("effects", "--dead", "--json").json
        let dead = try #require((list["dead"] as? [[String: Any]])?.first)
        let name = try #require(dead["effect"] as? String)
        #expect((dead["failure"] as? String)?.contains("quarantined") == true && list["open"] == nil)
        #expect(try await store.run("effects", "--drop", "999999/0").errors.contains("effect 999999/0 is neither open nor dead"))
        #expect(try await store.run("effects", "--requeue", name).output == "requeued \(name)\n")
        try await eventually("it is dead again") {
            try await store.run("status", "--json").output.contains(#""deadEffects":1"#)
        }
        #expect(try await store.run("effects", "--drop", "--all").output == "dropped \(name)\n")
        let none = try await store.run("effects", "--drop", "--all")
        #expect(none.end == .exited(0) && none.errors.contains("no effect is dead"), "\(none.errors)")
        #expect(try await store.run("effects", "--requeue").end == .exited(64))
    }

    @Test func `A job that kills its workers ends dead after three deaths, and others are done`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 2)
        let bad = try store.start(["send", "kill", "--wait", "settled"])
        let works = (1...12).map { #"{"work":{"name":"\#($0)"}}"# }.joined(separator: "\n")
        let beside = try await store.run("send", "-", "--wait", "settled", input: works)
        #expect(beside.end == .exited(0), "\(beside.errors)")
        #expect(try await bad.wait() == .exited(70))
        #expect(bad.errors.contains("killed its workers after 3 attempts: exit code 9"), "\(bad.errors)")
        #expect(try await store.status("deadWorkers") == 3)
        #expect(try await store.status("openEffects") == 0)
        #expect(try await store.status("deadEffects") == 1)
    }

    @Test func `One effect that died is counted as one by an up that ends when nothing is left to do`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 0)
        #expect(try await store.run("send", "kill").end == .exited(0))
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0), "\(store.up.errors)")
        let up = try store.start(["up", "--until-idle", "--workers", "1"])
        #expect(try await up.wait() == .exited(70), "\(up.errors)")
        #expect(up.errors.contains("error: 1 effect died:\n  "), "\(up.errors)")
    }

    @Test func `An update that does not return is named in the log, and so is its end`() async throws {
        let store = try await CounterStore(
            Executable.trapProgram, workers: 0, variables: ["SAMOVAR_STORE_SLOW_CALL_SECONDS": "1"])
        let slow = try store.start(["send", #"{"think":{"milliseconds":5000}}"#])
        let sentence = #/error.*the program has not returned for [1-9] s since the store took input 1 of .*, after turn 1: /#
        try await eventually("the store says what it is in") { store.up.errors.contains(sentence) }
        try await eventually("and that it is out of it") { store.up.errors.contains("the program has returned after") }
        #expect(try await slow.wait() == .exited(0), "\(slow.errors)")
        #expect(try await store.status("starts") == 1, "it was not ended for that")
    }

    @Test func `A view that traps is given up, and the store goes on`() async throws {
        let store = try await CounterStore(Executable.trapProgram)
        #expect(try await store.run("send", "blind").end == .exited(0))
        try await eventually("views are off") {
            try await store.run("status", "--json").output.contains(#""views":"off: the store ended 3 times"#)
        }
        let once = try store.start(["monitor", "--once"])
        #expect(try await store.run("send", #"{"add":{"amount":5}}"#).end == .exited(0))
        #expect(try await store.run("inspect").output.contains(#""total":5"#))
        let view = try await store.run("view", "--timeout", "5s")
        #expect(view.end == .exited(75))
        #expect(view.errors.contains("there is no view"), "\(view.errors)")
        #expect(try await once.wait() == .exited(75))
        #expect(once.errors.contains("there is no view"), "\(once.errors)")
        #expect(store.up.end == nil)
    }

    @Test func `A turn that traps in replay ends up with the turn's number`() async throws {
        let scratch = try Scratch()
        let first = try await CounterStore(Executable.trapProgram, in: scratch)
        let turn = try #require(try await first.run("send", #"{"add":{"amount":13}}"#).json["turn"] as? Int)
        try await eventually("all its processes have ended, the store without a snapshot") {
            for process in ProcessTable.all(naming: first.data) { process.send(SIGKILL) }
            return ProcessTable.all(naming: first.data).isEmpty
        }
        let again = try Child(
            Executable.trapProgram, ["up", "--data", first.data], in: scratch, variables: ["TRAP_AT_13": "1"])
        #expect(try await again.wait() == .exited(70), "\(again.errors)")
        #expect(again.errors.contains("turn \(turn): the program ended the store when it replayed this turn"), "\(again.errors)")
        // The build that can replay it goes on.
        let mended = try Child(Executable.trapProgram, ["up", "--until-idle", "--data", first.data], in: scratch)
        #expect(try await mended.wait() == .exited(0), "\(mended.errors)")
    }

    @Test func `A store that is killed during one slow input again and again gives nothing up`() async throws {
        let store = try await CounterStore(Executable.trapProgram)
        // Long enough that each but the last start is killed within it, also on a busy machine.
        let send = try store.start(["send", #"{"think":{"milliseconds":4000}}"#, "--timeout", "60s"])
        for number in 1...5 {
            let process = try await eventually("start \(number) takes the input") {
                Self.isInCall(store.data) ? ProcessTable.all(naming: store.data).first { $0.command == "store" } : nil
            }
            process.send(SIGKILL)
            try await eventually("it has ended") { ProcessTable.entry(process.id) == nil }
        }
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        #expect(try await store.status("quarantined") == 0)
    }

    /// The inputs are met in any order, and the store dies a dozen times; `up` spaces its starts out.
    @Test func `Several poisons at once are each given up, and everything else is applied once`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 2)
        let patience = ["--timeout", "150s"]
        let adds = (1...60).map { _ in #"{"add":{"amount":10}}"# }.joined(separator: "\n")
        var jobs: [(poison: String?, arguments: [String], input: String)] = []
        for number in 1...3 {
            jobs.append((nil, ["send", "-"], adds))
            jobs.append((nil, ["send", #"{"work":{"name":"\#(number)"}}"#, "--wait", "settled"], ""))
        }
        for poison in ["trap", "chain"] { jobs.append((poison, ["send", poison], "")) }
        for poison in ["answerTrap", "kill"] { jobs.append((poison, ["send", poison, "--wait", "settled"], "")) }
        var random = SeededRandom(seed: 20_260_101)
        jobs.shuffle(using: &random)
        let children = try jobs.map { try store.start($0.arguments + patience, input: $0.input) }
        for (job, child) in zip(jobs, children) {
            var child = child
            var end = try await child.wait(within: .seconds(150))
            // It found no store, so it has sent nothing: between two starts of a store, that may take a while.
            while end == .exited(69) {
                child = try store.start(job.arguments + patience, input: job.input)
                end = try await child.wait(within: .seconds(150))
            }
            switch job.poison {
            case nil: #expect(end == .exited(0), "\(job.arguments): \(child.errors)")
            case "trap", "chain": #expect(end == .exited(65) && child.errors.contains("quarantined"), "\(child.errors)")
            default: #expect(end == .exited(70), "\(job.arguments): \(child.errors)")
            }
        }
        #expect(try await store.status("openEffects") == 0)
        #expect(try await store.status("deadEffects") == 2)
        #expect(try await store.status("suspects") == 0)
        #expect(try await store.status("starts") > 9, "three deaths for each of three")
        #expect(try await store.run("send", #"{"add":{"amount":5}}"#).end == .exited(0))
        #expect(try await store.run("view").output.contains(#""total":1805"#))
        #expect(store.up.end == nil)
        try await store.stop()
        let state = try await store.run("replay", "--state").output
        #expect(state.contains(#""total":1805"#), "\(state)")
        for number in 1...3 { #expect(state.components(separatedBy: "\"\(number)\"").count == 2, "\(state)") }
        let list = try await store.run("journal", "list").output
        #expect(list.components(separatedBy: "  quarantined  ").count == 4, "\(list)")
    }

    @Test func `A trap beside the service turns its snapshots off instead of ending the store for ever`() async throws {
        let store = try await CounterStore(
            Executable.trapProgram,
            variables: ["TRAP_BESIDE": "1", "SAMOVAR_STORE_SNAPSHOT_TURNS": "10"])
        let adds = (1...40).map { _ in #"{"add":{"amount":14}}"# }.joined(separator: "\n")
        #expect(try await store.run("send", "-", input: adds).end == .exited(0))
        try await eventually("snapshots are off") {
            try await store.run("status").output.contains("off: the store ended 3 times while it made or checked a snapshot")
        }
        #expect(store.up.errors.contains("the store ended while it made or checked a snapshot beside its service (a trap, signal"))
        #expect(store.up.errors.contains("no snapshot is made beside the service any more"), "\(store.up.errors)")
        let starts = try await store.status("starts")
        #expect(starts == 4)
        #expect(try await store.run("send", "-", input: adds).end == .exited(0))
        #expect(try await store.run("view").output.contains(#""total":1120"#))
        #expect(try await store.status("starts") == starts)
        // A stop in order takes its own, on the thread that takes the turns.
        try await store.stop()
        #expect(try await store.run("replay", "--state").output.contains(#""total":1120"#))
        #expect(try await store.run("journal", "verify").end == .exited(0))
    }

    /// Whether the marker says that an input is under way.
    private static func isInCall(_ data: String) -> Bool {
        guard let page = FileManager.default.contents(atPath: data + "/marker"), page.count == 4_096 else { return false }
        return page[32] != 0 && page[40] == 2
    }
}
