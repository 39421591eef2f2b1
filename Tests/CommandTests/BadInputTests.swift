import Foundation
import GRDB
import ProcessSupport
import Testing

/// Every mistake of a person or a machine has an exit code and a sentence that says what to do.
@Suite(.serialized) struct BadInputTests {
    @Test func `An unknown case is named with the allowed ones`() async throws {
        let store = try await CounterStore()
        let sent = try await store.run("send", #"{"increase":{}}"#)
        #expect(sent.end == .exited(65))
        #expect(sent.errors == "error: unknown case \"increase\" for Input; allowed: increment, decrement, incrementAsync\n")
        #expect(try await store.status("turn") > 1, "the store goes on")
    }

    @Test func `A missing field and an extra one are named`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let up = try Child(Executable.path("ReadmeProgram"), ["up", "--workers", "0", "--data", data], in: scratch)
        try await eventually("the store serves") { up.errors.contains("serving") }
        for (input, text) in [
            (#"{"greet":{}}"#, "missing field \"greet.name\" in Message.greet; allowed: name"),
            (#"{"greet":{"name":"Ada","age":36}}"#, "unknown field \"greet.age\" in Message.greet; allowed: name"),
            (#"{"greet":{"name":7}}"#, "field \"greet.name\": expected a string, found an integer"),
        ] {
            let sent = try Child(Executable.path("ReadmeProgram"), ["send", input, "--data", data], in: scratch)
            #expect(try await sent.wait() == .exited(65))
            #expect(sent.errors.contains(text), "\(sent.errors)")
        }
    }

    @Test func `What is no JSON is said to be none`() async throws {
        let store = try await CounterStore(workers: 0)
        let sent = try await store.run("send", #"{"increment":"#)
        #expect(sent.end == .exited(65))
        #expect(sent.errors.hasPrefix("error: the input is no JSON: "), "\(sent.errors)")
    }

    @Test(arguments: [["send", "increment"], ["monitor", "--once"], ["view"], ["status"], ["effects"]])
    func `Without a store a command ends by itself and names the endpoint`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.counter, command + ["--data", scratch.folder("none")], in: scratch)
        #expect(try await child.wait() == .exited(69))
        #expect(child.errors.contains("no store answers at ipc://\(scratch.folder("run"))/"), "\(child.errors)")
        #expect(child.errors.contains(", for 3 s now; is it running?"), "\(child.errors)")
    }

    @Test(arguments: [["send", "increment"], ["view"]])
    func `A timeout decides how long a store is waited for, be it shorter`(_ command: [String]) async throws {
        let scratch = try Scratch()
        func start(_ timeout: String) throws -> Child {
            try Child(Executable.counter, command + ["--timeout", timeout, "--data", scratch.folder("none")], in: scratch)
        }
        let patient = try start("60s")
        let child = try start("400ms")
        #expect(try await child.wait() == .exited(69))
        #expect(patient.end == nil, "who waits longer was started before it")
        #expect(child.errors.contains(", for 400 ms now; is it running?"), "\(child.errors)")
    }

    @Test(arguments: [["send", "increment"], ["view"]])
    func `A timeout decides how long a store is waited for, be it longer`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let begun = ContinuousClock.now
        let child = try Child(
            Executable.counter, command + ["--timeout", "4s", "--data", scratch.folder("none")], in: scratch)
        #expect(try await child.wait() == .exited(69))
        #expect(ContinuousClock.now - begun >= .seconds(4))
        #expect(child.errors.contains(", for 4 s now; is it running?"), "\(child.errors)")
    }

    @Test(arguments: [
        (["replay", "--turn", "-1"], "--turn -1 is no turn: they are numbered from 1"),
        (["replay", "--turn=-1"], "--turn -1 is no turn: they are numbered from 1"),
        (["journal", "list", "--from", "-1"], "--from -1 is no turn: they are numbered from 1"),
        (["journal", "list", "--to", "-2"], "--to -2 is before --from 1"),
        (["journal", "list", "--last", "0"], "--last 0 is no number of turns: at least 1"),
        (["journal", "list", "--last", "5", "--from", "3"], "--last goes without --from and --to"),
        (["journal", "salvage", "--upto", "-1"], "--upto -1 is no turn: they are numbered from 1"),
        (["view", "--at-least", "-1"], "--at-least -1 is no turn: they are numbered from 1"),
        (["store", "--accept-divergence", "-1"], "--accept-divergence -1 is no turn: they are numbered from 1"),
        (["check", "--accept-divergence", "0"], "--accept-divergence 0 is no turn: they are numbered from 1"),
        (["up", "--workers", "-1"], "--workers -1 is not between 0 and 1024"),
        (["worker", "--slots", "-1"], "--slots -1 is not between 1 and 65536"),
        (["worker", "--queue", "http=0"], "--queue http=0: write NAME, or NAME=4 for at most 4 of its jobs at once"),
        (["worker", "--queue", ""], "--queue : write NAME, or NAME=4 for at most 4 of its jobs at once"),
        (["worker", "--queue", "default,http=4"], "of its jobs at once, and several with spaces between"),
        (["queues", "--pause", "--queue", ""], "--queue is empty: give the name of a queue"),
        (["worker", "--can", "gpu", ""], "--can : a name has from 1 to 128 bytes"),
        (["worker", "--can", String(repeating: "g", count: 129)], "a name has from 1 to 128 bytes"),
        (["up", "--can"] + (0...64).map { "c\($0)" }, "--can names 65 capabilities; 64 at most"),
        (["worker", "--read-ahead", "-1"], "--read-ahead -1 is not between 0 and 65536"),
        (["send", "increment", "--timeout", "0"], "--timeout 0 s is no time: more than 0s"),
        (["view", "--timeout", "0ms"], "--timeout 0 s is no time: more than 0s"),
        (["effects", "--limit", "0"], "--limit 0 is not between 1 and 1000"),
        (["queues", "--rule", "--queue", "http", "--rate", "0"], "--rate 0 is no number of attempts: at least 1"),
        (["queues", "--rule", "--queue", "http", "--rate", "1", "--burst", "0"], "--burst 0 is no number of attempts: at least 1"),
        (["queues", "--rule", "--queue", "http", "--rate", "1", "--per", "0s"], "--per 0 s is no time: more than 0s"),
        (["queues", "--rule", "--queue", "http", "--rate", "1", "--per", "25h"], "--per 90000 s is too long: at most 24h"),
    ])
    func `A negative number is read and refused with its range`(_ command: [String], _ text: String) async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.counter, command + ["--data", scratch.folder("none")], in: scratch)
        let end = try await child.wait()
        #expect(end == .exited(64) || end == .exited(78))
        #expect(child.errors.contains(text), "\(child.errors)")
    }

    @Test func `A name that is none of an effect is refused, be a store there or not`() async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.counter, ["effects", "foo", "--data", scratch.folder("none")], in: scratch)
        #expect(try await child.wait() == .exited(65))
        #expect(child.errors.contains("“foo” is not an effect; name it as turn/ordinal"), "\(child.errors)")
    }

    @Test func `Who waits for a store for long is told so after the usual time`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("none")
        let child = try Child(Executable.counter, ["outputs", "--follow", "--data", data], in: scratch)
        try await eventually("it says what it waits for") {
            child.errors.contains("no store answers at ipc://\(scratch.folder("run"))/")
                && child.errors.contains("for 3 s now; is it running? start one with `up`. It is waited for\n")
        }
        #expect(child.end == nil)
    }

    @Test func `An import of the journal that it would replace is refused`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let child = try Child(Executable.counter, ["journal", "import", data + "/.", "--data", data], in: scratch)
        #expect(try await child.wait() == .exited(64))
        #expect(child.errors == "error: \(data)/. is the journal that is to be replaced: name another one\n")
    }

    @Test func `A second store on a data folder is told who has it`() async throws {
        let store = try await CounterStore(workers: 0)
        let owner = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        let second = try store.start(["store"])
        let notice = "\(store.data) is in use by process \(owner.id): waiting for it for at most 5.0 seconds"
        try await eventually("it says what it waits for") { second.errors.contains(notice) }
        #expect(second.end == nil, "a store that is about to end may let it go")
        #expect(try await second.wait() == .exited(75))
        #expect(second.errors.contains("\(store.data) is in use by process \(owner.id)"), "\(second.errors)")
    }

    @Test func `A second up on a data folder shows none of the views of the store that has it`() async throws {
        let store = try await CounterStore(workers: 0)
        let second = try store.start(["up", "--workers", "0"])
        #expect(try await second.wait() == .exited(75))
        #expect(second.output == "")
        #expect(second.errors.contains("error: \(store.data) is in use by process "), "\(second.errors)")
    }

    @Test(arguments: [["up"], ["up", "--fresh"]])
    func `A data folder that cannot be used is not one to try later`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let file = scratch.folder("file")
        try Data().write(to: URL(filePath: file))
        let up = try Child(Executable.counter, command + ["--data", file], in: scratch)
        #expect(try await up.wait() == .exited(74), "\(up.errors)")
        #expect(up.errors.contains(file), "\(up.errors)")
    }

    @Test func `Another seed for a used data folder is a mistake`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        try FileManager.default.createDirectory(atPath: scratch.folder("empty"), withIntermediateDirectories: false)
        func up(_ root: String) throws -> Child {
            try Child(Executable.dupes, ["up", "--until-idle", "--data", data, "--seed", #"{"root":"\#(root)"}"#], in: scratch)
        }
        #expect(try await up(scratch.folder("empty")).wait() == .exited(0))
        let other = try up("/usr/share/doc")
        #expect(try await other.wait() == .exited(78))
        #expect(other.errors.contains("was begun with another seed"), "\(other.errors)")
        #expect(other.errors.contains("--fresh") && other.errors.contains("--data"))
        #expect(try await up(scratch.folder("empty")).wait() == .exited(0), "its own seed is welcome")
    }

    @Test func `A seed that the program cannot read starts nothing`() async throws {
        let scratch = try Scratch()
        let up = try Child(
            Executable.dupes, ["up", "--until-idle", "--data", scratch.folder("data"), "--seed", #"{"rot":"/usr"}"#], in: scratch)
        #expect(try await up.wait() == .exited(78))
        let text = "the seed cannot be read: missing field \"root\" in Seed; allowed: root, minimumSize"
        #expect(up.errors.contains(text), "\(up.errors)")
    }

    @Test func `A program without a seed takes none`() async throws {
        let scratch = try Scratch()
        for seed in [#"{"root":5}"#, "5"] {
            let up = try Child(Executable.counter, ["up", "--data", scratch.folder("data"), "--seed", seed], in: scratch)
            #expect(try await up.wait() == .exited(78))
            #expect(up.errors.contains("the program Counter takes no seed"), "\(up.errors)")
        }
        let up = try Child(
            Executable.counter, ["up", "--until-idle", "--data", scratch.folder("data"), "--seed", "{}"], in: scratch)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    @Test func `A seed may be in a file, and is the one that the file held at the start`() async throws {
        let scratch = try Scratch()
        let file = try scratch.write(#"{"root":"\#(scratch.path)/none"}"#, to: "seed.json")
        func up(_ seed: String, _ data: String) throws -> Child {
            try Child(
                Executable.dupes, ["up", "--until-idle", "--data", scratch.folder(data), "--seed", seed], in: scratch)
        }
        let missing = try up("@\(file).old", "data")
        #expect(try await missing.wait() == .exited(78))
        #expect(missing.errors.contains("the seed: cannot read \(file).old: No such file or directory"), "\(missing.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("data")))
        try FileManager.default.createDirectory(atPath: scratch.folder("none"), withIntermediateDirectories: false)
        #expect(try await up("@\(file)", "data").wait() == .exited(0))
        try scratch.write(#"{"root":"/usr/share/doc"}"#, to: "seed.json")
        #expect(try await up("@\(file)", "data").wait() == .exited(78))
        try scratch.write("root: none", to: "seed.json")
        let noJSON = try up("@\(file)", "other")
        #expect(try await noJSON.wait() == .exited(78))
        #expect(noJSON.errors.contains("the seed is no JSON: "), "\(noJSON.errors)")
    }

    @Test func `A mistake in a config file is named with file and key`() async throws {
        let scratch = try Scratch()
        let unknown = try scratch.write("store:\n  windw: 5\n", to: "unknown.yaml")
        let wrong = try scratch.write("store:\n  window: many\n", to: "wrong.yaml")
        for (file, text) in [(unknown, "store.windw"), (wrong, "store.window")] {
            let store = try Child(Executable.counter, ["store", "--data", scratch.folder("data"), "--config", file], in: scratch)
            #expect(try await store.wait() == .exited(78))
            #expect(store.errors.contains(file) && store.errors.contains(text), "\(store.errors)")
        }
    }

    @Test func `A worker of another program is refused and both sides say why`() async throws {
        let store = try await CounterStore(workers: 0)
        let worker = try Child(
            Executable.dupes, ["worker", "--data", store.data], in: store.scratch)
        #expect(try await worker.wait() == .exited(78))
        let reason = "this store runs Counter version 1; the worker is built for Dupes version 1"
        #expect(worker.errors.contains(reason), "\(worker.errors)")
        #expect(store.up.errors.contains(reason), "\(store.up.errors)")
    }

    @Test func `The journal of another program is not replayed`() async throws {
        let store = try await CounterStore(workers: 0)
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0))
        let replay = try Child(Executable.dupes, ["replay", "--data", store.data], in: store.scratch)
        #expect(try await replay.wait() == .exited(78))
        #expect(replay.errors.contains("holds the journal of Counter version 1; this program is Dupes version 1"))
    }

    @Test func `A damaged journal refuses to start and names the batch`() async throws {
        let store = try await CounterStore(workers: 0)
        for _ in 0..<3 { #expect(try await store.run("send", "increment").end == .exited(0)) }
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0))
        // A snapshot would spare the store the look at it.
        try store.removeSnapshots()
        let first = try await DatabaseQueue(path: store.data + "/journal.sqlite").write { database in
            let first = try #require(try Int.fetchOne(database, sql: "SELECT first FROM batches ORDER BY first LIMIT 1 OFFSET 2"))
            try database.execute(sql: "UPDATE batches SET data = CAST(data || x'00' AS BLOB) WHERE first = ?", arguments: [first])
            return first
        }
        let again = try await store.run("store")
        #expect(again.end == .exited(65))
        #expect(again.errors.contains("\(first)") && again.errors.contains("batch"), "\(again.errors)")
    }

    @Test func `A queue that nobody serves is warned of and named in the receipt`() async throws {
        let store = try await CounterStore(workers: 0)
        let sent = try await store.run("send", "incrementAsync", "--wait", "settled", "--timeout", "5s")
        #expect(sent.end == .exited(75))
        #expect(sent.errors.contains("1 effect waits in queue default, no worker serves it"), "\(sent.errors)")
        try await eventually("the store warns") {
            store.up.errors.contains("1 effect waits in queue default, and no worker serves it")
        }
    }

    @Test func `Beyond loopback nothing listens`() async throws {
        let scratch = try Scratch()
        let store = try Child(
            Executable.counter, ["store", "--data", scratch.folder("data"), "--endpoint", "tcp://0.0.0.0:7700"], in: scratch)
        #expect(try await store.wait() == .exited(78))
        #expect(store.errors.contains("beyond loopback"), "\(store.errors)")
    }
}
