import Foundation
import ProcessSupport
import Testing

/// What `up` makes of the limits, signals and streams that it is given.
@Suite struct UpTests {
    private let scratch: Scratch
    private var data: String { scratch.folder("data") }

    init() throws { scratch = try Scratch() }

    @Test func `An up that is given few descriptors takes as many as the system allows, and runs its children`() async throws {
        // Fewer than it needs for itself, a store and a worker.
        let up = try Child(
            "/bin/sh", ["-c", #"ulimit -Sn 24; exec "$@""#, "sh", Executable.counter, "up", "--workers", "1", "--data", data],
            in: scratch)
        try await eventually("the store serves: \(up.errors)") { up.errors.contains("serving") }
        let sent = try Child(Executable.counter, ["send", "incrementAsync", "--wait", "settled", "--data", data], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    @Test(arguments: [["store"], ["up", "--workers", "0"]])
    func `A SIGHUP that comes before the settings are read ends neither a store with keys nor its up`(
        _ command: [String]
    ) async throws {
        let keys = scratch.folder("keys")
        let made = ["keys", "new", "a", "--role", "viewer", "--keys", keys, "--out", scratch.folder("a.key")]
        let key = try Child(Executable.counter, made, in: scratch)
        #expect(try await key.wait() == .exited(0), "\(key.errors)")
        let process = try await hungUpAtItsStart(command + ["--keys", keys])
        // The store of `up` reads them, too.
        let settings = scratch.folder("settings")
        let feeder = try Child("/bin/sh", ["-c", "while :; do : > \(settings); sleep 0.01; done"], in: scratch)
        try await eventually("the store serves: \(process.errors)") { process.errors.contains("serving") }
        process.send(SIGTERM)
        #expect(try await process.wait() == .exited(0), "\(process.errors)")
        #expect(feeder.end == nil)
    }

    @Test(arguments: [["store"], ["up"], ["status"]])
    func `A SIGHUP that comes before the settings are read ends any other process once they are`(
        _ command: [String]
    ) async throws {
        let process = try await hungUpAtItsStart(command)
        #expect(try await process.wait() == .killed(SIGHUP), "\(process.errors)")
    }

    @Test func `An up whose views nobody reads any more serves on, and ends in order at a signal`() async throws {
        let views = try StalledPipe(in: scratch)
        try views.fill()
        let up = try up("1", to: views)
        try await eventually("the store serves: \(up.errors)") { up.errors.contains("serving") }
        let begin = ContinuousClock.now
        // Each second has a line.
        try await eventually("two lines have found no room") {
            let sent = try Child(Executable.counter, ["send", "increment", "--data", data], in: scratch)
            #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
            return ContinuousClock.now - begin > .seconds(2)
        }
        up.send(SIGTERM)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
    }

    @Test func `An up whose log nobody reads any more starts a worker again, and ends at once at a second signal`() async throws {
        let log = try StalledPipe(in: scratch)
        let up = try up("2", to: log)
        try await eventually("the store serves") {
            let status = try Child(Executable.counter, ["status", "--data", data], in: scratch)
            return try await status.wait() == .exited(0)
        }
        let first = try await eventually("a worker runs") { worker }
        try log.fill()
        first.send(SIGKILL)
        try await eventually("another one runs") { worker.map { $0.id != first.id } ?? false }
        // Its children wait for the reader of their log, too, and are ended seconds later. What comes within a moment is no second signal.
        try await eventually("it ends") {
            up.send(SIGINT)
            return up.end != nil
        }
        #expect(up.end == .exited(130))
        try await eventually("nothing is left running") { ProcessTable.all(naming: data).isEmpty }
    }

    private var worker: ProcessTable.Entry? { ProcessTable.all(naming: data).first { $0.command == "worker" } }

    /// - Parameter stream: its number.
    private func up(_ stream: String, to pipe: StalledPipe) throws -> Child {
        let script = ["-c", #"exec "$@" \#(stream)>"$0""#, pipe.path]
        return try Child("/bin/sh", script + [Executable.counter, "up", "--workers", "1", "--data", data], in: scratch)
    }

    /// A process that gets its settings, which are empty, after a SIGHUP.
    private func hungUpAtItsStart(_ command: [String]) async throws -> Child {
        let settings = scratch.folder("settings")
        try #require(mkfifo(settings, 0o600) == 0)
        let process = try Child(Executable.counter, command + ["--config", settings, "--data", data], in: scratch)
        // Nobody writes into a pipe that nobody reads.
        let pipe = try await eventually("it reads its settings: \(process.errors)") {
            let pipe = open(settings, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            return pipe >= 0 ? pipe : nil
        }
        process.send(SIGHUP)
        close(pipe)
        return process
    }
}
