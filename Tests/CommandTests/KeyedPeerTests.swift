import Foundation
import ProcessSupport
import Testing

/// Commands at a store that has keys, over TCP, as from another machine.
@Suite struct KeyedPeerTests {
    private let scratch: Scratch
    private let port: Int
    private var keys: String { scratch.folder("keys") }

    init() throws {
        scratch = try Scratch()
        port = try Ports.free()
    }

    private func keysCommand(_ arguments: String...) async throws {
        let child = try Child(Executable.counter, ["keys"] + arguments + ["--keys", keys], in: scratch)
        #expect(try await child.wait() == .exited(0), "\(child.errors)")
    }

    /// The file of a new key.
    private func key(_ name: String, _ role: String) async throws -> String {
        let file = scratch.folder("\(name).key")
        try await keysCommand("new", name, "--role", role, "--out", file)
        return file
    }

    private func store(workers: Int = 0) async throws -> CounterStore {
        try await CounterStore(
            workers: workers, in: scratch, arguments: ["--endpoint", "tcp://127.0.0.1:\(port)", "--keys", keys])
    }

    private func run(_ command: [String], _ key: String, host: String = "127.0.0.1") async throws -> Child {
        let child = try Child(Executable.counter, command + ["--endpoint", "tcp://\(host):\(port)", "--key", key], in: scratch)
        try await child.wait()
        return child
    }

    @Test func `Each role does its own over the network, and another's is refused with 77, at once`() async throws {
        let files = (
            viewer: try await key("v", "viewer"), client: try await key("c", "client"), worker: try await key("w", "worker"),
            operator: try await key("o", "operator")
        )
        let store = try await store(workers: 1)
        let allowed = [
            (["view"], files.viewer), (["monitor", "--once"], files.viewer), (["view"], files.client),
            (["send", "incrementAsync", "--wait", "settled"], files.client), (["outputs"], files.client),
            (["status"], files.operator), (["effects"], files.operator), (["queues"], files.operator),
            (["inspect"], files.operator), (["view"], files.operator), (["keys", "reload"], files.operator),
        ]
        for (command, key) in allowed {
            let child = try await run(command, key)
            #expect(child.end == .exited(0), "\(command) \(key): \(child.errors)")
        }
        let refused = [
            (["send", "increment"], files.viewer), (["view"], files.worker), (["status"], files.client),
            (["inspect"], files.worker),
        ]
        for (command, key) in refused {
            let begun = ContinuousClock.now
            let child = try await run(command, key)
            #expect(child.end == .exited(77), "\(command) \(key): \(child.errors)")
            #expect(.now - begun < .seconds(10), "\(command): no timeout was waited for")
        }
        try await store.stop()
    }

    @Test func `Who exports traces asks a store over the network for its attempts with the key of an operator`() async throws {
        let files = (client: try await key("c", "client"), operator: try await key("o", "operator"))
        let store = try await store(workers: 1)
        #expect(try await run(["send", "incrementAsync", "--wait", "settled"], files.client).end == .exited(0))
        let command = ["trace", "--attempts", "--data", store.data]
        let told = try await run(command, files.operator)
        #expect(told.end == .exited(0) && told.output.contains(#""key":"samovar.worker""#), "\(told.output)\(told.errors)")
        let refused = try await run(command, files.client)
        #expect(refused.end == .exited(77) && refused.output.isEmpty, "\(refused.output)\(refused.errors)")
        try await store.stop()
    }

    @Test(arguments: ["viewer", "operator"])
    func `A load test with a key that may not send is refused with 77 before it begins`(_ role: String) async throws {
        let file = try await key("k", role)
        let store = try await store()
        let load = try await run(["load", "--rate", "50", "--duration", "1s", "--json"], file)
        #expect(load.end == .exited(77) && load.output.isEmpty, "\(load.output)")
        let reason = "load sends inputs, which this key may not: reading outputs is not for the key k, which is for \(role)s"
        #expect(load.errors.contains(reason), "\(load.errors)")
        try await store.stop()
    }

