import Foundation
import ProcessSupport
import Testing

/// What a handler prints: a person at `up` reads it, and the data on standard output is not mixed with it.
@Suite struct WorkerOutputTests {
    @Test func `A line that a handler prints is read while its job still runs`() async throws {
        let store = try await CounterStore(Executable.trapProgram)
        #expect(try await store.run("send", #"{"talk":{"lines":1,"hangs":true}}"#).end == .exited(0))
        try await eventually("the line is there") { store.up.errors.contains("worker 1: line 0 of 1\n") }
        #expect(!store.up.output.contains("line 0"), "\(store.up.output)")
        #expect(try await store.status("openEffects") == 1, "the job runs")
        try await store.stop()
    }

    @Test func `More lines than any pipe holds come whole and in order, and nobody waits for them`() async throws {
        let store = try await CounterStore(Executable.trapProgram)
        let sent = try await store.run("send", #"{"talk":{"lines":50000,"hangs":false}}"#, "--wait", "settled")
        #expect(sent.end == .exited(0), "\(sent.errors)")
        try await eventually("the last line is there") { store.up.errors.contains("worker 1: line 49999 of 50000\n") }
        let lines = store.up.errors.split(separator: "\n").filter { $0.hasPrefix("worker 1: line ") }
        #expect(lines == (0..<50_000).map { "worker 1: line \($0) of 50000" })
        #expect(!store.up.output.contains("line"))
    }
}
