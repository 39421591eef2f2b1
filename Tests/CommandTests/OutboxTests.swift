import Foundation
import ProcessSupport
import Testing

/// Clients that are killed: a durable one goes on where it was, an ephemeral one leaves nothing half done.
@Suite(.serialized) struct OutboxTests {
    @Test func `Inputs are taken while no store answers, and sent by a later call`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let outbox = scratch.folder("orders.outbox")
        let early = try Child(
            Executable.counter, ["send", "-", "--outbox", outbox, "--timeout", "3s", "--data", data], in: scratch,
            input: "increment\nincrement\n")
        #expect(try await early.wait() == .exited(75))
        #expect(early.errors.contains("no answer of the store yet, at ipc://\(scratch.folder("run"))/"), "\(early.errors)")
        #expect(early.errors.contains(" of the data folder \(data), which does not exist"), "\(early.errors)")
        #expect(early.output.contains(#""status":"unknown""#), "\(early.output)")

        let store = try await CounterStore(in: scratch)
        let flushed = try await store.run("send", "--outbox", outbox)
        #expect(flushed.end == .exited(0), "\(flushed.errors)")
        #expect(flushed.output.components(separatedBy: #""status":"applied""#).count == 3, "\(flushed.output)")
        let nothing = try await store.run("send", "--outbox", outbox)
        #expect(nothing.end == .exited(0) && nothing.output.isEmpty)
        #expect(try await store.run("send", "increment", "--outbox", outbox).end == .exited(0))
        #expect(try await store.run("view").output.contains(#""sync":"3""#))
        try await eventually("sessions that are done have ended") { try await store.status("sessions") == 0 }
    }

    @Test func `Who gives up on what an earlier call has left tells of each line, too`() async throws {
        let scratch = try Scratch()
        let arguments = [
            "send", "-", "--outbox", scratch.folder("o"), "--timeout", "3s", "--data", scratch.folder("data"),
        ]
        for receipts in [2, 3] {
            let send = try Child(Executable.counter, arguments, in: scratch, input: "increment\nincrement\n")
            #expect(try await send.wait() == .exited(75))
            let lines = send.output.split(separator: "\n")
            #expect(lines.count == receipts && lines.allSatisfy { $0.contains("it is kept in the outbox") }, "\(lines)")
            #expect(send.errors.contains("no answer of the store yet"), "\(send.errors)")
        }
    }

    @Test func `What a store refuses to take of another program is told as kept, and is sent by the right one`() async throws {
        let scratch = try Scratch()
        let outbox = scratch.folder("orders.outbox")
        let early = try Child(
            Executable.counter, ["send", "increment", "--outbox", outbox, "--timeout", "3s", "--data", scratch.folder("data")],
            in: scratch)
        #expect(try await early.wait() == .exited(75))
        let store = try await CounterStore(workers: 0, in: scratch)
        let stranger = try Child(Executable.tally, ["send", "--outbox", outbox, "--data", store.data], in: scratch)
        #expect(try await stranger.wait() == .exited(78), "\(stranger.errors)")
        let kept = #"{"status":"unknown","reason":"it is kept in the outbox, and sent again when that is opened next"}"#
        #expect(stranger.output == kept + "\n")
        let sent = try await store.run("send", "--outbox", outbox)
        #expect(sent.end == .exited(0) && sent.receipts.count == 1, "\(sent.output)\(sent.errors)")
    }

    @Test func `A durable client that is killed again and again loses and doubles nothing`() async throws {
        let store = try await CounterStore()
        let outbox = store.scratch.folder("orders.outbox")
        let total = 3_000
        let input = String(repeating: "increment\n", count: total)
        let first = try store.start(["send", "-", "--outbox", outbox, "--timeout", "60s"], input: input)
        try await eventually("it is at work") { first.output.count > 2_000 }
        first.send(SIGKILL)
        _ = try await first.wait()
        var receipts = first.receipts
        var seen = Set(receipts)
        for _ in 0..<3 {
            let again = try store.start(["send", "--outbox", outbox])
            _ = try? await eventually("it has begun", within: .seconds(2)) { !again.output.isEmpty || again.end != nil }
            again.send(SIGKILL)
            _ = try await again.wait()
            receipts += again.receipts
            seen.formUnion(again.receipts)
        }
        let last = try await store.run("send", "--outbox", outbox)
        #expect(last.end == .exited(0), "\(last.errors)")
        seen.formUnion(last.receipts)
        let view = try await store.run("view").json["view"] as? [String: Any]
        let applied = try #require((view?["sync"] as? String).flatMap { Int($0) })
        #expect(applied >= first.receipts.count && applied <= total)
        #expect(seen.count == applied, "every input that was taken has a receipt, with a turn of its own")
    }

    @Test func `An ephemeral client that is killed leaves every input applied once or not at all`() async throws {
        let store = try await CounterStore()
        let client = try store.start(["send", "-"], input: String(repeating: "increment\n", count: 3_000))
        try await eventually("it is at work") { client.output.count > 2_000 }
        client.send(SIGKILL)
        _ = try await client.wait()
        try await eventually("its session is idle") {
            let before = try await store.status("turn")
            try await Task.sleep(for: .milliseconds(300))
            return try await store.status("turn") == before
        }
        let view = try await store.run("view").json["view"] as? [String: Any]
        let applied = try #require((view?["sync"] as? String).flatMap { Int($0) })
        #expect(applied >= client.receipts.count && applied <= 3_000)
        #expect(Set(client.receipts).count == client.receipts.count)
        #expect(try await store.status("applied") == applied)
    }

    @Test func `Two processes cannot use one outbox`() async throws {
        let scratch = try Scratch()
        let arguments = [
            "send", "increment", "--outbox", scratch.folder("o"), "--timeout", "60s", "--data", scratch.folder("data"),
        ]
        let first = try Child(Executable.counter, arguments, in: scratch)
        try await eventually("it has the file") { FileManager.default.fileExists(atPath: scratch.folder("o")) }
        let second = try Child(Executable.counter, arguments, in: scratch)
        #expect(try await second.wait() == .exited(74))
        #expect(second.errors.contains("another process uses the outbox"), "\(second.errors)")
        #expect(first.end == nil, "it has the outbox still")
        first.send(SIGKILL)
        try await first.wait()
    }

    @Test func `A damaged outbox is refused and named`() async throws {
        let scratch = try Scratch()
        let file = try scratch.write("this is no outbox, but somebody's letter to somebody", to: "letter")
        let send = try Child(
            Executable.counter, ["send", "increment", "--outbox", file, "--data", scratch.folder("data")], in: scratch)
        #expect(try await send.wait() == .exited(74))
        #expect(send.errors.contains("the outbox \(file) cannot be read"), "\(send.errors)")
    }

    @Test func `Receipts of piped inputs come in order, a line that is no JSON in its place`() async throws {
        let store = try await CounterStore()
        let input = (1...500).map { $0 % 2 == 0 ? "increment" : "decrement" } + ["{", "increment"]
        let send = try await store.run("send", "-", input: input.joined(separator: "\n"))
        #expect(send.end == .exited(65))
        let turns = send.receipts
        #expect(turns.count == 500 && turns == turns.sorted())
        #expect(send.errors.contains("the input is no JSON"), "\(send.errors)")
        let lines = send.output.split(separator: "\n")
        #expect(lines.count == 501)
        let last = #"{"status":"rejected","line":501,"reason":"the input is no JSON: "#
        #expect(lines.last?.hasPrefix(last) == true, "\(lines.last ?? "")")
    }

    @Test func `A line that is longer than an input may be is rejected for its length`() async throws {
        let store = try await CounterStore(workers: 0)
        let send = try await store.run("send", "-", input: "\"\(String(repeating: "é", count: 1 << 20))\"\n")
        #expect(send.end == .exited(65))
        #expect(send.output.hasPrefix(#"{"status":"rejected","line":1,"#), "\(send.output)")
        #expect(send.errors.contains("more than the limit of 1048576"), "\(send.errors)")
    }

    @Test func `A line that the store rejects has its receipt in its place`() async throws {
        let store = try await CounterStore(workers: 0)
        let send = try await store.run("send", "-", input: "increment\n\nincrease\nincrement\n")
        #expect(send.end == .exited(65))
        let lines = send.output.split(separator: "\n")
        try #require(lines.count == 3, "\(lines)")
        #expect(lines[1].hasPrefix(#"{"status":"rejected","line":3,"reason":"unknown case \"increase\""#), "\(lines[1])")
        #expect(lines[2].hasPrefix(#"{"status":"applied""#), "\(lines[2])")
    }

    @Test func `An input that the outbox could not take was not sent, and that is said`() async throws {
        let scratch = try Scratch()
        for _ in 0..<5 {
            let send = try Child(
                Executable.counter, ["send", "increment", "--outbox", "/proc/x/y", "--data", scratch.folder("data")], in: scratch)
            #expect(try await send.wait() == .exited(74))
            #expect(send.errors.hasPrefix("error: the outbox /proc/x/y cannot be opened: "), "\(send.errors)")
            #expect(send.errors.hasSuffix("; an input that it has not taken was not sent\n"), "\(send.errors)")
            // The error may end the command before the receipt.
            let receipt = #"{"status":"rejected","reason":"it was not sent, for the client has ended"}"# + "\n"
            #expect(["", receipt].contains(send.output), "\(send.output)")
        }
    }
}

extension Child {
    /// The turns of the receipts so far; the last line may be cut off.
    fileprivate var receipts: [Int] {
        output.split(separator: "\n").compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["turn"] as? Int
        }
    }
}
