import Foundation
import ProcessSupport
import Testing

/// What `up` makes of the limits, signals and streams that it is given.
@Suite struct UpTests {
    @Test func `An up that is given few descriptors takes as many as the system allows, and runs its children`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
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
}
