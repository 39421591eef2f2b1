import Foundation
import ProcessSupport
import Testing

/// A running program, the counter unless another is named, as a person would start it, and the commands that a person would try on it.
final class CounterStore: Sendable {
    let scratch: Scratch
    let data: String
    let up: Child
    let executable: String

    /// - Parameters:
    ///   - workers: of the program's own; 0 if the test brings its own.
    ///   - variables: for `up` and all that it starts.
    init(
        _ executable: String = Executable.counter, workers: Int = 1, in scratch: Scratch? = nil, data: String? = nil,
        arguments: [String] = [], variables: [String: String] = [:]
    ) async throws {
        self.executable = executable
        let scratch = try scratch ?? Scratch()
        self.scratch = scratch
        let data = data ?? scratch.folder("data")
        self.data = data
        let command = ["up", "--workers", "\(workers)", "--data", data]
        up = try Child(executable, command + arguments, in: scratch, variables: variables)
        try await eventually("the store serves: \(self.up.errors)") { [up] in up.errors.contains("serving") }
    }

    /// Starts a command on this store.
    func start(_ arguments: [String], input: String = "", variables: [String: String] = [:]) throws -> Child {
        try Child(executable, arguments + ["--data", data], in: scratch, input: input, variables: variables)
    }

    /// Runs a command on this store to its end.
    func run(_ arguments: String..., input: String = "") async throws -> Child {
        let child = try start(arguments, input: input)
        try await child.wait()
        return child
    }

    /// One number of `status --json`.
    func status(_ key: String) async throws -> Int {
        let status = try await run("status", "--json").json
        return try #require((status[key] as? Int) ?? (status["counters"] as? [String: Any])?[key] as? Int)
    }

    /// Ends the store in order.
    func stop() async throws {
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    /// Ends the store as a power failure would, but for what the kernel still writes: nothing is left of it that could start again.
    func kill() async throws {
        let store = try #require(ProcessTable.all(naming: data).first { $0.command == "store" })
        // A store whose `up` is gone begins to drain, also one that is stopped: the kernel continues a process group that is orphaned. So
        // the store dies first, and an `up` that is stopped starts no other.
        let supervisor = try #require(ProcessTable.entry(up.id))
        supervisor.send(SIGSTOP)
        try await eventually("up is stopped") { supervisor.isStopped }
        store.send(SIGKILL)
        try await eventually("the store has died") { ProcessTable.entry(store.id) == nil }
        up.send(SIGKILL)
        try await up.wait()
        try await eventually("the store is gone") { ProcessTable.all(naming: data).isEmpty }
    }

    /// The turn of the newest input, after so many more. A store that has been killed is waited for.
    @discardableResult
    func increment(_ times: Int) async throws -> Int {
        let sent = try await run("send", "-", "--timeout", "60s", input: String(repeating: "increment\n", count: times))
        #expect(sent.end == .exited(0), "\(sent.errors)")
        return try #require(try sent.json["turn"] as? Int)
    }

    /// Waits until nothing is left to write. Ends of sessions are turns too, and whoever sent does not wait for them.
    func becomeQuiet() async throws {
        try await eventually("all is on disk") {
            let status = try await run("status", "--json").json
            return status["sessions"] as? Int == 0 && status["turn"] as? Int == status["durable"] as? Int
        }
    }

    /// Leaves a store that has ended with its batches alone.
    func removeSnapshots() throws {
        try FileManager.default.removeItem(atPath: data + "/snapshots")
    }

    /// The folder in which the sockets of this store are.
    var sockets: String {
        get throws {
            let run = scratch.folder("run")
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: run).first)
            return "\(run)/\(name)"
        }
    }
}

extension Child {
    /// The last line of the output as a JSON object.
    var json: [String: Any] {
        get throws {
            let line = try #require(output.split(separator: "\n").last)
            return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }
}
