import Foundation
import ProcessSupport
import Testing

/// What the README shows, with real processes.
@Suite struct CounterCommandTests {
    @Test func `A settled send shows in the view of a subscriber that joins late`() async throws {
        let store = try await CounterStore()
        let sent = try await store.run("send", #"{"incrementAsync":{}}"#, "--wait", "settled")
        #expect(sent.end == .exited(0), "\(sent.errors)")
        #expect(try sent.json["status"] as? String == "settled")
        let monitor = try await store.run("monitor", "--once", "--format", "json")
        let view = try #require(try monitor.json["view"] as? [String: String])
        #expect(view == ["sync": "0", "async": "1", "status": "idle"])
        #expect(try monitor.json["instance"] as? String == "main")
    }

    @Test func `A build has one name, however its executable is called`() async throws {
        let scratch = try Scratch()
        let folder = (Executable.counter as NSString).deletingLastPathComponent
        let data = ["--data", scratch.folder("data")]
        let store = try Child("/usr/bin/env", ["PATH=\(folder)", "counter", "store"] + data, in: scratch)
        try await eventually("the store serves") { store.errors.contains("serving") }
        let status = try Child(Executable.counter, ["status"] + data, in: scratch)
        try await status.wait()
        #expect(status.output.contains(", build counter 20"), "\(status.output)\(status.errors)")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0))
    }

    @Test func `A bare word is a case without values`() async throws {
        let store = try await CounterStore()
        #expect(try await store.run("send", "increment").end == .exited(0))
        #expect(try await store.run("view").output.contains(#""sync":"1""#))
    }

    @Test func `Inputs from standard input are receipted line by line`() async throws {
        let store = try await CounterStore()
        let lines = String(repeating: "{\"increment\":{}}\n", count: 50)
        let sent = try await store.run("send", "-", input: lines)
        #expect(sent.end == .exited(0), "\(sent.errors)")
        #expect(sent.output.split(separator: "\n").count == 50)
        #expect(try await store.run("view").output.contains(#""sync":"50""#))
    }

    @Test func `A refusal is printed and is no success`() async throws {
        // Without a worker it stays busy.
        let store = try await CounterStore(workers: 0)
        #expect(try await store.run("send", "incrementAsync").end == .exited(0))
        let second = try await store.run("send", "incrementAsync")
        #expect(second.end == .exited(65))
        #expect(second.errors == "error: refused: {\"busy\":{}}\n")
        #expect(try second.json["status"] as? String == "refused")
    }

    @Test func `A view of a turn shows that turn`() async throws {
        let store = try await CounterStore()
        let turn = try #require(try await store.run("send", "increment").json["turn"] as? Int)
        let view = try await store.run("view", "--at-least", "\(turn)")
        #expect(try #require(try view.json["turn"] as? Int) >= turn)
        #expect(view.output.contains(#""sync":"1""#))
    }

    @Test func `The state is inspected and replayed as of any turn`() async throws {
        let store = try await CounterStore()
        let turn = try #require(try await store.run("send", "increment").json["turn"] as? Int)
        #expect(try await store.run("send", "increment").end == .exited(0))
        #expect(try await store.run("inspect").output.contains(#""sync":2"#))
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0))
        #expect(try await store.run("replay", "--state", "--turn", "\(turn)").output.contains(#""sync":1"#))
        #expect(try await store.run("replay", "--state").output.contains(#""sync":2"#))
    }

    @Test func `A store that is killed goes on where it was`() async throws {
        let store = try await CounterStore()
        #expect(try await store.run("send", "increment").end == .exited(0))
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        process.send(SIGKILL)
        #expect(try await store.run("send", "increment", "--timeout", "60s").end == .exited(0))
        #expect(try await store.run("view").output.contains(#""sync":"2""#))
        #expect(try await store.status("starts") == 2)
    }

    @Test func `Fresh archives the old timeline and deletes nothing`() async throws {
        let first = try await CounterStore()
        #expect(try await first.run("send", "increment").end == .exited(0))
        first.up.send(SIGINT)
        #expect(try await first.up.wait() == .exited(0))
        let again = try first.start(["up", "--fresh", "--until-idle"])
        #expect(try await again.wait() == .exited(0))
        #expect(again.errors.contains("archived the old timeline in \(first.data)/archive/"))
        #expect(again.errors.contains("; `journal import` of that, with the store stopped, brings it back as a new one"))
        #expect(again.output.contains("sync  ") || again.output.contains("sync 0"), "\(again.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: first.data + "/archive").count == 1)
    }

    @Test(arguments: [["up", "--until-idle"], ["store"]])
    func `Fresh does not archive the journal of another program`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let other = try Child(Executable.tally, ["up", "--until-idle", "--data", data], in: scratch)
        #expect(try await other.wait() == .exited(0), "\(other.errors)")
        let child = try Child(Executable.counter, command + ["--fresh", "--data", data], in: scratch)
        #expect(try await child.wait() == .exited(78))
        #expect(
            child.errors.contains(
                "\(data) holds the journal of Tally version 1, which is another program: name another folder with --data"),
            "\(child.errors)")
        #expect(!FileManager.default.fileExists(atPath: data + "/archive"))
    }

    @Test func `Fresh waits for who has the folder, and does not archive it unseen`() async throws {
        let store = try await CounterStore(Executable.tally, workers: 0)
        let child = try Child(Executable.counter, ["up", "--fresh", "--data", store.data], in: store.scratch)
        #expect(try await child.wait() == .exited(75))
        #expect(child.errors.contains("\(store.data) is in use by process"), "\(child.errors)")
        try await store.stop()
        #expect(!FileManager.default.fileExists(atPath: store.data + "/archive"))
    }

    @Test func `A store of its own says where it has archived the old timeline`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        for isSecond in [false, true] {
            let store = try Child(Executable.counter, ["store", "--fresh", "--data", data], in: scratch)
            try await eventually("it serves") { store.errors.contains("serving") }
            #expect(store.errors.contains("archived the old timeline in \(data)/archive/") == isSecond)
            store.send(SIGTERM)
            #expect(try await store.wait() == .exited(0))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: data + "/archive").count == 1)
    }

    @Test(arguments: ["text", "json"])
    func `A monitor says on standard error that its store is gone, and prints views alone`(_ format: String) async throws {
        let store = try await CounterStore(workers: 0)
        let monitor = try store.start(["monitor", "--format", format])
        // It hears of the second one as a subscriber.
        try await eventually("it shows views") {
            try await store.increment(1)
            return monitor.output.split(separator: "\n").count > 1
        }
        try await store.stop()
        try await eventually("it is told") { monitor.errors == "no sign of the store; the last view may be old\n" }
    }

    @Test(arguments: [false, true])
    func `The last view that up prints is the newest, however fast it came after another`(isBusy: Bool) async throws {
        let store = try await CounterStore(workers: 0)
        if isBusy { #expect(try await store.run("send", "incrementAsync").end == .exited(0)) }
        for times in [3, 4] { try await store.increment(times) }
        try await eventually("its line is printed: \(store.up.output)") { store.up.output.contains("sync 7,") }
    }

    @Test func `The generic tool needs no program`() async throws {
        let store = try await CounterStore()
        let send = try Child(Executable.samovar, ["send", "increment", "--data", store.data], in: store.scratch)
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        let monitor = try Child(
            Executable.samovar, ["monitor", "--once", "--format", "json", "--data", store.data], in: store.scratch)
        #expect(try await monitor.wait() == .exited(0), "\(monitor.errors)")
        #expect(monitor.output.contains(#""sync":"1""#))
    }

    @Test func `Every command shows an example in its help`() async throws {
        let scratch = try Scratch()
        for command in [
            "up", "store", "worker", "monitor", "send", "view", "inspect", "status", "effects", "replay", "verify", "journal",
        ] {
            let help = try Child(Executable.counter, [command, "--help"], in: scratch)
            #expect(try await help.wait() == .exited(0))
            #expect(help.output.contains("Example: counter \(command)"), "\(command)")
        }
        for command in ["list", "verify", "export", "import", "salvage"] {
            let help = try Child(Executable.counter, ["journal", command, "--help"], in: scratch)
            #expect(try await help.wait() == .exited(0))
            #expect(help.output.contains("Example: counter journal \(command)"), "\(command)")
        }
    }

    @Test func `The help of monitor tells of the past only where there is a program to replay it`() async throws {
        for (executable, hasPast) in [(Executable.counter, true), (Executable.samovar, false)] {
            let help = try await Self.help(executable, "monitor")
            #expect(help.contains("buttons can be pressed, and the past looked at.") == hasPast, "\(help)")
            #expect(help.contains("q leaves. The left arrow, while nothing has the focus, leads to the past") == hasPast)
            #expect(help.contains("the past") == hasPast, "\(help)")
        }
    }

    @Test func `The help of check does not say that an accepted turn is written down`() async throws {
        let (check, store) = (try await Self.help(Executable.counter, "check"), try await Self.help(Executable.counter, "store"))
        #expect(check.contains("--accept-divergence") && store.contains("--accept-divergence"))
        #expect(check.contains("Nothing is written. Give it to `up` or `store` as well."), "\(check)")
        #expect(!check.contains("It is written to the journal.") && store.contains("It is written to the journal."), "\(check)")
    }

    /// With a space wherever a line ends.
    private static func help(_ executable: String, _ command: String) async throws -> String {
        let help = try await Child.run(executable, [command, "--help"])
        #expect(help.end == .exited(0), "\(help.errors)")
        return help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
