import Foundation
import ProcessSupport
import Testing

/// A program with a panel and no user interface of its own, with real processes and a pseudo-terminal.
@Suite struct PanelTests {
    private struct Store {
        let scratch: Scratch
        let data: String
        let up: Child

        init() async throws {
            let scratch = try Scratch()
            self.scratch = scratch
            data = scratch.folder("data")
            up = try Child(Executable.tally, ["up", "--workers", "0", "--data", data], in: scratch)
            try await eventually("the store serves") { [up] in up.errors.contains("serving") }
        }

        func run(_ arguments: String...) async throws -> Child {
            let child = try Child(Executable.tally, arguments + ["--data", data], in: scratch)
            try await child.wait()
            return child
        }

        func monitor(_ executable: String = Executable.tally, _ arguments: String...) throws -> PseudoTerminal {
            try PseudoTerminal(executable, ["monitor", "--data", data] + arguments, in: scratch)
        }
    }

    private func see(_ text: String, in terminal: PseudoTerminal) async throws {
        do {
            try await eventually("the screen shows \(text)") { terminal.text.contains(text) }
        } catch let error as TimedOut {
            throw TimedOut("\(error)\n\(terminal.text)")
        }
    }

    /// What the monitor has written last may still be on its way.
    private func expectRestored(_ terminal: PseudoTerminal) async throws {
        try await eventually("the terminal is as it was") {
            terminal.isCooked && terminal.modes[1049] == false && terminal.modes[25] == true && terminal.modes[7] == true
                && terminal.modes[2004] == false
        }
    }

    @Test(arguments: [Executable.tally, Executable.samovar])
    func `A person adds a name, presses its button and sees the count change, with the program's tool and with the generic one`(
        executable: String
    ) async throws {
        let store = try await Store()
        let terminal = try store.monitor(executable)
        try await see("0 of 10", in: terminal)
        #expect(!terminal.isCooked)
        terminal.type("\tapples\r")
        try await see("[remove]", in: terminal)
        try await see("Add: applied in turn", in: terminal)
        // Up from the field to the first button of the row.
        terminal.type("\u{1b}[A\r")
        try await see("1 of 10", in: terminal)
        terminal.type("\r")
        try await see("2 of 10", in: terminal)
        #expect(try await store.run("view").output.contains(#""done":2"#))
        terminal.type("q")
        #expect(try await eventually("the monitor ends") { terminal.end() } == .exited(0))
        try await expectRestored(terminal)
    }

