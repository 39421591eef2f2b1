import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Spans of what a store has written, one client and one worker beside it.
@Suite struct TraceMachineTests {
    private static func rig() throws -> Rig { try StoreWorkerTests.rig(slots: 99, credit: 99) }

    /// The spans of a journal, each with the turn that tells of it.
    private static func spans(
        of batches: [StoredBatch], from machine: TraceMachine? = nil, through limit: Int = .max
    ) throws -> [(span: TraceSpan, turn: Int)] {
        var machine = machine ?? TraceMachine(TypedEngine(Shop.self, secret: workshopSecret))
        var spans: [(TraceSpan, Int)] = []
        for batch in batches {
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: limit) { spans.append(($0, $1)) }
        }
        return spans
    }

    private static func text(of place: TraceSpan.Place?) -> String {
        switch place {
        case nil: "outside"
        case .turn(let turn): "\(turn)"
        case .effect(let effect): "\(effect)"
        case .again(let effect, let turn): "\(effect) again in \(turn)"
        case .attempt(let effect, let handedOut): "\(effect) at \(handedOut.microseconds)"
        }
    }

    private static func line(_ span: TraceSpan) -> String {
        let content =
            switch span.content {
            case .turn(let record, let ordered): "\(record.kind)" + ordered.map { ", orders \($0.id)" }.joined()
            case .effect(_, let end, let attempts): "\(end) after \(attempts)"
            }
        let seconds = (span.end.microseconds - span.begin.microseconds) / 1_000_000
        let failure = span.failure.map { " (\($0))" } ?? ""
        return "\(text(of: span.place)) < \(text(of: span.parent)) of \(span.root): \(content)\(failure), \(seconds) s"
    }

    /// Answers, failures, cancellation, death, and life after it.
    private static func eventfulRig() throws -> Rig {
        let rig = try rig()
        rig.order(
            Shop.Job(name: "a", attempts: 2), StorePolicyTests.job("b"), Shop.Job(name: "c", diesSilently: true),
            Shop.Job(name: "d"))
        let tasks = rig.takeTasks(worker(1))
        rig.exchange(.result([tasks[0].failed()], credit: 99), from: worker(1))
        rig.exchange(inputs([.cancel("label"), .forbidden], from: 2), from: client(1))
        rig.tick(.seconds(2))
        let again = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([again.answered("a", "rest")], credit: 99), from: worker(1))
        rig.exchange(.result([tasks[2].failed("no", permanent: true)], credit: 99), from: worker(1))
        rig.tick(.seconds(3))
        #expect(rig.ask("requeue", effect: "3/2")?.refusal == nil)
        let last = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([last.answered()], credit: 99), from: worker(1))
        return rig
    }

    @Test func `Each turn of a chain is a span, and each effect that has ended`() throws {
        let rig = try Self.eventfulRig()
        #expect(
            try Self.spans(of: rig.committedBatches).map { Self.line($0.span) } == [
                "1 < outside of 1: started, 0 s",
                "3 < outside of 3: applied, orders 3/0, orders 3/1, orders 3/2, orders 3/3, 0 s",
                "4 < 3/0 of 3: attemptFailed (threw: no luck), 0 s",
                "5 < outside of 5: applied, 0 s",
                "3/1 < 3 of 3: cancelled after 0, 0 s",
                "6 < outside of 6: refused (refused), 0 s",
                "7 < 3/0 of 3: applied, 0 s",
                "8 < 3/0 of 3: applied, 0 s",
                "3/0 < 3 of 3: answered after 2, 2 s",
                "3/2 < 3 of 3: dead after 1 (failed after 1 attempt: no), 2 s",
                "10 < 3/2 of 3: requeued, 0 s",
                "3/2 again in 11 < 3/2 of 3: done after 1, 5 s",
            ])
    }

    @Test func `A chain is followed by its turns, and an effect that is still open has no span`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.chain(3)]), from: client(1))
        rig.order(job("a"), sequence: 2)
        #expect(
            try Self.spans(of: rig.committedBatches).dropFirst().map { Self.line($0.span) } == [
                "3 < outside of 3: applied, 0 s", "4 < 3 of 3: applied, 0 s", "5 < 4 of 3: applied, 0 s",
                "6 < outside of 6: applied, orders 6/0, 0 s",
            ])
    }

    @Test func `What a source sends begins chains of its own, and the source has no span`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.watch([Shop.Watch(id: "source", source: job("s"))])]), from: client(1))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let message = JobResult.Answer.streamed(index: 1, message: packed(Shop.Message.finished("news")), checkpoint: nil)
        rig.exchange(.result([task.result(message)], credit: 99), from: worker(1))
        rig.exchange(inputs([.watch([])], from: 2), from: client(1))
        #expect(
            try Self.spans(of: rig.committedBatches).dropFirst().map { Self.line($0.span) } == [
                "3 < outside of 3: applied, 0 s", "4 < outside of 4: streamed, 0 s", "5 < outside of 5: applied, 0 s",
            ])
    }

    @Test func `A drop is of the chain of its effect, be that dead or open`() throws {
        let rig = try Self.rig()
        rig.order(job("a", diesSilently: true), job("b"))
        let tasks = rig.takeTasks(worker(1))
        rig.exchange(.result([tasks[0].failed()], credit: 99), from: worker(1))
        for effect in ["3/0", "3/1"] { #expect(rig.ask("drop", effect: effect)?.value == ["dropped": .string(effect)]) }
        let batches = rig.committedBatches
        let all = try Self.spans(of: batches)
        #expect(
            all.dropFirst().map { Self.line($0.span) } == [
                "3 < outside of 3: applied, orders 3/0, orders 3/1, 0 s",
                "3/0 < 3 of 3: dead after 1 (failed after 1 attempt: no luck), 0 s",
                "5 < 3/0 of 3: dropped, 0 s",
                "6 < 3/1 of 3: dropped, 0 s",
                "3/1 < 3 of 3: dropped after 0, 0 s",
            ])
        for turn in 1..<rig.machine.head {
            let restored = try Self.machines(after: turn, in: batches).restored
            let expected = all.filter { $0.turn > turn }.map(\.span)
            #expect(try Self.spans(of: batches, from: restored).map(\.span) == expected, "after the snapshot of \(turn)")
        }
    }

    /// Machines that stand after a turn: one by replay, and one by a snapshot.
    private static func machines(after turn: Int, in batches: [StoredBatch]) throws -> (
        replayed: TraceMachine, restored: TraceMachine
    ) {
        var replayed = TraceMachine(TypedEngine(Shop.self, secret: workshopSecret))
        var state = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 16)
        let log = SharedLog(after: 0)
        for batch in batches {
            try replayed.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: turn)
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if record.turn <= turn { try state.replay(record, log: log) }
            }
        }
        var restored = TraceMachine(TypedEngine(Shop.self, secret: workshopSecret))
        try restored.restore(snapshot: state.snapshot())
        #expect(restored.turn == turn && restored.openCount == replayed.openCount)
        return (replayed, restored)
    }

    @Test func `Whatever turn is begun after, by replay or by a snapshot, the rest is the same`() throws {
        let rig = try Self.eventfulRig()
        let batches = rig.committedBatches
        let all = try Self.spans(of: batches)
        for turn in 1..<rig.machine.head {
            let machines = try Self.machines(after: turn, in: batches)
            let expected = all.filter { $0.turn > turn }.map(\.span)
            #expect(try Self.spans(of: batches, from: machines.replayed).map(\.span) == expected, "after \(turn)")
            #expect(try Self.spans(of: batches, from: machines.restored).map(\.span) == expected, "after the snapshot of \(turn)")
        }
    }

    @Test(arguments: [false, true])
    func `What was requeued in a lane has the same span of each end behind a snapshot, whether the lane stops or goes on`(
        _ stops: Bool
    ) throws {
        let rig = try Self.rig()
        var job = Shop.Job(name: "a", diesSilently: true, id: "label", policy: "lane", limit: 9)
        job.stops = stops
        rig.order(job)
        for _ in 1...2 {
            let task = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([task.failed("no", permanent: true)], credit: 99), from: worker(1))
            #expect(rig.ask("requeue", effect: "3/0")?.refusal == nil)
        }
        let last = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([last.answered()], credit: 99), from: worker(1))
        let batches = rig.committedBatches
        let all = try Self.spans(of: batches)
        #expect(
            all.map { Self.text(of: $0.span.place) } == [
                "1", "3", "3/0", "5", "3/0 again in 6", "7", "3/0 again in 8",
            ])
        for turn in 1..<rig.machine.head {
            let restored = try Self.machines(after: turn, in: batches).restored
            let expected = all.filter { $0.turn > turn }.map(\.span)
            #expect(try Self.spans(of: batches, from: restored).map(\.span) == expected, "after the snapshot of \(turn)")
        }
    }

    @Test(arguments: CapsuleReplayTests.seeds)
    func `Whatever happens, each effect has ended in one span or is open, and a parent is in the trace of its child`(
        _ seed: UInt64
    ) throws {
        var world = try StoreRandomTests.World(seed: seed)
        for _ in 0..<300 { try world.step() }
        world.rig.commits = true
        world.rig.round()
        try Self.expectWholeTraces(of: world.rig, seed)
        var random = Random(seed: seed)
        try Self.expectWholeTraces(of: try CapsuleReplayTests.eventfulRig(&random), seed)
    }

    private static func expectWholeTraces(of rig: Rig, _ seed: UInt64) throws {
        var random = Random(seed: seed)
        let batches = rig.committedBatches
        var machine = TraceMachine(TypedEngine(Shop.self, secret: workshopSecret))
        var spans: [(span: TraceSpan, turn: Int)] = []
        for batch in batches {
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) { spans.append(($0, $1)) }
        }
        #expect(machine.openCount == rig.durable.ledger.open.count, "seed \(seed)")
        var roots: [TraceSpan.Place: Int] = [:]
        var ordered: Set<EffectID> = []
        for (span, _) in spans {
            #expect(roots.updateValue(span.root, forKey: span.place) == nil, "seed \(seed): \(span.place) twice")
            if case .turn(_, let effects) = span.content { ordered.formUnion(effects.map(\.id)) }
        }
        let ended = Set(spans.compactMap { if case .effect(let effect) = $0.span.place { effect } else { nil } })
        // One that was dead is open again when it was requeued.
        #expect(ordered == ended.union(rig.durable.ledger.open.keys), "seed \(seed)")
        for (span, _) in spans {
            guard let parent = span.parent, let root = roots[parent] else { continue }
            #expect(root == span.root, "seed \(seed): \(span.place) in \(span.root), its parent \(parent) in \(root)")
        }
        // A snapshot is taken where a chain has ended.
        var ends: [Int] = []
        for batch in batches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if !record.continuesGroup, record.turn > 1 { ends.append(record.turn - 1) }
            }
        }
        let turn = try #require(ends.randomElement(using: &random))
        let restored = try Self.machines(after: turn, in: batches).restored
        #expect(
            try Self.spans(of: batches, from: restored).map(\.span) == spans.filter { $0.turn > turn }.map(\.span),
            "seed \(seed), \(turn)")
    }

    @Test func `Identities are none twice, never zero, the same each time, and others in another timeline`() throws {
        let rig = try Self.eventfulRig()
        let spans = try Self.spans(of: rig.committedBatches).map(\.span)
        let ids = spans.map { TraceSpan.id(of: $0.place, in: home) }
        #expect(Set(ids).count == spans.count && !ids.contains(0))
        #expect(ids == spans.map { TraceSpan.id(of: $0.place, in: home) })
        let other = Timeline(high: 7, low: 7)
        #expect(Set(ids).isDisjoint(with: spans.map { TraceSpan.id(of: $0.place, in: other) }))
        let (one, two) = (TraceSpan.trace(of: 3, in: home), TraceSpan.trace(of: 5, in: home))
        #expect(one.high != one.low && one.high != two.high && one.low != two.low)
        #expect(spans.allSatisfy { $0.parent != $0.place && $0.begin <= $0.end })
    }
}
