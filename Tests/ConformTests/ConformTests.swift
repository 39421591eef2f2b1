import Foundation
import MessagePack
import ProcessSupport
import Testing

/// The kit with real processes: our own peers, and some that break rules. One run after the other: each starts sixteen peers at a time, and
/// a scenario waits 30 s and its slack for one that starts.
@Suite(.serialized) struct ConformTests {
    private func conform(_ arguments: [String], _ command: [String]) async throws -> (
        end: Child.End, output: String, errors: String
    ) {
        try await Child.run(Executable.samovar, ["conform"] + arguments + ["--jobs", "16", "--"] + command)
    }

    private static let peers: [(role: String, command: [String])] = [
        ("worker", [Executable.path("conform"), "worker"]),
        ("client", [Executable.samovar, "send", "-", "--timeout", "60s"]),
        ("subscriber", [Executable.samovar, "monitor", "--format", "json"]),
    ]

    @Test(arguments: peers)
    func `Our own peers keep all rules`(role: String, command: [String]) async throws {
        let (end, output, errors) = try await conform([role], command)
        #expect(end == .exited(0) && output.hasSuffix(" held, 0 broken\n"), "\(output)\n\(errors)")
    }

    private static let python = URL(filePath: #filePath).appending(path: "../../../clients/python").standardized.path

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "\(python)/src"), "there is no package for Python here"),
        arguments: peers.map(\.role))
    func `The package for Python keeps all rules`(role: String) async throws {
        let run = "PYTHONPATH='\(Self.python)/src' exec python3 '\(Self.python)/tests/conform.py' \(role)"
        let (end, output, errors) = try await conform([role], ["sh", "-c", run])
        #expect(end == .exited(0) && output.hasSuffix(" held, 0 broken\n"), "\(output)\n\(errors)")
    }

    @Test func `What breaks a rule is reported with exit code 65`() async throws {
        // It sends no frame at all, and ends when its input does: never.
        let (end, output, errors) = try await conform(["worker", "--rule", "ping", "--slack", "100"], ["sh", "-c", "exit 3"])
        #expect(end == .exited(65), "\(errors)")
        #expect(output.contains("broken  ping") && output.contains("ended with exit code 3"), "\(output)")
    }

    @Test func `A client that is tried as a worker never comes to its listener`() async throws {
        let (end, output, _) = try await conform(
            ["worker", "--rule", "pong", "--format", "json"], [Executable.samovar, "send", "-", "--timeout", "60s"])
        #expect(end == .exited(65))
        #expect(output.contains("HELLO 1") && output.contains("at the front listener"), "\(output)")
    }

    @Test(arguments: ["printf 'no JSON'", "printf '%1048576s' 1; printf x"])
    func `The last line counts without an end, and so does what follows the longest line`(script: String) async throws {
        let (end, output, errors) = try await conform(["client", "--rule", "pong", "--slack", "100"], ["sh", "-c", script])
        #expect(end == .exited(65) && output.contains("a line that is none"), "\(output)\n\(errors)")
    }

    @Test(.timeLimit(.minutes(2)))
    func `A client that has ended in time keeps the rule, though another process still holds its output`() async throws {
        let script = "sleep 1237 & exec '\(Executable.samovar)' send - --timeout 60s"
        let (end, output, errors) = try await conform(["client", "--rule", "end", "--slack", "2000"], ["sh", "-c", script])
        #expect(end == .exited(0) && output.hasSuffix("1 held, 0 broken\n"), "\(output)\n\(errors)")
    }

    /// A worker that is greeted, and says CREDIT from then on without a pause: as bytes of ZMTP 3.0, many messages in one call.
    private static let flood = """
        import os, socket
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(os.environ["SAMOVAR_ENDPOINT"].removeprefix("ipc://") + "/work")
        heard = b""
        def hear(word, more):
            global heard
            while word not in heard or len(heard) < heard.index(word) + more:
                some = peer.recv(1000)
                if not some: raise SystemExit("the connection was closed")
                heard += some
            return heard.index(word)
        def part(content, more):
            return bytes([more, len(content)]) + content
        def header(kind, timeline):
            return b"SMV1\\x01" + bytes([kind, 0, 0]) + timeline + (1).to_bytes(8, "big")
        ready = b"\\x05READY\\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER"
        peer.sendall(b"\\xff" + bytes(8) + b"\\x7f\\x03\\x00NULL" + bytes(16 + 1 + 31) + bytes([4, len(ready)]) + ready)
        hear(b"READY", 0)
        hello = b"\\x94\\x92\\xa7Conform\\x01\\x00\\xa6worker\\x94\\xc4\\x10" + bytes(16) + b"\\x01\\x91\\xa7default\\x90"
        peer.sendall(part(header(1, bytes(16)), 1) + part(hello, 0))
        start = hear(b"SMV1\\x01\\x02", 32)
        credit = part(header(32, heard[start + 8 : start + 24]), 0)
        while True:
            peer.sendall(credit * 2000)
        """

    @Test(.enabled("there is no python3") { await pythonHas("socket") }, .timeLimit(.minutes(2)))
    func `A peer that sends faster than it is read is judged in time`() async throws {
        let (end, output, errors) = try await conform(
            ["worker", "--rule", "ping", "--slack", "100"], ["python3", "-c", Self.flood])
        #expect(end == .exited(65), "\(output)\n\(errors)")
        #expect(output.contains("nothing of that for") && output.contains("last came CREDIT"), "\(output)\n\(errors)")
    }

    @Test func `Usage is told with exit code 64`() async throws {
        #expect(try await conform(["worker", "--rule", "nonsense"], ["true"]).end == .exited(64))
        #expect(try await Child.run(Executable.samovar, ["conform", "worker"]).end == .exited(64))
        #expect(try await conform(["worker"], ["/no/such/command"]).end == .exited(64))
    }

    @Test func `The scenarios are listed without a command`() async throws {
        let list = try await Child.run(Executable.samovar, ["conform", "client", "--list"])
        #expect(list.end == .exited(0) && list.output.contains("hello-first\tHELLO first\t"))
        let json = try await Child.run(Executable.samovar, ["conform", "client", "--list", "--format", "json"])
        #expect(json.end == .exited(0) && json.output.hasPrefix(#"{"scenarios":[{"name":""#), "\(json.output.prefix(200))")
        #expect(json.output.contains(#"{"name":"hello-first","rule":"HELLO first","story":""#))
        #expect(json.output.split(separator: "\n").count == 1)
    }

    private static let canHaveNoPower = geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0

    @Test(.enabled(if: canHaveNoPower, "only root can become another user"), .timeLimit(.minutes(2)))
    func `A command of another user, which cannot be ended, is an error and not waited for`() async throws {
        // Root without the capability to kill, as a user is before what runs by way of `sudo`.
        let (end, _, errors) = try await Child.run(
            "/usr/bin/setpriv",
            ["--bounding-set=-kill", Executable.samovar, "conform", "worker", "--rule", "pong", "--slack", "100", "--"]
                + ["setpriv", "--reuid=65534", "--clear-groups", "sleep", "1235"])
        #expect(end == .exited(64) && errors.contains("setpriv runs as another user: process "), "\(errors)")
        let words = errors.split(separator: " ")
        let place = try #require(words.firstIndex(of: "process"))
        let process = try #require(pid_t(words[place + 1]).flatMap { ProcessTable.entry($0) })
        #expect(process.arguments == ["sleep", "1235"])
        process.send(SIGKILL)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `What the command has started ends with it, also when its terminal is closed`(signal: Int32) async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        let peer = ["sh", "-c", "echo $$ > \(mark); exec sleep 1238"]
        let conform = try Child(
            Executable.samovar, ["conform", "worker", "--rule", "pong", "--slack", "60000", "--"] + peer, in: scratch)
        let id = try await eventually("the peer has started: \(conform.errors)") { () -> pid_t? in
            // There is no file before that.
            guard let text = try? String(contentsOfFile: mark, encoding: .utf8) else { return nil }
            return pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        conform.send(signal)
        #expect(try await conform.wait() == .exited(128 + signal))
        try await eventually("the peer is gone") { ProcessTable.entry(id) == nil }
    }

    @Test func `What the command has started ends with its scenario`() async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        _ = try await conform(
            ["worker", "--rule", "pong", "--slack", "100"], ["sh", "-c", "sleep 1234 & echo $! > \(mark); exit 0"])
        let id = try #require(pid_t(String(contentsOfFile: mark, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
        try await eventually("the process of the group is gone") { ProcessTable.entry(id) == nil }
    }
}
