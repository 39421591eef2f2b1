import CrashPoints
import Foundation
import GRDB
import ProcessSupport
import Testing

/// Work that a death, a hang or a stop interrupts is done once, and nobody waits in silence.
@Suite(.serialized) struct InterruptedWorkTests {
    @Test func `The job of a worker that is killed is done by the next one`() async throws {
        let (store, worker, send) = try await hangingJob()
        worker.send(SIGKILL)
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        #expect(try await store.run("view").output.contains(#""async":"1""#))
        #expect(try await store.status("deadWorkers") == 1)
    }

    @Test func `The job of a worker that hangs goes to another and counts once`() async throws {
        let (store, worker, send) = try await hangingJob()
        let other = try store.start(["worker"])
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        // The one that hung comes to, and answers too.
        worker.send(SIGCONT)
        try await eventually("both workers are there") { try await store.run("status", "--json").workers == 2 }
        #expect(try await store.run("view").output.contains(#""async":"1""#))
        #expect(try await store.status("openEffects") == 0)
        other.send(SIGTERM)
        #expect(try await other.wait() == .exited(0), "\(other.errors)")
    }

    @Test func `Control-C gives a running job back or finishes it and the next start goes on at once`() async throws {
        let store = try await CounterStore()
        #expect(try await store.run("send", "incrementAsync").end == .exited(0))
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0), "\(store.up.errors)")
        #expect(ProcessTable.all(naming: store.data).isEmpty)
        let again = try store.start(["up", "--until-idle"])
        #expect(try await again.wait() == .exited(0), "\(again.errors)")
        #expect(!again.errors.contains("has not come back"), "nobody of before is waited for: \(again.errors)")
        #expect(try await store.run("replay", "--state").output.contains(#""async":1"#))
    }

    @Test func `A second signal ends everything at once`() async throws {
        let (store, _, send) = try await hangingJob()
        send.send(SIGKILL)
        try await send.wait()
        // An end in order waits for the job, and has exit code 0.
        store.up.send(SIGINT)
        // What comes within a moment of the first one is not the second.
        try await eventually("it ends") {
            store.up.send(SIGTERM)
            return store.up.end != nil
        }
        #expect(store.up.end == .exited(130), "\(store.up.errors)")
        try await eventually("nothing is left running") { ProcessTable.all(naming: store.data).isEmpty }
    }

    @Test func `Two signals at one moment, as timeout sends them, are one, and what runs is given back`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 0)
        let worker = try store.start(["worker"])
        #expect(try await store.run("send", #"{"talk":{"lines":1,"hangs":true}}"#).end == .exited(0))
        try await eventually("the job runs: \(worker.errors)") { worker.output.contains("line 0 of 1\n") }
        // Of two kinds: two of one kind may be one to the kernel.
        for process in [worker, store.up] {
            process.send(SIGTERM)
            process.send(SIGINT)
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
        }
    }

    @Test func `A worker whose handler does not stop ends five seconds after its signal, and says why`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 0)
        let worker = try store.start(["worker"], variables: ["HANG_DEAF": "1"])
        #expect(try await store.run("send", #"{"talk":{"lines":1,"hangs":true}}"#).end == .exited(0))
        try await eventually("the job runs: \(worker.errors)") { worker.output.contains("line 0 of 1\n") }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(75), "\(worker.errors)")
        #expect(worker.errors.contains("goes on 5 s after it was told to end: ending without it\n"), "\(worker.errors)")
        try await store.stop()
    }

    @Test func `A worker whose handler does not stop ends as soon when nobody reads its log`() async throws {
        let store = try await CounterStore(Executable.trapProgram, workers: 0)
        let log = try StalledPipe(in: store.scratch)
        let worker = try logging(to: log, ["worker"], of: store, variables: ["HANG_DEAF": "1"])
        #expect(try await store.run("send", #"{"talk":{"lines":1,"hangs":true}}"#).end == .exited(0))
        try await eventually("the job runs") { worker.output.contains("line 0 of 1\n") }
        try log.fill()
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(75))
        try await store.stop()
    }

    @Test func `A store whose log nobody reads any more ends at a second signal`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.stop()
        let log = try StalledPipe(in: store.scratch)
        let process = try logging(to: log, ["store"], of: store)
        try await eventually("it serves") { try await store.run("status").end == .exited(0) }
        try log.fill()
        process.send(SIGTERM)
        // What comes within a moment of the first one is not the second.
        try await eventually("it ends") {
            process.send(SIGINT)
            return process.end != nil
        }
        #expect(process.end == .exited(130))
    }

    @Test func `A settlement that takes too long is given up in time and names the turn`() async throws {
        let store = try await CounterStore(workers: 0)
        // Less than a send waits that is told nothing, and as slow to start on a busy machine.
        let patient = try store.start(["view", "--at-least", "1000", "--timeout", "25s"])
        let sent = try await store.run("send", "incrementAsync", "--wait", "settled", "--timeout", "5s")
        #expect(patient.end == nil, "who waits longer was started before it")
        #expect(sent.end == .exited(75))
        #expect(sent.errors.contains("after 5 s"), "\(sent.errors)")
        #expect(!sent.output.contains("settled"), "\(sent.output)")
    }

    @Test func `A view of a turn that does not come is given up in time`() async throws {
        let store = try await CounterStore(workers: 0)
        let view = try await store.run("view", "--at-least", "1000", "--timeout", "5s")
        #expect(view.end == .exited(75))
        #expect(view.errors.contains("turn 1000") && view.errors.contains("after 5 s"), "\(view.errors)")
        #expect(view.output.isEmpty)
    }

    @Test func `A monitor outlives the store`() async throws {
        let store = try await CounterStore()
        let monitor = try store.start(["monitor", "--format", "json"])
        try await eventually("the first view") { monitor.output.contains(#""sync":"0""#) }
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        process.send(SIGKILL)
        #expect(try await store.run("send", "increment", "--timeout", "60s").end == .exited(0))
        try await eventually("the view of after the restart") { monitor.output.contains(#""sync":"1""#) }
        #expect(monitor.end == nil)
        monitor.send(SIGINT)
        try await monitor.wait()
    }

    @Test func `A line of standard input that is no input stops there and says why`() async throws {
        let store = try await CounterStore(workers: 0)
        let sent = try await store.run("send", "-", input: "increment\n{\"increment\":{}\nincrement\n")
        #expect(sent.end == .exited(65))
        let receipts = sent.output.split(separator: "\n")
        #expect(receipts.count == 2, "\(sent.output)")
        let rejected = #"{"status":"rejected","line":2,"reason":"the input is no JSON"#
        #expect(receipts.last?.hasPrefix(rejected) == true, "\(sent.output)")
        #expect(sent.errors.hasPrefix("error: line 2 of standard input: the input is no JSON"), "\(sent.errors)")
    }

    @Test func `A flag that does not exist is a usage error`() async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.counter, ["send", "increment", "--wiat", "settled"], in: scratch)
        #expect(try await child.wait() == .exited(64))
        #expect(child.errors.contains("--wiat"), "\(child.errors)")
    }

    @Test func `A hole in the journal refuses to start and names the place`() async throws {
        let (store, batches) = try await stoppedStore()
        try await edit(store) { database in
            try database.execute(sql: "DELETE FROM batches WHERE first = ?", arguments: [batches[2]])
        }
        for command in ["store", "replay"] {
            let again = try await store.run(command)
            #expect(again.end == .exited(65), "\(command)")
            #expect(again.errors.contains("\(batches[2])"), "\(again.errors)")
        }
    }

    @Test func `Flipped bytes in the file refuse to start`() async throws {
        let (store, _) = try await stoppedStore()
        let file = store.data + "/journal.sqlite"
        try store.removeSnapshots()
        var bytes = try #require(FileManager.default.contents(atPath: file))
        // All but the file's header: whatever page it hits, it is the journal's.
        for place in stride(from: 4_096 + 900, to: bytes.count, by: 64) { bytes[place] ^= 0x55 }
        try bytes.write(to: URL(fileURLWithPath: file))
        let again = try await store.run("store")
        #expect(again.end == .exited(65), "\(String(describing: again.end)) \(again.errors)")
        #expect(again.errors.contains(store.data), "\(again.errors)")
    }

    /// A process with this pipe in the place of its standard error.
    private func logging(
        to log: StalledPipe, _ command: [String], of store: CounterStore, variables: [String: String] = [:]
    ) throws -> Child {
        let script = ["-c", #"exec "$@" 2>"$0""#, log.path, store.executable]
        return try Child("/bin/sh", script + command + ["--data", store.data], in: store.scratch, variables: variables)
    }

    /// A job that was given to a worker which does nothing, not even die, and a client that waits for it.
    private func hangingJob() async throws -> (CounterStore, ProcessTable.Entry, Child) {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        // It stops itself as it begins the job: stopped from here, it might be given up before a busy machine has sent the input.
        let store = try await CounterStore(
            in: scratch,
            variables: [
                "SAMOVAR_CRASH_AT": CrashPoint.workerBeforeEffect.rawValue, "SAMOVAR_CRASH_MARK": mark, "SAMOVAR_CRASH_BY": "stop",
            ])
        let send = try store.start(["send", "incrementAsync", "--wait", "settled"])
        try await eventually("the job is given") { FileManager.default.fileExists(atPath: mark) }
        let worker = try #require(ProcessTable.all(naming: store.data).first { $0.command == "worker" })
        return (store, worker, send)
    }

    /// A store that has ended in order, and where its batches begin.
    private func stoppedStore() async throws -> (CounterStore, [Int]) {
        let store = try await CounterStore(workers: 0)
        for _ in 0..<3 { #expect(try await store.run("send", "increment").end == .exited(0)) }
        store.up.send(SIGINT)
        #expect(try await store.up.wait() == .exited(0))
        let batches = try await edit(store) { try Int.fetchAll($0, sql: "SELECT first FROM batches ORDER BY first") }
        return (store, batches)
    }

    @discardableResult
    private func edit<Result: Sendable>(
        _ store: CounterStore, _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        let queue = try DatabaseQueue(path: store.data + "/journal.sqlite")
        let result = try await queue.write { try body($0) }
        try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try queue.close()
        return result
    }
}

extension Child {
    /// How many workers a status in JSON lists.
    fileprivate var workers: Int {
        get throws { (try json["workers"] as? [Any])?.count ?? 0 }
    }
}