    @Test func `An input of a case that is not for its key is rejected, and send ends with 65 as for any other`() async throws {
        let file = scratch.folder("c.key")
        try await keysCommand("new", "c", "--role", "client", "--input", "incrementAsync", "--out", file)
        let store = try await store(workers: 1)
        let rejected = try await run(["send", "increment"], file)
        #expect(rejected.end == .exited(65), "\(rejected.errors)")
        #expect(rejected.output == #"{"status":"rejected","reason":"the key c may not send increment"}"# + "\n")
        #expect(try await run(["send", "incrementAsync"], file).end == .exited(0))
        try await store.stop()
    }

    /// The name is this machine's, and no `localhost` to us: it is looked up.
    @Test func `A store is found by a name, with each of its addresses tried`() async throws {
        let client = try await key("c", "client")
        let store = try await store()
        let child = try await run(["send", "increment"], client, host: "LOCALHOST")
        #expect(child.end == .exited(0), "\(child.errors)")
        let unknown = try await run(["view", "--timeout", "1s"], client, host: "a--b.invalid")
        #expect(unknown.end == .exited(69), "\(unknown.errors)")
        #expect(unknown.errors.contains("no store answers at tcp://a--b.invalid:\(port)"), "\(unknown.errors)")
        try await store.stop()
    }

    @Test func `What up hears by SIGHUP its store does: it reads the keys, and nothing ends`() async throws {
        let client = try await key("c", "client")
        let store = try await store()
        #expect(try await run(["send", "increment"], client).end == .exited(0))
        try await keysCommand("revoke", "c")
        store.up.send(SIGHUP)
        try await eventually("the key is none any more") {
            try await run(["view", "--timeout", "1s"], client).end == .exited(77)
        }
        #expect(store.up.end == nil)
        try await store.stop()
    }

    @Test func `What the log says while a panel is shown is written when the terminal is given back`() async throws {
        let file = try await key("v", "viewer")
        let client = try await key("c", "client")
        let store = try await store()
        let terminal = try PseudoTerminal(
            Executable.counter, ["monitor", "--endpoint", "tcp://127.0.0.1:\(port)", "--key", file], in: scratch)
        try await eventually("the view is shown: \(terminal.text)") { terminal.text.contains("sync") }
        let line = "the store does not let this client in, which is tried again: "
        func reload() async throws {
            let reload = try Child(Executable.counter, ["keys", "reload", "--data", store.data], in: scratch)
            #expect(try await reload.wait() == .exited(0), "\(reload.errors)")
        }
        try await keysCommand("revoke", "v")
        try await reload()
        try await eventually("the store has refused it") { store.up.errors.contains(" is not let in at ") }
        try await eventually("the panel tells of it: \(terminal.text)") { terminal.text.contains("no sign of the store") }
        try FileManager.default.removeItem(atPath: file)
        _ = try await key("v", "viewer")
        try await reload()
        #expect(try await run(["send", "increment"], client).end == .exited(0))
        try await eventually("it is let in again: \(terminal.text)") { !terminal.text.contains("no sign of the store") }
        #expect(!terminal.output.contains(line))
        terminal.type("q")
        #expect(try await eventually("the monitor ends") { terminal.end() } == .exited(0))
        try await eventually("the line is there") { terminal.output.contains(line) }
        try await store.stop()
    }

    @Test func `A worker whose key is revoked goes on trying, and comes back with the one that its file holds then`() async throws {
        let file = try await key("w", "worker")
        let client = try await key("c", "client")
        let store = try await store()
        let worker = try Child(
            Executable.counter, ["worker", "--endpoint", "tcp://127.0.0.1:\(port)", "--key", file], in: scratch)
        func isServed() async throws -> Bool {
            try await run(["send", "incrementAsync", "--wait", "settled", "--timeout", "10s"], client).end == .exited(0)
        }
        #expect(try await isServed())
        try await keysCommand("revoke", "w")
        let reload = try Child(Executable.counter, ["keys", "reload", "--data", store.data], in: scratch)
        #expect(try await reload.wait() == .exited(0), "\(reload.errors)")
        try await eventually("it is told") { worker.errors.contains("the store does not let this worker in") }
        try FileManager.default.removeItem(atPath: file)
        _ = try await key("w", "worker")
        let again = try Child(Executable.counter, ["keys", "reload", "--data", store.data], in: scratch)
        #expect(try await again.wait() == .exited(0), "\(again.errors)")
        #expect(try await isServed())
        #expect(worker.end == nil)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(0))
        try await store.stop()
    }
}
