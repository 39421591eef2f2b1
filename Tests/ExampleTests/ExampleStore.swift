import Foundation
import ProcessSupport
import Testing

/// A running example, as a person would start it, and the commands that a person would try on it.
final class ExampleStore {
    let scratch: Scratch
    let data: String
    private let program: String
    private let workers: Int
    private let variables: [String: String]
    private(set) var up: Child

    /// - Parameter variables: of the environment of the store and the workers; `{}` in a value is the folder of the test.
    init(_ program: String, workers: Int = 1, files: [String: String] = [:], variables: [String: String] = [:]) async throws {
        scratch = try Scratch()
        for (name, text) in files { try scratch.write(text, to: name) }
        data = scratch.folder("data")
        self.program = Executable.path(program)
        self.workers = workers
        self.variables = variables.mapValues { [scratch] in $0.replacing("{}", with: scratch.path) }
        up = try Child(
            self.program, ["up", "--workers", "\(workers)", "--data", data], in: scratch, variables: self.variables)
        try await served()
    }

    private func served() async throws {
        try await eventually("the store serves") { [up] in up.errors.contains("serving") }
    }

    /// Starts it again, when it has ended.
    func start() async throws {
        up = try Child(program, ["up", "--workers", "\(workers)", "--data", data], in: scratch, variables: variables)
        try await served()
    }

    /// Ends it in order.
    func stop() async throws {
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    /// Ends all its processes as a power failure would.
    func kill() async throws {
        up.send(SIGKILL)
        for process in ProcessTable.all(naming: data) { process.send(SIGKILL) }
        try await up.wait()
        try await eventually("all have ended") { ProcessTable.all(naming: data).isEmpty }
    }

    /// Runs a command on it to its end.
    func run(_ arguments: String...) async throws -> Child {
        let child = try Child(program, arguments + ["--data", data], in: scratch)
        try await child.wait()
        return child
    }

    /// Sends an input, which must be applied, and waits for all that it causes.
    func send(_ input: String) async throws {
        let sent = try await run("send", input, "--wait", "settled")
        #expect(sent.end == .exited(0), "\(input): \(sent.errors)")
    }

    /// The view as text.
    func view() async throws -> String { try await run("view", "--format", "text").output }

    /// Wide enough for a line with the path of the test.
    func monitor() throws -> PseudoTerminal {
        try PseudoTerminal(program, ["monitor", "--data", data], columns: 160, in: scratch)
    }
}
