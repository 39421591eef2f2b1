import Foundation
import ProcessSupport
import Testing

/// `trace` on real journals.
@Suite(.serialized) struct TraceCommandTests {
    private static func names(in output: String) throws -> [String] {
        try output.split(separator: "\n").flatMap { line -> [String] in
            let request = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let resources = try #require(request["resourceSpans"] as? [[String: Any]])
            let scopes = resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
            return scopes.flatMap { $0["spans"] as? [[String: Any]] ?? [] }.compactMap { $0["name"] as? String }
        }
    }

    @Test func `Two exports are the same bytes, with the store running or stopped, with snapshots or without`() async throws {
        let store = try await CounterStore()
        let turn = try await store.increment(3)
        #expect(try await store.run("send", "incrementAsync", "--wait", "settled").end == .exited(0))
        let head = try await store.status("turn")
        let running = try await store.run("trace", "--to", "\(head)")
        #expect(running.end == .exited(0), "\(running.errors)")
        try await store.stop()
        let stopped = try await store.run("trace", "--to", "\(head)")
        #expect(stopped.output == running.output && !stopped.output.isEmpty, "\(stopped.errors)")
        let tail = try await store.run("trace", "--from", "\(turn)", "--to", "\(head)")
        try store.removeSnapshots()
        let again = try await store.run("trace", "--from", "\(turn)", "--to", "\(head)")
        #expect(again.output == tail.output && !again.output.isEmpty, "\(again.errors)")
        let names = try Self.names(in: running.output)
        #expect(names.filter { $0 == "increment" || $0 == "incremented" }.count >= 3, "\(names)")
        #expect(try Self.names(in: tail.output) == names.suffix(try Self.names(in: tail.output).count), "\(names)")
    }

    @Test func `The attempts that a running store remembers are spans, too, and without one there are none to be had`() async throws
    {
        let store = try await CounterStore()
        #expect(try await store.run("send", "incrementAsync", "--wait", "settled").end == .exited(0))
        let head = try await store.status("turn")
        let plain = try await store.run("trace", "--to", "\(head)")
        let told = try await store.run("trace", "--to", "\(head)", "--attempts")
        #expect(told.end == .exited(0), "\(told.errors)")
        let (names, more) = (try Self.names(in: plain.output), try Self.names(in: told.output))
        #expect(!names.contains("attempt") && more.filter { $0 != "attempt" } == names && more.contains("attempt"), "\(more)")
        #expect(told.output.contains(#""key":"samovar.worker""#))
        try await store.stop()
        let away = try await store.run("trace", "--attempts")
        #expect(away.end == .exited(69) && away.errors.contains("no store answers at "), "\(away.errors)")
    }

    @Test func `An effect that is open is told, and what cannot be is said`() async throws {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(1)
        let later = try await store.run("send", "incrementAsync")
        #expect(later.end == .exited(0), "\(later.errors)")
        try await store.stop()
        let trace = try await store.run("trace", "--redact", "*.password")
        #expect(trace.end == .exited(0), "\(trace.errors)")
        #expect(trace.errors.contains("1 effect is still open, and no span yet\n"), "\(trace.errors)")
        #expect(trace.errors.contains("nothing was redacted at *.password\n"), "\(trace.errors)")
        let cases: [([String], Int32, String)] = [
            (["--to", "999"], 78, "ends at turn "),
            (["--from", "999"], 78, "turn 999 is not there yet: the newest is "),
            (["--from", "0"], 64, "--from 0 is no turn: they are numbered from 1"),
            (["--from", "\(turn)", "--to", "1"], 64, "--to 1 is before --from \(turn)"),
            (
                ["--redact", "state"], 64,
                "--redact state cannot be read: column 1: what is redacted begins with `message`, `effect`, `refusal`, `failure` or `*`"
            ),
        ]
        for (arguments, code, words) in cases {
            let child = try store.start(["trace"] + arguments)
            #expect(try await child.wait() == .exited(code), "\(arguments): \(child.errors)")
            #expect(child.errors.contains(words), "\(arguments): \(child.errors)")
        }
    }
}
