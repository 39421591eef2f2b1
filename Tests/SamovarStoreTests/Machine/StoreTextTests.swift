import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Texts that tell of something quote what came from outside, and some are kept until somebody confirms them.
@Suite struct StoreTextTests {
    /// The text of which a peer makes whatever the store quotes.
    private static let long = String(repeating: "x", count: 900_000)

    private static func expectBounded(_ text: String, _ location: SourceLocation = #_sourceLocation) {
        #expect(text.count <= 1_000 && text.utf8.count <= 4_000, sourceLocation: location)
    }

    @Test func `A rejection does not repeat the whole input`() throws {
        let rig = try Rig()
        rig.connectClient()
        let bad = packed([Self.long: 1])
        for sequence in 1...10 {
            let replies = rig.exchange(.send([Submission(sequence: sequence, input: bad)], confirmed: 0), from: client(1))
            guard case .receipt(let outcomes, _)? = replies.first, case .rejected(let text)? = outcomes.first?.verdict else {
                Issue.record("no receipt in \(replies.count) frames")
                return
            }
            Self.expectBounded(text)
            #expect(text.hasPrefix("unknown case \"xxx"))
        }
        // Nor do journal and snapshot.
        #expect(rig.committedBatches.reduce(0) { $0 + $1.bytes.count } < 20_000)
        #expect(try rig.machine.snapshot().count < 20_000)
    }

    @Test func `A rejection of a former build is kept with its beginning`() throws {
        let rig = try Rig()
        rig.round()
        let origin = Origin.client(session: session(1), sequence: 1)
        var batch = RecordBatch(after: rig.machine.head)
        batch.append(
            Record(turn: rig.machine.head + 1, time: at(1), origin: origin, event: .refused(.rejected(Self.long))))
        let stored = StoredBatch(first: batch.first, last: batch.last, bytes: batch.bytes)
        let later = try Rig(journal: rig.committedBatches + [stored], now: at(2))
        #expect(try later.machine.snapshot().count < 20_000)
        later.connectClient(witness: 1)
        let replies = later.exchange(.send([Submission(sequence: 1, input: [])], confirmed: 0), from: client(1))
        guard case .receipt(let outcomes, _)? = replies.first, case .rejected(let text)? = outcomes.first?.verdict else {
            Issue.record("no receipt in \(replies.count) frames")
            return
        }
        Self.expectBounded(text)
    }

    @Test func `A refusal of the program has a limit`() {
        #expect(Outcome.Verdict(refusal: [1, 2]) == .refused([1, 2]))
        #expect(
            Outcome.Verdict(refusal: Array(repeating: 0, count: 65_537))
                == .rejected("refused, with a reason of 65537 bytes; 65536 at most"))
    }

    @Test func `Errors and replies do not repeat what was sent`() throws {
        let rig = try Rig()
        let hello = Hello(role: .client(session: session(1)), schema: Schema(name: Self.long, version: 1))
        for case .error(let error) in rig.exchange(.hello(hello), from: client(1)) { Self.expectBounded(error.text) }
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [])
        for case .error(let error) in rig.exchange(
            .hello(Hello(role: .worker(offer), schema: Schema(name: Self.long, version: 1))), from: worker(1))
        {
            Self.expectBounded(error.text)
        }
        Self.expectBounded(try #require(rig.ask(Self.long)?.refusal))
        Self.expectBounded(try #require(rig.ask("requeue", effect: Self.long)?.refusal))
        rig.connectWorker()
        rig.machine.workerDied(workerID(1), Self.long, now: rig.now)
        rig.round()
        for note in rig.takeNotes() { Self.expectBounded(note) }
    }

    @Test func `A frame of a peer with a long text is read with its beginning`() throws {
        let error = Envelope(.error(PeerError(.misuse, Self.long)), timeline: home)
        guard case .error(let read) = try Envelope(parts: error.parts).frame else { return }
        Self.expectBounded(read.text)
        Self.expectBounded("\(WireError.malformed(Self.long))")
        Self.expectBounded(ReplayError(turn: 1, Self.long).text)
        Self.expectBounded(TrapError(turn: 1, Self.long).text)
    }

    @Test func `What a settled turn lists is bounded`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(credit: 200)
        rig.deliver(inputs([.order((0..<150).map { job("\($0)", diesSilently: true) })]), from: client(1))
        rig.round()
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.count == 150)
        rig.exchange(.result(JobResults(tasks.map { $0.failed(String(Self.long.prefix(5_000))) }), credit: 200), from: worker(1))
        _ = rig.take(client(1))
        let replies = rig.exchange(.settle(turn: 3), from: client(1))
        guard case .settled(_, let dead)? = replies.first else {
            Issue.record("not settled: \(replies.count) frames")
            return
        }
        #expect(dead.count == 101 && dead.last == "and 50 more")
        dead.forEach { Self.expectBounded($0) }
    }

    @Test func `What a turn waits for is told in one text`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.deliver(inputs([.order((0..<200).map { job("job", queue: "a queue with a name, number \($0)") })]), from: client(1))
        rig.round()
        _ = rig.take(client(1))
        rig.exchange(.settle(turn: 2), from: client(1))
        rig.tick(.seconds(2))
        let told = rig.take(client(1)).compactMap { if case .waiting(_, let text) = $0 { text } else { nil } }
        #expect(!told.isEmpty)
        told.forEach { Self.expectBounded($0) }
    }

    @Test func `A list of effects has no more payload than fits a reply`() throws {
        var settings = StoreSettings()
        settings.adminReplyBytes = 40_000
        let rig = try Rig(settings)
        rig.connectClient()
        rig.deliver(inputs([.order((0..<6).map { job("\($0)" + Self.long.prefix(9_000)) })]), from: client(1))
        rig.round()
        let reply = try #require(rig.ask("effects"))
        guard case .array(let open)? = reply.value["open"] else { return }
        #expect(open.count == 4)
        #expect(reply.value["openCount"] == .int(6))
    }

    @Test func `An effect is told without its payload only if that does not fit a reply`() throws {
        var settings = StoreSettings()
        settings.adminReplyBytes = 4_000
        let rig = try Rig(settings)
        rig.connectClient()
        rig.deliver(inputs([.order([job("short"), job(String(Self.long.prefix(9_000)))])]), from: client(1))
        rig.round()
        let told = try ["2/0", "2/1"].map { name in try #require(rig.ask("attempts", ["effect": .string(name)])?.value["open"]) }
        #expect(told.map { $0["payload"] == nil } == [false, true])
    }
}
