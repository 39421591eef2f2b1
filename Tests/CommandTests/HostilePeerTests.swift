import Foundation
import ProcessSupport
import SamovarCore
import SamovarWire
import Testing
import ZeroMQ

/// Whatever arrives at a socket, the store counts it, drops it, and goes on.
@Suite struct HostilePeerTests {
    @Test(arguments: ["front", "work", "admin"])
    func `Noise is counted and dropped`(_ listener: String) async throws {
        let store = try await CounterStore(workers: 0)
        let address = "ipc://\(try store.sockets)/\(listener)"
        let context = try Context()
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect(address)
        var poller = Poller()
        _ = poller.add(dealer, for: .writable)
        #expect(try poller.wait(timeoutMilliseconds: 5_000) == 1)
        var random = Seeded(state: 7)
        for number in 0..<200 {
            let noise = (0..<Int.random(in: 0...100, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(try dealer.send(noise) == .sent)
            // Our magic, and then nonsense.
            if number % 2 == 0 { #expect(try dealer.send(FrameHeader(.send, timeline: .zero, number: 1).bytes, noise) == .sent) }
            if number % 10 == 0 { #expect(try dealer.send(Array(repeating: noise, count: 50)) == .sent) }
        }
        try await eventually("the store has counted it") { try await store.status("droppedFrames") >= 200 }
        #expect(try await store.run("send", "increment").end == .exited(0))
    }

    @Test(arguments: ["front", "work", "view", "admin"])
    func `A frame that is too large costs its sender the connection and nobody else`(_ listener: String) async throws {
        let store = try await CounterStore(workers: 0)
        let context = try Context()
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect("ipc://\(try store.sockets)/\(listener)")
        var poller = Poller()
        _ = poller.add(dealer, for: .writable)
        try poller.wait(timeoutMilliseconds: 1_000)
        // A publisher takes no dealer; the others take the frame's beginning, and no more.
        _ = try dealer.send([UInt8](repeating: 1, count: 8 << 20))
        #expect(try await store.run("send", "increment").end == .exited(0))
        #expect(try await store.status("starts") == 1)
    }

    @Test(arguments: ["front", "work", "view", "admin"])
    func `Bytes that are no ZeroMQ are no harm`(_ listener: String) async throws {
        let store = try await CounterStore(workers: 0)
        for bytes in [[UInt8](repeating: 0xff, count: 4_096), Array("GET / HTTP/1.1\r\n\r\n".utf8), [0]] {
            try writeRaw(bytes, to: "\(try store.sockets)/\(listener)")
        }
        #expect(try await store.run("send", "increment").end == .exited(0))
        #expect(try await store.status("starts") == 1)
    }

    @Test func `Whoever subscribes to ever more topics loses the connection, and costs the store little`() async throws {
        let scratch = try Scratch()
        let store = try await CounterStore(
            workers: 0, in: scratch,
            variables: ["SAMOVAR_STORE_VIEW_TOPICS": "100", "SAMOVAR_STORE_VIEW_INTERVAL_MILLISECONDS": "0"])
        let process = try #require(ProcessTable.all(naming: store.data).first { $0.command == "store" })
        let monitor = try store.start(["monitor", "--format", "json"])
        try await eventually("it shows a view") { monitor.output.contains("view") }
        let before = try residentKibibytes(of: process.id)
        let context = try Context()
        var options = SocketOptions.subscriber
        options.sendHighWaterMark = 0
        var subscriber = try Socket(context, .subscriber, options: options)
        for number in 0..<20_000 {
            let text = "\(number)/" + String(repeating: "\(number % 10)", count: 150)
            try subscriber.subscribe(Array(text.utf8) + [0])
        }
        try subscriber.connect("ipc://\(try store.sockets)/view")
        try await eventually("the store has had enough") {
            // A socket subscribes in one of its calls, once it is connected; what is published lets the store hear of topics.
            _ = try subscriber.receive()
            _ = try await store.increment(20)
            return store.up.errors.contains("subscribers have asked for more than 100 topics: all of them lose their connection")
        }
        #expect(try residentKibibytes(of: process.id) < before + 32 << 10)
        let turn = try await store.increment(1)
        try await eventually("the monitor is back and sees what comes") {
            // The goodbye of whoever has sent is a turn, too.
            let last = monitor.output.split(separator: "\n").last?.dropFirst(#"{"turn":"#.count).prefix { $0.isNumber }
            return last.flatMap { Int($0) }.map { $0 >= turn } ?? false
        }
        let counts = try #require(try await store.run("status", "--json").json["viewTopics"] as? [String: Int])
        #expect(counts == ["count": 1, "foreign": 0, "overruns": 1])
    }

    private func residentKibibytes(of process: pid_t) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }

    /// A scripted worker says no PING, and must not be given up before a busy machine has brought it its task.
    private static let withoutPings = ["SAMOVAR_STORE_SILENCE_SECONDS": "600"]

    @Test func `An answer that is given twice is applied once`() async throws {
        let store = try await CounterStore(workers: 0, variables: Self.withoutPings)
        var worker = try ScriptedWorker(at: "ipc://\(try store.sockets)/work")
        try worker.greet()
        let send = try store.start(["send", "incrementAsync", "--wait", "settled"])
        let task = try worker.nextTask()
        for _ in 0..<3 { try worker.answer(task, count: 1) }
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        try worker.waitForAcknowledgements(3)
        #expect(try await store.status("lateResults") == 2)
        #expect(try await store.run("view").output.contains(#""async":"1""#))
    }

    @Test func `An answer to a job that was never given is not believed`() async throws {
        let store = try await CounterStore(workers: 0, variables: Self.withoutPings)
        var worker = try ScriptedWorker(at: "ipc://\(try store.sockets)/work")
        try worker.greet()
        let send = try store.start(["send", "incrementAsync", "--wait", "settled"])
        let task = try worker.nextTask()
        let forged = JobTask(
            effect: task.effect, lease: task.lease, token: task.token ^ 1, attempt: task.attempt, payload: task.payload)
        try worker.answer(forged, count: 99)
        try worker.answer(task, count: 1)
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        #expect(try await store.run("view").output.contains(#""async":"1""#))
    }

    /// A worker of `clients/python`, which knows `docs/protocol.md` alone.
    @Test(.enabled("python3.11 with pyzmq and msgpack is missing; `make test` installs them") { await pythonHas("zmq", "msgpack") })
    func `A worker in python serves the counter`() async throws {
        let store = try await CounterStore(workers: 0)
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let script = root.appendingPathComponent("Examples/python/counter_worker.py").path
        let worker = try Child(
            "/usr/bin/env", ["python3", script, "ipc://\(try store.sockets)", "--delay", "0.1"], in: store.scratch,
            variables: ["PYTHONPATH": root.appendingPathComponent("clients/python/src").path])
        let sent = try await store.run("send", "incrementAsync", "--wait", "settled")
        #expect(sent.end == .exited(0), "\(sent.errors) \(worker.errors)")
        #expect(try await store.run("view").output.contains(#""async":"1""#))
    }
}
