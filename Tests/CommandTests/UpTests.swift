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
