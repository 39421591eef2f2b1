import Foundation
import ProcessSupport
import Testing

/// What becomes of a command that cannot write its data.
@Suite struct StandardOutputTests {
    /// What a line of a shell says on standard error, and the exit code as the shell sees it.
    private static func shell(_ line: String, in scratch: Scratch) async throws -> (code: String, errors: String) {
        let shell = try Child("/bin/bash", ["-c", "\(line)\necho code $?"], in: scratch)
        #expect(try await shell.wait(within: .seconds(120)) == .exited(0))
        return (shell.output, shell.errors)
    }

    /// The reader of its pipe has left before the command begins.
    private static func unread(_ command: String, in scratch: Scratch) async throws -> (code: String, errors: String) {
        try await shell("exec 3> >(:); wait $!; \(command) >&3", in: scratch)
    }

    @Test func `A long output of simulate ends quietly where its reader has enough`() async throws {
        let scratch = try Scratch()
        let command = "\(Executable.samovar) simulate --seed 6 --minutes 1 --trace"
        let (code, errors) = try await Self.shell("set -o pipefail; \(command) | head -n 1 >/dev/null", in: scratch)
        #expect(code == "code 141\n" && errors == "")
    }

    @Test func `A command whose output nobody reads ends as by SIGPIPE, without a word`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(1)
        func expectQuietEnd(of command: String) async throws {
            let line = "\(Executable.counter) \(command) --data \(store.data)"
            let (code, errors) = try await Self.unread(line, in: store.scratch)
            #expect(code == "code 141\n" && errors == "", "\(command): \(errors)")
        }
        for command in ["view", "status --json", "effects", "inspect", "monitor --once", "send increment"] {
            try await expectQuietEnd(of: command)
        }
        try await store.stop()
        for command in ["journal list", "journal verify", "replay", "verify"] { try await expectQuietEnd(of: command) }
    }

    @Test func `A command that waits for more to print ends when its reader has left, and not with the next line`() async throws {
        let store = try await CounterStore(workers: 0)
        let monitor = "\(Executable.counter) monitor --format json --data \(store.data)"
        let (code, errors) = try await Self.shell("set -o pipefail; \(monitor) | head -n 1 >/dev/null", in: store.scratch)
        #expect(code == "code 141\n" && errors == "", "\(errors)")
        let outputs = "\(Executable.counter) outputs --follow --data \(store.data)"
        #expect(try await Self.unread(outputs, in: store.scratch).code == "code 141\n")
        try await store.stop()
    }

    @Test func `An up whose output nobody reads leaves no process behind`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let (code, errors) = try await Self.unread("\(Executable.counter) up --workers 1 --data \(data)", in: scratch)
        #expect(code == "code 141\n", "\(errors)")
        try await eventually("its store and worker end") { ProcessTable.all(naming: data).isEmpty }
    }

    @Test func `An up whose views find no space serves on, says so once, and ends in order`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let up = try Child("/bin/sh", ["-c", "exec \(Executable.counter) up --workers 1 --data \(data) >/dev/full"], in: scratch)
        let warning = "warning: no space for standard output: views are left out until there is some"
        try await eventually("it says so: \(up.errors)") { up.errors.contains(warning) }
        let begin = ContinuousClock.now
        // Each second has a line.
        try await eventually("two more lines have found no space") {
            let sent = try Child(Executable.counter, ["send", "increment", "--data", data], in: scratch)
            #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
            return ContinuousClock.now - begin > .seconds(3)
        }
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
        #expect(up.errors.split(separator: "\n").count { $0 == warning } == 1, "\(up.errors)")
    }

    @Test func `What conform says needs a reader and space, as that of any command`() async throws {
        let scratch = try Scratch()
        let list = "\(Executable.samovar) conform client --list"
        let (code, errors) = try await Self.unread(list, in: scratch)
        #expect(code == "code 141\n" && errors == "", "\(errors)")
        #expect(try await Self.shell("\(list) >/dev/full", in: scratch).code == "code 74\n")
    }

    @Test func `An output for which there is no space is said`() async throws {
        let scratch = try Scratch()
        let (code, errors) = try await Self.shell("\(Executable.counter) schema >/dev/full", in: scratch)
        #expect(code == "code 74\n")
        #expect(errors == "error: cannot write to standard output: No space left on device\n")
    }
}
