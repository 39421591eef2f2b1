import MessagePack
import SamovarCore
import SamovarLoad
import SamovarPeers
import SamovarWire
import Testing

/// The account of a client: what it sends when, and what it makes of the answers.
struct LoadClientTests {
    private func at(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds) }

    private func welcome(credit: Int = 1_000) -> Envelope {
        let welcome = Welcome(
            schema: Schema(name: "Counter", version: 1), expected: 1, credit: credit, head: 9, silence: .seconds(6))
        return Envelope(.welcome(welcome), timeline: UniqueID(high: 1, low: 1))
    }

    private func envelope(_ frame: Frame) -> Envelope { Envelope(frame, timeline: UniqueID(high: 1, low: 1)) }

    private func receipt(_ outcomes: (Int, Int, Outcome.Verdict)...) -> Envelope {
        envelope(.receipt(outcomes.map { Outcome(sequence: $0.0, turn: $0.1, verdict: $0.2) }, credit: 1_000))
    }

    private func connected(_ plan: LoadPlan, number: Int = 1) throws -> LoadClient {
        var client = LoadClient(
            number, of: plan, inputs: [try InputTemplate(encoded: plan.inputs[0])], session: UniqueID(high: 5, low: 5), schema: nil,
            random: Random(seed: 1))
        _ = client.ticked(now: at(0))
        _ = client.received(welcome(), now: at(0))
        return client
    }

    private func sent(_ actions: [ClientMachine.Action]) -> [Int] {
        actions.flatMap { action -> [Int] in
            guard case .send(let envelope) = action, case .send(let inputs, _) = envelope.frame else { return [] }
            return inputs.map(\.sequence)
        }
    }

    @Test func `An input is sent when it is due, and not before`() throws {
        // Of two clients at 1,000 a second, the second one's inputs are due at 1, 3, 5 … ms.
        var client = try connected(plan())
        #expect(sent(client.pump(now: at(100))) == [])
        client.begin(at: at(1_000))
        #expect(sent(client.pump(now: at(1_999))) == [])
        #expect(sent(client.pump(now: at(2_000))) == [1])
        #expect(sent(client.pump(now: at(6_500))) == [2, 3])
        #expect(client.counts.sent == 3)
        #expect(client.due(by: at(6_500)) == 3)
    }

    @Test func `Latency counts from when an input was due, however late it was sent`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        // The host was asleep for 8 ms: inputs of 1, 3, 5 and 7 ms go at once.
        #expect(sent(client.pump(now: at(8_000))) == [1, 2, 3, 4])
        _ = client.received(receipt((1, 10, .applied), (2, 11, .applied)), now: at(9_000))
        #expect(
            client.takeSamples() == [
                .applied(after: 8_000, turn: 10, due: at(1_000)), .applied(after: 6_000, turn: 11, due: at(3_000)),
            ])
        #expect(client.takeSamples() == [])
    }

    @Test func `Settled counts from when the input was due`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        _ = client.pump(now: at(1_000))
        let asked = client.received(receipt((1, 10, .applied)), now: at(2_000))
        #expect(asked.contains { if case .send(let envelope) = $0 { envelope.frame == .settle(turn: 10) } else { false } })
        let isIdle = client.isIdle(now: at(2_000))
        #expect(!isIdle)
        _ = client.received(envelope(.settled(turn: 10, dead: ["an effect"])), now: at(5_000))
        #expect(client.takeSamples().last == .settled(after: 4_000))
        #expect(client.counts.dead == 1)
    }

    @Test func `An input whose end nobody tells is counted`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        _ = client.pump(now: at(4_000))
        _ = client.received(receipt((1, 10, .applied), (2, 11, .applied)), now: at(5_000))
        #expect(client.withoutEnd == 2, "they are waited for")
        _ = client.received(envelope(.settled(turn: 10, dead: [])), now: at(6_000))
        #expect(client.withoutEnd == 1)
        _ = client.received(envelope(.error(PeerError(.sessionExpired, "your session has expired"))), now: at(7_000))
        let isIdle = client.isIdle(now: at(7_000))
        #expect(isIdle, "nothing is waited for any more")
        #expect(client.withoutEnd == 1 && client.takeSamples().count == 3)
    }

    @Test func `An input for which there was no room to ask is counted`() throws {
        // Of so many clients, each asks for the end of one input at a time.
        var client = try connected(plan(clients: 4_096, duration: 60_000_000))
        client.begin(at: at(0))
        #expect(sent(client.pump(now: at(5_000_000))) == [1, 2])
        _ = client.received(receipt((1, 10, .applied), (2, 11, .applied)), now: at(5_000_000))
        #expect(client.withoutEnd == 2)
        _ = client.received(envelope(.settled(turn: 10, dead: [])), now: at(5_000_000))
        #expect(client.withoutEnd == 1)
    }

    @Test func `Inputs are chosen for the end as often while many wait, and each that was chosen is counted`() throws {
        // Of so many clients, each asks for the end of one input at a time.
        var client = try connected(plan(clients: 4_096, duration: 60_000_000))
        client.begin(at: at(0))
        #expect(sent(client.pump(now: at(13_000_000))) == [1, 2, 3, 4])
        let outcomes = receipt((1, 10, .applied), (2, 11, .applied), (3, 12, .applied), (4, 13, .applied))
        _ = client.received(outcomes, now: at(13_000_000))
        #expect(client.withoutEnd == 4, "one is waited for, and for three there was no room to ask")
        _ = client.received(envelope(.settled(turn: 10, dead: [])), now: at(13_000_000))
        #expect(client.withoutEnd == 3)
        #expect(sent(client.pump(now: at(17_000_000))) == [5])
        let asked = client.received(receipt((5, 14, .applied)), now: at(17_000_000))
        #expect(asked.contains { if case .send(let envelope) = $0 { envelope.frame == .settle(turn: 14) } else { false } })
    }

    @Test func `Of many clients with few inputs each, one input in so many is asked for its end, the first ones too`() throws {
        // 500 inputs, five of each client.
        let plan = plan(pace: .rate(10_000), clients: 100, duration: 50_000)
        #expect(plan.settleStride == 10)
        var asked: [Int] = []
        for number in 0..<100 {
            var client = try connected(plan, number: number)
            client.begin(at: at(0))
            #expect(sent(client.pump(now: at(50_000))) == [1, 2, 3, 4, 5])
            for sequence in 1...5 {
                for action in client.received(receipt((sequence, 10 + sequence, .applied)), now: at(50_000)) {
                    if case .send(let envelope) = action, envelope.kind == .settle { asked.append(sequence) }
                }
            }
        }
        #expect((40...60).contains(asked.count), "\(asked.count) of 500")
        for sequence in 1...5 { #expect(asked.count { $0 == sequence } >= 5, "\(asked)") }
    }

    @Test func `What was due and not sent goes after the end, but not for ever`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        #expect(sent(client.pump(now: at(1_000))) == [1])
        client.end(at: at(10_000), late: at(20_000))
        #expect(sent(client.pump(now: at(15_000))) == [2, 3, 4, 5])
        #expect(client.due(by: at(15_000)) == 5)
        var late = try connected(plan())
        late.begin(at: at(0))
        late.end(at: at(10_000), late: at(20_000))
        let wasIdle = late.isIdle(now: at(19_999))
        #expect(!wasIdle)
        #expect(sent(late.pump(now: at(20_000))) == [])
        #expect(late.counts.sent == 0 && late.due(by: at(20_000)) == 5)
        let isIdle = late.isIdle(now: at(20_000))
        #expect(isIdle)
    }

    @Test func `What was not due at an early end is never sent`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        client.end(at: at(4_000), late: at(20_000))
        #expect(sent(client.pump(now: at(15_000))) == [1, 2])
        #expect(client.due(by: at(15_000)) == 2)
    }

    @Test func `To saturate is to keep the window full`() throws {
        var client = try connected(plan(pace: .saturate(window: 3)))
        client.begin(at: at(0))
        #expect(sent(client.pump(now: at(0))) == [1, 2, 3])
        _ = client.received(receipt((1, 10, .applied), (2, 11, .refused([0xc0]))), now: at(50))
        #expect(sent(client.pump(now: at(60))) == [4, 5])
        #expect(client.counts.applied == 1 && client.counts.refused == 1 && client.counts.unanswered == 3)
    }

    @Test func `Receipts whose turns do not rise are counted`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        _ = client.pump(now: at(8_000))
        _ = client.received(receipt((1, 10, .applied), (2, 12, .applied), (3, 11, .applied)), now: at(9_000))
        #expect(client.counts.outOfOrder == 1)
        _ = client.received(receipt((4, 11, .applied)), now: at(9_000))
        #expect(client.counts.outOfOrder == 2)
    }

    @Test func `A store that will not have the client leaves unknown inputs, and says why`() throws {
        var client = try connected(plan())
        client.begin(at: at(0))
        _ = client.pump(now: at(4_000))
        _ = client.received(envelope(.error(PeerError(.sessionExpired, "your session has expired"))), now: at(5_000))
        #expect(client.refusal == "your session has expired")
        #expect(client.counts.unknown == 2 && client.counts.unanswered == 0)
    }

    @Test func `An input that is too large to be sent is told as that, and nobody waits for it`() throws {
        var plan = plan()
        plan.inputs = [InputTemplate(.string(String(repeating: "x", count: 2 << 20))).encoded]
        var client = try connected(plan)
        client.begin(at: at(0))
        #expect(sent(client.pump(now: at(4_000))) == [])
        #expect(client.refusal == "an input of 2097157 bytes; 1048576 at most")
        #expect(client.due(by: at(4_000)) == 2 && client.counts.sent == 0)
        _ = client.disconnected(now: at(5_000))
        _ = client.ticked(now: at(20_000_000))
        _ = client.received(welcome(), now: at(20_000_000))
        let isIdle = client.isIdle(now: at(20_000_000))
        #expect(client.refusal != nil && isIdle)
    }

    @Test func `A key that is refused is a problem until the client is let in again`() throws {
        var client = try connected(plan())
        #expect(client.received(envelope(.error(PeerError(.keyRefused, "not any more"))), now: at(1_000)).contains(.checkKey))
        #expect(client.refusal == nil, "there may be another key by now")
        _ = client.keyFound(nil, now: at(1_000))
        #expect(client.refusal == "not any more")
        _ = client.ticked(now: at(20_000_000))
        _ = client.received(welcome(), now: at(20_000_000))
        #expect(client.isConnected && client.refusal == nil)
    }
}

struct ViewTrackerTests {
    private func at(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds) }

    @Test func `An input waits for the first view of its turn or a later one`() {
        var tracker = ViewTracker()
        #expect(tracker.applied(turn: 5, due: at(100)) == nil)
        #expect(tracker.applied(turn: 7, due: at(200)) == nil)
        #expect(tracker.viewed(turn: 4, now: at(300)) == [])
        #expect(tracker.viewed(turn: 6, now: at(400)) == [300])
        #expect(tracker.waiting == 1)
        #expect(tracker.viewed(turn: 9, now: at(500)) == [300])
    }

    @Test func `A view that came before the receipt counts from when it came`() {
        var tracker = ViewTracker()
        for (turn, time) in [(3, 100), (6, 200), (9, 300)] { _ = tracker.viewed(turn: turn, now: at(Int64(time))) }
        #expect(tracker.applied(turn: 5, due: at(50)) == 150)
        #expect(tracker.applied(turn: 6, due: at(50)) == 150)
        #expect(tracker.applied(turn: 7, due: at(50)) == 250)
    }
}
