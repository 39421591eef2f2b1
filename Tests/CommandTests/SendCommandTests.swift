import CrashPoints
import Foundation
import ProcessSupport
import Testing

/// What a `send` leaves in the journal, and what it says when its receipt gets lost.
@Suite struct SendCommandTests {
    /// The records of clients, once the store has ended.
    private func records(of store: CounterStore) async throws -> [String] {
        try await store.stop()
        let list = try await store.run("journal", "list", "--format", "json")
        return list.output.split(separator: "\n").map(String.init).filter { $0.contains("client ") }
    }

    @Test func `A send leaves one record, which says that it was the last of its session`() async throws {
        let store = try await CounterStore(workers: 0)
        for wait in ["applied", "settled"] {
            #expect(try await store.run("send", "increment", "--wait", wait).end == .exited(0))
        }
        let records = try await records(of: store)
        #expect(
            records.count == 2 && records.allSatisfy { $0.contains(#""applied""#) && $0.contains("#1, its last") }, "\(records)")
    }

    @Test func `A stream of inputs ends its session with a record of its own`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(2)
        try await store.becomeQuiet()
        let records = try await records(of: store)
        #expect(records.count == 3 && records.last?.contains("sessionExpired") == true, "\(records)")
    }

    @Test func `Each input that was handed over has a receipt, also when a store has stopped answering`() async throws {
        let store = try await CounterStore(workers: 0)
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        // Where inputs come from, for as long as the test wants.
        let inputs = scratchPipe(in: store.scratch)
        let command = "exec \(Executable.counter) send - --timeout 5s --data \(store.data) < \(inputs)"
        let send = try Child("/bin/bash", ["-c", command], in: store.scratch)
        let pipe = try #require(FileHandle(forWritingAtPath: inputs))
        try pipe.write(contentsOf: Data("increment\n".utf8))
        try await eventually("the first has its receipt: \(send.errors)") { send.output.contains("applied") }
        process.send(SIGSTOP)
        try await eventually("the store is stopped") { process.isStopped }
        try pipe.write(contentsOf: Data(String(repeating: "increment\n", count: 5).utf8))
        #expect(try await send.wait(within: .seconds(30)) == .exited(75), "\(send.errors)")
        process.send(SIGCONT)
        let lines = send.output.split(separator: "\n")
        #expect(lines.count == 6, "\(lines)")
        #expect(lines.dropFirst().allSatisfy { $0.contains(#""status":"unknown""#) }, "\(lines)")
        #expect(send.errors.hasPrefix("error: gave up after 5 s: "), "\(send.errors)")
        try pipe.close()
        try await store.stop()
    }

    @Test func `An error while inputs are read is told, and is no end of them`() async throws {
        let store = try await CounterStore(workers: 0)
        let command = "exec \(Executable.counter) send - --data \(store.data) < \(store.scratch.path)"
        let send = try Child("/bin/bash", ["-c", command], in: store.scratch)
        #expect(try await send.wait() == .exited(74), "\(send.errors)")
        #expect(send.errors == "error: cannot read standard input: Is a directory\n")
    }

    @Test func `A line that is not UTF-8 is refused with its number, and nothing of it or behind it is sent`() async throws {
        let store = try await CounterStore(workers: 0)
        let lines = #"printf 'increment\r\n\n"\377"\nincrement'"#
        let send = try Child(
            "/bin/bash", ["-c", "\(lines) | exec \(Executable.counter) send - --data \(store.data)"], in: store.scratch)
        #expect(try await send.wait() == .exited(65), "\(send.errors)")
        let receipts = send.output.split(separator: "\n")
        #expect(receipts.count == 2 && receipts.first?.contains(#""status":"applied""#) == true, "\(receipts)")
        let refused = #"{"status":"rejected","line":3,"reason":"the input is no JSON: the text is not UTF-8"}"#
        #expect(receipts.last.map(String.init) == refused, "\(receipts)")
        #expect(try await records(of: store).filter { $0.contains(#""applied""#) }.count == 1)
    }

    @Test func `A reason that quotes a stranger does nothing to a terminal`() async throws {
        let store = try await CounterStore(Executable.path("TurnstileProgram"))
        let pass = #"{"pass":{"name":"\u001b[31m\u001b]0;pwned\u0007"}}"#
        #expect(try await store.run("send", pass).end == .exited(0))
        let again = try await store.run("send", pass)
        #expect(again.end == .exited(65))
        #expect(again.errors == "error: doorman: \\u{1b}[31m\\u{1b}]0;pwned\\u{7} has passed already\n", "\(again.errors)")
        try await store.stop()
    }

    private func scratchPipe(in scratch: Scratch) -> String {
        let path = scratch.folder("inputs")
        #expect(mkfifo(path, 0o600) == 0)
        return path
    }

    @Test(arguments: [CrashPoint.storeAfterAppend, .storeAfterCommit, .storeBeforeAppend])
    func `A store that dies between an input and its receipt leaves no send without an answer`(_ point: CrashPoint) async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        // The first passage is that of the start.
        let store = try await CounterStore(
            workers: 0, in: scratch,
            variables: ["SAMOVAR_CRASH_AT": "\(point.rawValue):2", "SAMOVAR_CRASH_MARK": mark])
        let sent = try await store.run("send", "increment")
        #expect(FileManager.default.fileExists(atPath: mark), "the store has died")
        #expect(sent.end == .exited(0) && sent.output.contains(#""status":"applied""#), "\(sent.output) \(sent.errors)")
        #expect(try await store.run("view").output.contains(#""sync":"1""#))
        #expect(try await records(of: store).count == 1)
    }
}