    @Test func `A refusal is shown, and a resized screen is drawn anew`() async throws {
        let store = try await Store()
        let terminal = try store.monitor()
        try await see("0 of 10", in: terminal)
        terminal.type("\t\t-5\r")
        try await see(#"Goal: refused: {"goalNotPositive":{}}"#, in: terminal)
        terminal.resize(columns: 30, rows: 8)
        try await see("Goal  -5", in: terminal)
    }

    @Test(.enabled("there is no bash") { FileManager.default.fileExists(atPath: "/bin/bash") })
    func `Control-Z gives the terminal back, and going on takes it again`() async throws {
        let store = try await Store()
        // Not interactive: such a shell gives the terminal to its jobs, and leaves the settings to them.
        let terminal = try PseudoTerminal(
            "/bin/bash", ["-c", "set -m; '\(Executable.tally)' monitor --data '\(store.data)'; read; fg"], in: store.scratch)
        try await see("0 of 10", in: terminal)
        let monitor = try #require(ProcessTable.all(naming: store.data).first { $0.command == "monitor" })
        terminal.type("\u{1a}")
        try await eventually("the monitor stops") { monitor.isStopped }
        try await expectRestored(terminal)
        #expect(
            try await Child(Executable.tally, ["send", #"{"setGoal":{"to":77}}"#, "--data", store.data], in: store.scratch).wait()
                == .exited(0))
        terminal.type("\n")
        try await see("0 of 77", in: terminal)
        #expect(!terminal.isCooked)
    }

    @Test func `Control-Z does not stop a monitor that no shell could have go on`() async throws {
        let store = try await Store()
        let terminal = try store.monitor()
        try await see("0 of 10", in: terminal)
        terminal.type("\u{1a}")
        #expect(try await store.run("send", #"{"setGoal":{"to":77}}"#).end == .exited(0))
        try await see("0 of 77", in: terminal)
        terminal.type("q")
        #expect(try await eventually("the monitor ends") { terminal.end() } == .exited(0))
    }

    @Test(.enabled("there is no bash") { FileManager.default.fileExists(atPath: "/bin/bash") })
    func `A monitor that control-Z has stopped ends when its shell is told to end it`() async throws {
        let store = try await Store()
        let shell = try PseudoTerminal("/bin/bash", ["--noediting", "--norc", "--noprofile", "-i"], in: store.scratch)
        shell.type("'\(Executable.tally)' monitor --data '\(store.data)'\n")
        try await see("0 of 10", in: shell)
        let monitor = try #require(ProcessTable.all(naming: store.data).first { $0.command == "monitor" })
        shell.type("\u{1a}")
        try await eventually("the monitor stops") { monitor.isStopped }
        shell.type("kill %1\n")
        try await eventually("the monitor ends: \(shell.text)") { ProcessTable.entry(monitor.id) == nil }
    }

    @Test(
        arguments: [
            (SIGINT, nil), (SIGTERM, nil), (SIGHUP, nil), (SIGABRT, SIGABRT), (SIGSEGV, SIGSEGV), (SIGUSR1, SIGUSR1),
            (SIGALRM, SIGALRM), (SIGXCPU, SIGXCPU),
        ] as [(Int32, Int32?)])
    func `The terminal is given back, whatever signal ends the monitor`(signal: Int32, death: Int32?) async throws {
        let store = try await Store()
        let terminal = try store.monitor()
        try await see("0 of 10", in: terminal)
        terminal.send(signal)
        let end = try await eventually("the monitor ends") { terminal.end() } as Child.End
        #expect(end == death.map { .killed($0) } ?? .exited(0))
        try await expectRestored(terminal)
    }

    @Test func `While views come all the time Escape is a key, and the next one is a key, too`() async throws {
        let store = try await Store()
        let terminal = try store.monitor()
        try await see("0 of 10", in: terminal)
        let goals = #"n=10; while :; do n=$((n + 1)); echo "{\"setGoal\":{\"to\":$n}}"; sleep 0.01; done"#
        let busy = try Child(
            "sh", ["-c", "\(goals) | '\(Executable.tally)' send - --data '\(store.data)'"], in: store.scratch)
        try await eventually("goals are set: \(busy.errors)") { busy.output.contains("applied") }
        terminal.type("\tapples")
        try await see("apples", in: terminal)
        terminal.type("\u{1b}")
        try await eventually("the field is cleared: \(terminal.text)") { !terminal.text.contains("apples") }
        terminal.type("pears")
        try await see("pears", in: terminal)
        #expect(busy.end == nil)
    }

    @Test func `A store that is away is told of, and the panel goes on when it is back`() async throws {
        let store = try await Store()
        let terminal = try store.monitor()
        try await see("0 of 10", in: terminal)
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        process.send(SIGKILL)
        try await eventually("the store is back") {
            try await store.run("send", #"{"add":{"name":"pears"}}"#).end == .exited(0)
        }
        try await see("pears", in: terminal)
    }

    @Test func `Without a terminal a panel is printed as text or JSON`() async throws {
        let store = try await Store()
        #expect(try await store.run("send", #"{"add":{"name":"\u001b[2Jx\u202e"}}"#).end == .exited(0))
        let text = try await store.run("monitor", "--once")
        #expect(
            text.output == """
                Tally

                total  ░░░░░░░░░░░░░░░░░░░░ 0 of 10

                name                count
                \\u{1b}[2Jx\\u{202e}      0  [+1]  [−1]  [remove]

                ╭─ Change ────────────────────────────────────╮
                │ Add                                         │
                │ Goal  10                                    │
                ╰─────────────────────────────────────────────╯

                """)
        let json = try await store.run("monitor", "--once", "--format", "json")
        let view = try #require(try json.json["view"] as? [String: Any])
        #expect(view["panel"] as? Int == 1)
        #expect(view["title"] as? String == "Tally")
    }

    // MARK: The past

    /// The turn that is live while the past is looked at; 0 if nothing is told of it.
    private static func live(in terminal: PseudoTerminal) throws -> Int {
        let told = terminal.text.firstMatch(of: /past: turn [0-9]+ of ([0-9]+),/)
        return told.flatMap { Int($0.1) } ?? 0
    }

    @Test func `A person steps back, sees what was and that it is past, goes to a turn, and comes back to what went on meanwhile`()
        async throws
    {
        let store = try await Store()
        #expect(try await store.run("send", #"{"add":{"name":"apples"}}"#).end == .exited(0))
        let counted = try await store.run("send", #"{"count":{"name":"apples","by":7}}"#)
        let turn = try #require(try counted.json["turn"] as? Int)
        let terminal = try store.monitor()
        try await see("7 of 10", in: terminal)
        terminal.type("g\(turn)\r\u{1b}[D")
        try await see("past: turn \(turn - 1) of ", in: terminal)
        #expect(terminal.text.contains("0 of 10") && terminal.text.contains("apples"), "\(terminal.text)")
        let more = try await store.run("send", #"{"count":{"name":"apples","by":1}}"#)
        let later = try #require(try more.json["turn"] as? Int)
        try await eventually("the live turn is told") { try Self.live(in: terminal) >= later }
        #expect(terminal.text.contains("past: turn \(turn - 1) of "), "\(terminal.text)")
        terminal.type("g1\r")
        try await see("past: turn 1 of ", in: terminal)
        #expect(!terminal.text.contains("apples"), "\(terminal.text)")
        // Behind the end of what the child has read.
        #expect(try await store.run("send", #"{"count":{"name":"apples","by":1}}"#).end == .exited(0))
        try await eventually("the live turn is told") { try Self.live(in: terminal) > later }
        terminal.type("g\(later)\r")
        try await see("past: turn \(later) of ", in: terminal)
        #expect(terminal.text.contains("8 of 10"), "\(terminal.text)")
        terminal.type("\u{1b}[F")
        try await see("9 of 10", in: terminal)
        #expect(!terminal.text.contains("past:"), "\(terminal.text)")
        terminal.type("q")
        #expect(try await eventually("the monitor ends") { terminal.end() } == .exited(0))
        try await eventually("nothing is left of it") { ProcessTable.all(naming: store.data).allSatisfy { $0.command != "replay" } }
    }

    @Test func `The tool that knows no program says that it has no past`() async throws {
        let store = try await Store()
        let terminal = try store.monitor(Executable.samovar)
        try await see("0 of 10", in: terminal)
        terminal.type("\u{1b}[D")
        try await see("this tool has no program to replay", in: terminal)
    }

    @Test func `A view without a panel has a past as well, and a child that is killed is followed by another one`() async throws {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(3)
        let terminal = try PseudoTerminal(store.executable, ["monitor", "--data", store.data], in: store.scratch)
        try await see("sync", in: terminal)
        terminal.type("g\(turn)\r\u{1b}[D")
        try await see("past: turn \(turn - 1) of ", in: terminal)
        let child = try #require(ProcessTable.all(naming: store.data).first { $0.command == "replay" })
        child.send(SIGKILL)
        try await eventually("the child is gone") { ProcessTable.entry(child.id) == nil }
        terminal.type("\u{1b}[D")
        // It was not asked when it died: the question finds that out, or a new child answers it.
        try await eventually("the screen tells of the turn before") {
            terminal.text.contains("past: turn \(turn - 2) of ") || terminal.text.contains("the past cannot be read")
                || terminal.text.contains("the program has ended")
        }
        terminal.type("g1\r")
        try await see("past: turn 1 of ", in: terminal)
        let other = try #require(ProcessTable.all(naming: store.data).first { $0.command == "replay" && $0.id != child.id })
        // As one does whose `update` never returns.
        other.send(SIGSTOP)
        terminal.type("g2\r")
        try await see("took longer than 10", in: terminal)
        try await eventually("it is ended") { ProcessTable.entry(other.id) == nil }
        terminal.type("g2\r")
        try await see("past: turn 2 of ", in: terminal)
    }

    @Test func `A child whose monitor was killed ends, although the program's update never returns`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 0)
        let sent = try await store.run("send", #"{"add":{"amount":13}}"#)
        let turn = try #require(try sent.json["turn"] as? Int)
        try await store.stop()
        // A snapshot would spare it the turn.
        try store.removeSnapshots()
        // Its standard input ends behind the question, as if who has asked were gone.
        let child = try store.start(["replay", "--serve"], input: "\(turn)\n", variables: ["HANG_AT_13": "1"])
        #expect(try await child.wait() == .exited(75), "\(child.errors)")
    }
}
