import Foundation
import ProcessSupport
import Testing

/// One endpoint is one store's, whatever data folders there are.
@Suite struct EndpointTests {
    @Test func `A second store with another data folder is refused and told the endpoint and who has it`() async throws {
        let scratch = try Scratch()
        let endpoint = "ipc://" + scratch.folder("sockets")
        let first = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("a"), arguments: ["--endpoint", endpoint])
        let sent = try Child(Executable.counter, ["send", "increment", "--endpoint", endpoint], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        let owner = try #require(ProcessTable.all(naming: first.data).first { $0.command == "store" })
        let second = try Child(
            Executable.counter, ["store", "--data", scratch.folder("b"), "--endpoint", endpoint], in: scratch)
        #expect(try await second.wait() == .exited(75))
        #expect(
            second.errors.contains(
                "error: another store, process \(owner.id), listens at \(endpoint): name another endpoint for this one, or end the other"
            ), "\(second.errors)")
        let view = try Child(Executable.counter, ["view", "--endpoint", endpoint], in: scratch)
        #expect(try await view.wait() == .exited(0), "\(view.errors)")
        #expect(view.output.contains(#""sync":"1""#), "the first one still serves")
        try await first.stop()
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("sockets")), "nothing is left of an orderly end")
    }

    @Test func `The sockets may be in the data folder`() async throws {
        let scratch = try Scratch()
        let folder = scratch.folder("all")
        let store = try await CounterStore(workers: 0, in: scratch, data: folder, arguments: ["--endpoint", "ipc://" + folder])
        let sent = try Child(Executable.counter, ["send", "increment", "--endpoint", "ipc://" + folder], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await store.stop()
        let again = try await CounterStore(workers: 0, in: scratch, data: folder, arguments: ["--endpoint", "ipc://" + folder])
        try await again.stop()
    }

    @Test func `What a killed store has left hinders no other`() async throws {
        let scratch = try Scratch()
        let endpoint = "ipc://" + scratch.folder("sockets")
        let first = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("a"), arguments: ["--endpoint", endpoint])
        try await first.kill()
        #expect(FileManager.default.fileExists(atPath: scratch.folder("sockets/store.lock")), "it was killed with its files there")
        let arguments = ["--endpoint", endpoint]
        let second = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("b"), arguments: arguments)
        let sent = try Child(Executable.counter, ["send", "increment", "--endpoint", endpoint], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await second.stop()
    }

    // MARK: Beyond the folder

    @Test func `A store with ports is in its folder, too, and the workers of up come in there`() async throws {
        let scratch = try Scratch()
        let endpoint = "tcp://127.0.0.1:\(try Ports.free())"
        let store = try await CounterStore(workers: 1, in: scratch, arguments: ["--endpoint", endpoint, "--insecure-tcp"])
        let worker = try #require(ProcessTable.all(naming: store.data).first { $0.command == "worker" })
        let words = try String(contentsOfFile: "/proc/\(worker.id)/cmdline", encoding: .utf8)
        #expect(words.contains("ipc://") && !words.contains("tcp://"), "\(words)")
        for place in [["--data", store.data], ["--endpoint", endpoint]] {
            let sent = try Child(Executable.counter, ["send", "incrementAsync", "--wait", "settled"] + place, in: scratch)
            #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        }
        try await store.stop()
    }

    @Test(arguments: [false, true])
    func `A store that finds its endpoint taken when it is started again is tried until it serves`(hasPorts: Bool) async throws {
        let scratch = try Scratch()
        let endpoint = hasPorts ? "tcp://127.0.0.1:\(try Ports.free())" : "ipc://" + scratch.folder("sockets")
        let arguments = ["--endpoint", endpoint] + (hasPorts ? ["--insecure-tcp"] : [])
        let store = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("one"), arguments: arguments)
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        let supervisor = try #require(ProcessTable.entry(store.up.id))
        supervisor.send(SIGSTOP)
        try await eventually("up is stopped") { supervisor.isStopped }
        process.send(SIGKILL)
        try await eventually("the store has died") { ProcessTable.entry(process.id) == nil }
        let other = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("two"), arguments: arguments)
        supervisor.send(SIGCONT)
        let told =
            hasPorts
            ? "error: cannot listen at \(endpoint): bind \(endpoint): Address already in use, by another store or program: "
            : "error: another store, process "
        try await eventually("the endpoint is taken: \(store.up.errors)") { store.up.errors.contains(told) }
        try await other.stop()
        try await eventually("it serves again: \(store.up.errors)") {
            store.up.errors.components(separatedBy: "] serving").count == 3
        }
        try await store.stop()
    }

    @Test func `A peer finds its store at whichever of several endpoints it is, and operators do, too`() async throws {
        let scratch = try Scratch()
        let store = try await CounterStore(workers: 0, in: scratch, arguments: ["--endpoint", "ipc://" + scratch.folder("b")])
        let places = "tcp://127.0.0.1:\(try Ports.free()),ipc://\(scratch.folder("a")),ipc://\(scratch.folder("b"))"
        for command in [["send", "increment"], ["view"], ["monitor", "--once"], ["status"], ["effects"], ["queues"], ["outputs"]] {
            let child = try Child(Executable.counter, command + ["--endpoint", places], in: scratch)
            #expect(try await child.wait() == .exited(0), "\(command): \(child.errors)")
        }
        try await store.stop()
    }

    /// The folder that a command takes by itself, or that a variable names for other commands, may be another store's.
    @Test(arguments: [
        ["status"], ["inspect"], ["effects"], ["metrics"], ["queues", "--pause", "--queue", "default"],
        ["journal", "export", "copy"],
        ["keys", "reload"],
    ])
    func `Without a key an operator is not led from a port to a folder that nobody has named`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let place = "tcp://127.0.0.1:\(try Ports.free())"
        for variables in [[:], ["SAMOVAR_DATA": scratch.folder("data")]] {
            let child = try Child(Executable.counter, command + ["--endpoint", place], in: scratch, variables: variables)
            #expect(try await child.wait() == .exited(78), "\(child.output)")
            #expect(
                child.errors
                    == "error: \(place) takes operators with a key alone: name one with --key, or the store's data folder with --data\n"
            )
        }
    }

    @Test func `Who names the port of a store pauses no queue of the store whose folder a variable names`() async throws {
        let scratch = try Scratch()
        let store = try await CounterStore(workers: 0, in: scratch)
        let words = ["queues", "--pause", "--queue", "default", "--endpoint", "tcp://127.0.0.1:\(try Ports.free())"]
        let pause = try Child(Executable.counter, words, in: scratch, variables: ["SAMOVAR_DATA": store.data])
        #expect(try await pause.wait() == .exited(78), "\(pause.output)")
        #expect(try await store.run("queues", "--resume", "--queue", "default").errors == "queue default was not paused\n")
        try await store.stop()
    }

    @Test func `A page of a store that --endpoint names keeps its token in no folder of a variable`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let page = try Child(
            Executable.tally, ["web", "--port", "0", "--endpoint", "ipc://" + scratch.folder("sockets")], in: scratch,
            variables: ["SAMOVAR_DATA": data])
        try await eventually("the page is there: \(page.errors)") { page.output.contains("the page is at ") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: data).isEmpty)
        page.send(SIGTERM)
        #expect(try await page.wait() == .exited(0), "\(page.errors)")
    }

    @Test func `An endpoint in a file of settings is that of the store whose data folder the file has`() async throws {
        let scratch = try Scratch()
        let file = try scratch.write("endpoint: tcp://127.0.0.1:\(try Ports.free())\ninsecureTcp: true\n", to: "settings.yaml")
        let child = try Child(Executable.counter, ["status", "--config", file], in: scratch)
        #expect(try await child.wait() == .exited(69), "\(child.errors)")
        #expect(child.errors.contains("no store answers at ipc://"), "\(child.errors)")
    }

    @Test(arguments: [
        ["replay"], ["journal", "list"], ["journal", "verify"], ["why", "state.sync"], ["diff", "1"], ["verify"],
        ["journal", "import", "backup"], ["journal", "salvage", "--accept-loss"],
    ])
    func `Who names an endpoint to a command that reads or replaces a journal does not meet that of another store`(
        _ command: [String]
    ) async throws {
        let scratch = try Scratch()
        let endpoint = "ipc://" + scratch.folder("sockets")
        for (place, flags, variables) in [
            ("--endpoint", ["--endpoint", endpoint], [:]),
            ("--endpoint", ["--endpoint", endpoint], ["SAMOVAR_DATA": scratch.folder("data")]),
            ("SAMOVAR_ENDPOINT", [], ["SAMOVAR_ENDPOINT": endpoint]),
        ] as [(String, [String], [String: String])] {
            let child = try Child(Executable.counter, command + flags, in: scratch, variables: variables)
            #expect(try await child.wait() == .exited(64), "\(child.output)")
            #expect(
                child.errors.hasPrefix("error: \(place) does not lead to a journal, which this command needs: name "),
                "\(child.errors)")
        }
    }

    @Test func `A relative folder of sockets is below the one in which a command works`() async throws {
        let scratch = try Scratch()
        let (here, elsewhere) = (scratch.folder("here"), scratch.folder("elsewhere"))
        for folder in [here, elsewhere] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        func start(_ arguments: [String], in folder: String) throws -> Child {
            let words = ["-c", #"cd "$1" && shift && exec "$@""#, "sh", folder, Executable.counter] + arguments
            return try Child(
                "sh", words + ["--data", scratch.folder("data")], in: scratch, variables: ["SAMOVAR_RUNTIME_DIR": "sockets"])
        }
        let up = try start(["up", "--workers", "1"], in: here)
        try await eventually("the store serves: \(up.errors)") { up.errors.contains("serving") }
        let sent = try start(["send", "incrementAsync", "--wait", "settled"], in: here)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        let lost = try start(["status"], in: elsewhere)
        #expect(try await lost.wait() == .exited(69))
        #expect(lost.errors.contains("\(elsewhere)/sockets/"), "\(lost.errors)")
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    @Test(arguments: [["view"], ["status"], ["worker"], ["up", "--until-idle"], ["store"]])
    func `A folder of sockets whose path is too long is named with the variable that leads there`(_ command: [String]) async throws
    {
        let scratch = try Scratch()
        let child = try Child(
            Executable.counter, command + ["--data", scratch.folder("data")], in: scratch,
            variables: ["SAMOVAR_RUNTIME_DIR": "/tmp/" + String(repeating: "x", count: 120)])
        #expect(try await child.wait() == .exited(78), "\(child.errors)")
        #expect(child.errors.contains(": a socket's path has at most "), "\(child.errors)")
        #expect(child.errors.hasSuffix(": take a shorter SAMOVAR_RUNTIME_DIR or ipc:// folder\n"), "\(child.errors)")
    }

    @Test(arguments: [["view", "--timeout", "1s"], ["status"]])
    func `Who has the folder and is not found is named`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let store = try await CounterStore(workers: 0, in: scratch)
        let owner = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        let child = try store.start(command, variables: ["SAMOVAR_RUNTIME_DIR": scratch.folder("other")])
        #expect(try await child.wait() == .exited(69))
        #expect(
            child.errors.contains(
                "; process \(owner.id) has the folder: it may still be starting, follow a journal that another store has, stand still, "
                    + "be another user's, or have another SAMOVAR_RUNTIME_DIR"), "\(child.errors)")
        try await store.stop()
    }

    @Test func `A list that nobody is at is told as a whole`() async throws {
        let scratch = try Scratch()
        let places = "tcp://127.0.0.1:\(try Ports.free()),ipc://\(scratch.folder("a"))"
        let child = try Child(Executable.counter, ["view", "--timeout", "500ms", "--endpoint", places], in: scratch)
        #expect(try await child.wait() == .exited(69))
        #expect(child.errors.contains("no store answers at \(places)/front, for 500 ms now"), "\(child.errors)")
    }

    // MARK: Keys

    private func key(in scratch: Scratch) async throws -> String {
        let folder = scratch.folder("keys")
        let file = scratch.folder("shop.key")
        let made = try Child(
            Executable.counter, ["keys", "new", "shop", "--role", "client", "--keys", folder, "--out", file], in: scratch)
        #expect(try await made.wait() == .exited(0), "\(made.errors)")
        return file
    }

    @Test(arguments: [["view"], ["send", "increment"], ["monitor", "--once"], ["status"], ["queues"]])
    func `Whoever is asked for a key, or has one of another store, is told at once, with 77`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let key = try await key(in: scratch)
        let endpoint = "tcp://127.0.0.1:\(try Ports.free())"
        let store = try await CounterStore(workers: 0, in: scratch, arguments: ["--endpoint", endpoint, "--insecure-tcp"])
        let child = try Child(Executable.counter, command + ["--endpoint", endpoint, "--key", key], in: scratch)
        let end = try await child.wait()
        guard command != ["status"], command != ["queues"] else {
            // Nobody is at the port of operators, which takes keys.
            #expect(end == .exited(69), "\(child.errors)")
            return try await store.stop()
        }
        // A timeout that was waited for would be 69 or 75.
        #expect(end == .exited(77), "\(child.errors)")
        #expect(child.errors.contains("is no store, or has none of the keys that \(key) names"), "\(child.errors)")
        #expect(child.errors.split(separator: "\n").count == 1, "\(child.errors)")
        try await store.stop()
    }

    @Test func `A worker goes on trying where its key is not taken, and says so once`() async throws {
        let scratch = try Scratch()
        let key = try await key(in: scratch)
        let endpoint = "tcp://127.0.0.1:\(try Ports.free())"
        let store = try await CounterStore(workers: 0, in: scratch, arguments: ["--endpoint", endpoint, "--insecure-tcp"])
        let worker = try Child(Executable.counter, ["worker", "--endpoint", endpoint, "--key", key], in: scratch)
        let text = "the store does not let this worker in, which is tried again: "
        try await eventually("it is told") { worker.errors.contains(text) }
        try await Task.sleep(for: .seconds(3))
        #expect(worker.errors.split(separator: text).count == 2, "\(worker.errors)")
        #expect(worker.end == nil)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(0))
        try await store.stop()
    }

    @Test(arguments: [
        (["--endpoint", "tcp://store.example"], "where anybody could answer: connect there with a key, --key FILE"),
        (["--endpoint", "tcp://127.0.0.1:40000"], "has no port between 1 and 32764"),
        (["--endpoint", "tcp://*"], "stands for all addresses of a machine"),
        (["--endpoint", "tcp://store.example", "--key", "none.key"], "none.key cannot be opened"),
    ])
    func `A mistake in endpoint or key is told before anything is tried`(_ arguments: [String], _ text: String) async throws {
        let scratch = try Scratch()
        for command in [["view"], ["worker"], ["status"]] {
            let child = try Child(Executable.counter, command + arguments, in: scratch)
            #expect(try await child.wait() == .exited(78), "\(child.errors)")
            #expect(child.errors.contains(text), "\(child.errors)")
        }
    }

    @Test func `A store beyond loopback without keys is refused, whatever is allowed`() async throws {
        let scratch = try Scratch()
        let store = try Child(
            Executable.counter,
            ["store", "--data", scratch.folder("data"), "--insecure-tcp", "--endpoint", "tcp://0.0.0.0:7700"], in: scratch)
        #expect(try await store.wait() == .exited(78))
        #expect(store.errors.contains("a store listens there only with keys; make them with `keys`"), "\(store.errors)")
    }
}
