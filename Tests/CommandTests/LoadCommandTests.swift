import Foundation
import GRDB
import ProcessSupport
import Testing

/// Load tests as a person would start them, with real processes.
@Suite(.serialized) struct LoadCommandTests {
    private func load(_ arguments: String..., in scratch: Scratch, executable: String = Executable.counter) throws -> Child {
        try Child(executable, ["load"] + arguments, in: scratch)
    }

    @Test func `Two agents see store and workers die each second, and nothing is lost, duplicated or out of order`() async throws {
        let scratch = try Scratch()
        let page = scratch.folder("load.html")
        let load = try load(
            "--rate", "300", "--duration", "5s", "--processes", "2", "--clients", "6", "--workers", "2", "--kill", "store,worker",
            "--every", "1s", "--input", #"{"increment":{}}"#, "--input", #"{"incrementAsync":{}}"#, "--json", "--report", page,
            in: scratch)
        #expect(try await load.wait(within: .seconds(90)) == .exited(0), "\(load.errors)")
        let result = try load.json
        #expect(result["sound"] as? Bool == true)
        for kind in ["lost", "duplicated", "outOfOrder", "contradicted", "unanswered"] {
            #expect(result[kind] as? Int == 0, "\(kind)")
        }
        #expect((result["judgedBy"] as? [String: Any])?["evidence"] as? String == "journal", "\(result)")
        let inputs = try #require(result["inputs"] as? [String: Any])
        #expect(inputs["due"] as? Int == 1_500 && inputs["sent"] as? Int == 1_500)
        let (applied, refused) = (try #require(inputs["applied"] as? Int), try #require(inputs["refused"] as? Int))
        #expect(applied + refused == 1_500 && applied >= 750)
        let killed = try #require(result["kills"] as? [[String: Any]]).compactMap { $0["process"] as? String }
        #expect(killed.contains("store") && killed.contains { $0.hasPrefix("worker") }, "\(killed)")
        // Whoever was killed was not there for a while, which an open loop does not hide.
        let latencies = try #require(result["latencyMicroseconds"] as? [String: [String: Any]])
        #expect(latencies["applied"]?["count"] as? Int == applied)
        #expect(try #require(latencies["applied"]?["max"] as? Int) > 20_000)
        let names = try #require(result["processes"] as? [[String: Any]]).compactMap { $0["name"] as? String }
        #expect(names == ["store", "worker 1", "worker 2", "agent 1", "agent 2", "coordinator"])
        #expect(try String(contentsOfFile: page, encoding: .utf8).contains("store killed"))
        #expect(load.errors.contains("killed store") && load.errors.contains("applied"))
        try await eventually("nothing is left running") { ProcessTable.all(startedIn: scratch).isEmpty }
    }

    @Test func `The tool puts a running store under load and leaves it running`() async throws {
        let store = try await CounterStore()
        let load = try load(
            "--data", store.data, "--rate", "200", "--duration", "1s", "--input", "increment", in: store.scratch,
            executable: Executable.samovar)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        #expect(load.output.contains("lost 0, duplicated 0, out of order 0; by the journal"), "\(load.output)")
        #expect(try await store.run("view").output.contains(#""sync":"200""#))
    }

    @Test func `On a terminal a second takes the place of the one before, and is cut where it would wrap`() async throws {
        let scratch = try Scratch()
        let terminal = try PseudoTerminal(
            Executable.counter, ["load", "--rate", "100", "--duration", "2s"], columns: 40, in: scratch)
        let end = try await eventually("the load test ends", within: .seconds(60)) { terminal.end() }
        #expect(end == .exited(0), "\(terminal.output)")
        let lines = terminal.output.components(separatedBy: "\r\u{1b}[K").map { text in text.prefix { !$0.isNewline } }
        let seconds = lines.filter { $0.contains("applied") }
        #expect(!seconds.isEmpty && seconds.allSatisfy { $0.count == 39 && $0.hasSuffix("…") }, "\(seconds)")
    }

    @Test func `An agent from elsewhere takes part`() async throws {
        let scratch = try Scratch()
        let meeting = "ipc://" + scratch.folder("meeting")
        let load = try load(
            "--listen", meeting, "--agents", "1", "--processes", "1", "--clients", "2", "--rate", "100", "--duration", "1s",
            "--json", in: scratch)
        try await eventually("it waits") { FileManager.default.fileExists(atPath: scratch.folder("meeting")) }
        let agent = try self.load("--agent", "--join", meeting, in: scratch, executable: Executable.samovar)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        #expect(try await agent.wait() == .exited(0), "\(agent.errors)")
        #expect(try #require(load.json["inputs"] as? [String: Any])["applied"] as? Int == 100)
    }

    @Test func `Agents of other machines come with keys, to the coordinator and to the store`() async throws {
        let scratch = try Scratch()
        let keys = scratch.folder("keys")
        for name in ["load", "stranger"] {
            let made = try Child(
                Executable.counter,
                [
                    "keys", "new", name, "--role", "client", "--hellos", "1000", "--out", scratch.folder("\(name).key"), "--keys",
                    name == "load" ? keys : scratch.folder("others"),
                ], in: scratch)
            #expect(try await made.wait() == .exited(0), "\(made.errors)")
        }
        let store = "tcp://127.0.0.1:\(try Ports.free())"
        let running = try await CounterStore(workers: 1, in: scratch, arguments: ["--endpoint", store, "--keys", keys])
        let key = ["--key", scratch.folder("load.key")]
        let port = try Ports.free()
        let meeting = "tcp://127.0.0.1:\(port)"
        let load = try Child(
            Executable.counter,
            [
                "load", "--endpoint", store, "--keys", keys, "--listen", meeting, "--agents", "1", "--processes", "1", "--clients",
                "2",
                "--rate", "100", "--duration", "1s", "--json",
            ] + key, in: scratch)
        try await eventually("it waits") {
            try await Child.run("/bin/bash", ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port)"]).end == .exited(0)
        }
        let stranger = try Child(
            Executable.samovar, ["load", "--agent", "--join", meeting, "--key", scratch.folder("stranger.key")], in: scratch)
        let agent = try Child(Executable.samovar, ["load", "--agent", "--join", meeting] + key, in: scratch)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        #expect(try await agent.wait() == .exited(0), "\(agent.errors)")
        #expect(try await stranger.wait() != .exited(0))
        #expect(try #require(load.json["inputs"] as? [String: Any])["applied"] as? Int == 100)
        try await running.stop()
    }

    @Test func `The setup is applied in order before the load, once for all agents`() async throws {
        let scratch = try Scratch()
        let meeting = "ipc://" + scratch.folder("meeting")
        let load = try load(
            "--setup", #"{"add":{"name":"a"}}"#, "--setup", #"{"count":{"name":"a","by":5}}"#,
            "--input", #"{"count":{"name":"a","by":1}}"#, "--listen", meeting, "--agents", "1", "--processes", "1", "--clients",
            "2",
            "--rate", "100", "--duration", "1s", "--workers", "0", "--keep", "--json", in: scratch, executable: Executable.tally)
        try await eventually("it waits") { FileManager.default.fileExists(atPath: scratch.folder("meeting")) }
        let agent = try self.load("--agent", "--join", meeting, in: scratch, executable: Executable.samovar)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        #expect(try await agent.wait() == .exited(0), "\(agent.errors)")
        let inputs = try #require(load.json["inputs"] as? [String: Any])
        #expect(inputs["applied"] as? Int == 100 && inputs["refused"] as? Int == 0, "the setup is no part of the load")
        let kept = try #require(load.errors.split(separator: "\n").first { $0.hasPrefix("the data folder is kept: ") })
        let data = String(kept.dropFirst("the data folder is kept: ".count))
        defer { try? FileManager.default.removeItem(atPath: data.replacing(#/data$/#, with: "")) }
        let journal = try Child(Executable.tally, ["replay", "--state", "--data", data], in: scratch)
        #expect(try await journal.wait() == .exited(0), "\(journal.errors)")
        #expect(journal.output.contains(#""a":105"#), "\(journal.output)")
    }

    @Test func `What a program declares is set up on a store of its own, and not on one that runs`() async throws {
        let scratch = try Scratch()
        let own = try load(
            "--rate", "50", "--duration", "500ms", "--workers", "0", in: scratch, executable: Executable.tally)
        #expect(try await own.wait() == .exited(0), "\(own.errors)")
        #expect(own.output.contains("25 sent, 25 applied"), "\(own.output)")

        let data = scratch.folder("data")
        let up = try Child(Executable.tally, ["up", "--workers", "0", "--data", data], in: scratch)
        let arguments = ["load", "--data", data, "--rate", "50", "--duration", "500ms"]
        try await eventually("it serves") {
            try await Child(Executable.tally, ["view", "--data", data], in: scratch).wait() == .exited(0)
        }
        let unprepared = try Child(Executable.tally, arguments, in: scratch)
        #expect(try await unprepared.wait() == .exited(0), "\(unprepared.errors)")
        #expect(unprepared.output.contains("0 applied, 25 refused"), "\(unprepared.output)")

        let setup = ["--setup", #"{"add":{"name":"load"}}"#]
        let prepared = try Child(Executable.tally, arguments + setup, in: scratch)
        #expect(try await prepared.wait() == .exited(0), "\(prepared.errors)")
        #expect(prepared.output.contains("25 sent, 25 applied"), "\(prepared.output)")
        let again = try Child(Executable.tally, arguments + setup, in: scratch)
        #expect(try await again.wait() == .exited(65), "\(again.errors)")
        #expect(
            again.errors.contains(
                #"the setup input {"add":{"name":"load"}} was refused: {"known":{"name":"load"}}"#), "\(again.errors)")
        #expect(try await Child(Executable.tally, arguments, in: scratch).wait() == .exited(0), "set up, it needs no setup")
        up.send(SIGTERM)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    @Test func `A setup that is refused or cannot be read ends the test before anything is sent, and leaves nothing`() async throws
    {
        let scratch = try Scratch()
        let refused = try load(
            "--setup", #"{"add":{"name":"a"}}"#, "--setup", #"{"setGoal":{"to":0}}"#, "--setup", #"{"add":{"name":"b"}}"#,
            "--workers", "0", in: scratch, executable: Executable.tally)
        #expect(try await refused.wait() == .exited(65), "\(refused.errors)")
        #expect(
            refused.errors.contains(#"the setup input {"setGoal":{"to":0}} was refused: {"goalNotPositive":{}}"#),
            "\(refused.errors)")
        #expect(!refused.errors.contains("applied"), "\(refused.errors)")
        let unknown = try load("--setup", "nonsense", "--workers", "0", in: scratch, executable: Executable.tally)
        #expect(try await unknown.wait() == .exited(65), "\(unknown.errors)")
        #expect(unknown.errors.contains("was rejected: "), "\(unknown.errors)")
        try await eventually("nothing is left running") { ProcessTable.all(startedIn: scratch).isEmpty }
    }

    @Test func `An agent that dies is told, and is no success`() async throws {
        let scratch = try Scratch()
        let load = try load("--rate", "100", "--duration", "60s", "--processes", "2", in: scratch)
        try await eventually("it runs") { load.errors.contains("applied") }
        let running = ProcessTable.all(startedIn: scratch)
        #expect(running.contains { $0.command == "store" } && running.contains { $0.arguments.contains("--agent") }, "\(running)")
        let agent = try #require(
            ProcessTable.all(naming: "--agent").first { $0.parent == load.id && $0.arguments.contains("agent 2") })
        agent.send(SIGKILL)
        #expect(try await load.wait() == .exited(70), "\(load.errors)")
        #expect(load.errors.contains("agent 2 is missing: its process ended (signal 9)"), "\(load.errors)")
        #expect(load.output.contains("problem: agent 2 is missing"), "\(load.output)")
        #expect(load.output.contains("send → applied"))
    }

    @Test func `Control-C ends it in order, with what was seen so far`() async throws {
        let scratch = try Scratch()
        let load = try load("--rate", "100", "--duration", "600s", in: scratch)
        try await eventually("it runs") { load.errors.contains("applied") }
        load.send(SIGINT)
        // Long before its drain of 30 s: there is nothing to wait for.
        #expect(try await load.wait() == .exited(70), "\(load.errors)")
        #expect(load.output.contains("problem: interrupted after") && load.output.contains("lost 0"), "\(load.output)")
        #expect(load.output.contains(" applied/s over ") && !load.output.contains("applied/s over 600.0 s"), "\(load.output)")
    }

    @Test func `Control-C three times ends it whatever it waits for, and leaves nothing`() async throws {
        let store = try await CounterStore()
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        process.send(SIGSTOP)
        defer { process.send(SIGCONT) }
        try await eventually("the store is stopped") { process.isStopped }
        let before = try Self.scratchFolders()
        let load = try load("--data", store.data, "--setup", "increment", in: store.scratch)
        try await eventually("it takes signals") { try Self.takesInterrupts(load) }
        try await eventually("it ends") {
            load.send(SIGINT)
            return load.end != nil
        }
        #expect(load.end == .exited(130), "\(load.errors)")
        // The folders of the load tests of others, which may have begun since, go with them.
        let left = try Self.scratchFolders().subtracting(before)
        try await eventually("none of them stays: \(left)", within: .seconds(180)) {
            try Self.scratchFolders().isDisjoint(with: left)
        }
    }

    private static func scratchFolders() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: "/tmp").filter { $0.hasPrefix("samovar-load-") })
    }

    /// Whether SIGINT does not end the process by itself any more.
    private static func takesInterrupts(_ child: Child) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(child.id)/status", encoding: .utf8)
        let masks = status.matches(of: /Sig(?:Ign|Cgt):\s*([0-9a-f]+)/).compactMap { UInt64($0.1, radix: 16) }
        return masks.contains { $0 & 1 << UInt64(SIGINT - 1) != 0 }
    }

    @Test func `Inputs that the program cannot read are no success`() async throws {
        let scratch = try Scratch()
        let load = try load("--rate", "50", "--duration", "500ms", "--input", "nonsense", in: scratch)
        #expect(try await load.wait() == .exited(70), "\(load.errors)")
        #expect(load.output.contains("no input was applied, so nothing was tested"), "\(load.output)")
        #expect(load.output.contains("nonsense"), "\(load.output)")
    }

    @Test func `A program that names no load tests says how to have them`() async throws {
        let scratch = try Scratch()
        for arguments in [["load"], ["load", "--rate", "5", "--kill", "store"]] {
            let child = try Child(Executable.dupes, arguments, in: scratch)
            #expect(try await child.wait() == .exited(64), "\(child.errors)")
            #expect(
                child.errors.hasPrefix("error: dupes is built without load tests. To have them, add\n"),
                "\(child.errors)")
            let lines = child.errors.split(separator: "\n").map { $0.drop { $0 == " " } }
            for line in [
                #".product(name: "SamovarLoadTest", package: "samovar")"#, "import SamovarLoadTest",
                "static var loadTest: LoadTestKind? { .agents }",
            ] { #expect(lines.contains(line[...]), "\(child.errors)") }
        }
        // What starts no store shows no example that needs one of its own.
        for (executable, kills) in [(Executable.counter, true), (Executable.samovar, false)] {
            let help = try Child(executable, ["load", "--help"], in: scratch)
            #expect(try await help.wait() == .exited(0), "\(help.errors)")
            #expect(help.output.contains("load --rate 500 --kill store,worker") == kills, "\(help.output)")
            // Of two machines, both are told where the store is.
            for machine in ["127.0.0.1", "10.0.0.5"] {
                #expect(help.output.contains("--endpoint tcp://\(machine):7410"), "\(help.output)")
            }
            for option in ["kill", "every", "workers", "slots", "seed"] {
                #expect(help.output.contains("--\(option) <\(option)>") == kills, "\(option): \(help.output)")
            }
            #expect(help.output.contains("--keep ") == kills && help.output.contains("program's own") == kills, "\(help.output)")
        }
        let help = try Child(Executable.dupes, ["load", "--help"], in: scratch)
        #expect(try await help.wait() == .exited(0), "\(help.errors)")
        #expect(help.output.contains("static var loadTest: LoadTestKind? { .agents }"), "\(help.output)")
    }

    @Test func `What starts no store says so of options that are for one`() async throws {
        let scratch = try Scratch()
        for option in [["--kill", "store"], ["--workers", "2"], ["--slots", "2"], ["--seed", "1"], ["--keep"]] {
            let child = try Child(Executable.samovar, ["load", "--data", scratch.folder("data")] + option, in: scratch)
            #expect(try await child.wait() == .exited(64), "\(child.errors)")
            #expect(
                child.errors.contains("\(option[0]) is for a store that load starts itself, and samovar has no program to start"),
                "\(child.errors)")
        }
        let child = try Child(Executable.samovar, ["load", "--data", scratch.folder("data")], in: scratch)
        #expect(try await child.wait() == .exited(64), "\(child.errors)")
        #expect(child.errors.contains("what shall be sent? give an input as JSON with --input\n"), "\(child.errors)")
    }

    @Test func `Who would have processes killed is told what names the store that runs`() async throws {
        let scratch = try Scratch()
        let file = try scratch.write("workers: 1\nendpoint: tcp://127.0.0.1:7410\n", to: "settings.yaml")
        let places: [(arguments: [String], variables: [String: String], text: String)] = [
            (["--data", "x"], [:], "a store is named by --data: take it away"),
            ([], ["SAMOVAR_ENDPOINT": "tcp://127.0.0.1:7410"], "a store is named by SAMOVAR_ENDPOINT: take it away"),
            (["--config", file], [:], "a store is named by \"endpoint\" in \(file), line 2: take it away"),
            (
                ["--endpoint", "tcp://127.0.0.1:7410"], ["SAMOVAR_DATA": "x", "SAMOVAR_ENDPOINT": "tcp://127.0.0.1:7411"],
                "a store is named by SAMOVAR_DATA and --endpoint: take them away"
            ),
        ]
        for (arguments, variables, text) in places {
            let child = try Child(
                Executable.counter, ["load", "--kill", "store"] + arguments, in: scratch, variables: variables)
            #expect(try await child.wait() == .exited(64), "\(child.errors)")
            #expect(child.errors == "error: --kill is for processes that load has started itself, and \(text)\n")
        }
    }

    @Test func `Mistakes are said before anything starts`() async throws {
        let scratch = try Scratch()
        let settings = try scratch.write("journal: postgresql://127.0.0.1/shop\n", to: "settings.yaml")
        let mistakes: [(arguments: [String], code: Int32, text: String)] = [
            (["--rate", "10", "--saturate"], 64, "--rate and --saturate exclude each other"),
            (["--rate", "10", "--window", "8"], 64, "--window is for --saturate: a rate sends whatever is unanswered"),
            (["--every", "1s"], 64, "--every is for --kill, which says whom"),
            (["--kill", "agent"], 64, "only store and worker can be killed"),
            (["--kill", ","], 64, "--kill names nobody: store and worker can be killed"),
            (
                ["--kill", "store,worker", "--duration", "4s"], 64,
                "with a death every 2 s, --kill store,worker has not had its turn when --duration 4 s is over"
            ),
            (["--kill", "store", "--data", scratch.folder("data")], 64, "--kill is for processes that load has started itself"),
            (["--workers", "4", "--data", scratch.folder("data")], 64, "--workers is for processes that load has started itself"),
            (["--agent"], 64, "--agent and --join ENDPOINT belong together"),
            (["--input", #"{"a":"#], 65, "is no JSON"),
            (["--setup", #"{"a":"#], 65, "the setup input {\"a\": is no JSON"),
            (["--agent", "--join", "ipc:///x", "--setup", "increment"], 64, "--setup is the coordinator's"),
            (["--data", scratch.folder("data"), "--duration", "1s"], 69, "no store answers"),
            (["--listen", "tcp://0.0.0.0:7800", "--agents", "1"], 78, "where agents join with keys alone"),
            (["--listen", "ipc:///no/such/x", "--agents", "1"], 78, "cannot listen at ipc:///no/such/x: No such file"),
            (["--agent", "--join", "tcp://192.0.2.1:7800"], 78, "where agents join with keys alone"),
            (["--report", "/no/such/folder/load.html"], 74, "cannot write /no/such/folder/load.html: No such file or directory"),
            (["--config", settings], 64, "the settings name a journal, which may be in use: name an empty one with --journal"),
        ]
        for mistake in mistakes {
            let child = try Child(Executable.counter, ["load"] + mistake.arguments, in: scratch)
            #expect(try await child.wait() == .exited(mistake.code), "\(mistake.arguments): \(child.errors)")
            #expect(child.errors.contains(mistake.text), "\(mistake.arguments): \(child.errors)")
        }
    }
}
