import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Where a journal may be cut, and that one which was cut elsewhere is noticed.
@Suite struct GroupTests {
    /// Turns 1 started, 2 an order, 3 to 5 a chain, 6 a refusal, 7 and 8 the two messages of one answer.
    private func history() throws -> RecordBatch {
        let (engine, log) = try TypedEngineTests.started()
        for input: Shop.Input in [.order([Shop.Job(name: "a")]), .chain(3), .forbidden] {
            _ = try engine.take(packed(input), now: at(2), origin: TypedEngineTests.origin, log: log)
        }
        try engine.take(
            answer: MessageList(finished("a", "b")), effect: TypedEngineTests.effect, lease: TypedEngineTests.lease, root: 2,
            now: at(3),
            log: log)
        return log.batch
    }

    @Test(arguments: [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2), (5, 5), (6, 6), (7, 6), (8, 8), (900, 8)])
    func `Whole groups are kept`(_ turn: Int, _ end: Int) throws {
        let batch = try history()
        let kept = try RecordBatch.groups(through: turn, first: 1, last: batch.last, bytes: batch.bytes)
        #expect(kept.last == end)
        if end == batch.last { #expect(kept.bytes == batch.bytes) }
        guard end > 0 else { return }
        let engine = TypedEngineTests.engine()
        let log = SharedLog(after: 0)
        try RecordBatch.read(first: 1, last: kept.last, bytes: kept.bytes) { try engine.replay($0, log: log) }
        try engine.requireEndOfGroup()
    }

    @Test func `Of a batch behind the turn nothing is kept`() throws {
        let whole = try history()
        var later = RecordBatch(after: 5)
        try RecordBatch.read(first: 1, last: whole.last, bytes: whole.bytes) { if $0.turn > 5 { later.append($0) } }
        for turn in [0, 2, 5] {
            let kept = try RecordBatch.groups(through: turn, first: 6, last: later.last, bytes: later.bytes)
            #expect(kept.last == 5, "\(turn)")
        }
    }

    @Test func `A journal that ends inside a group is noticed`() throws {
        let batch = try history()
        var machine = Rig.machine()
        try machine.replay(first: 1, last: batch.last, bytes: batch.bytes, through: 4)
        do throws(ReplayError) {
            try machine.requireEndOfGroup()
            Issue.record("it was taken")
        } catch {
            #expect(error == ReplayError(turn: 4, "the journal ends inside a group: a follow-up of turn 4 is missing after it"))
        }
    }

    @Test func `A streamed message begins a group, and so does the first message of an answer`() {
        func record(_ index: Int, _ event: Record.Event) -> Record {
            Record(
                turn: 9, time: at(1),
                origin: .effect(EffectID(turn: 42, ordinal: 0), lease: Lease(start: 3, counter: 7), index: index), event: event)
        }
        let applied = Record.Event.applied(message: [], hash: 1, closes: false)
        #expect(!record(0, applied).continuesGroup && record(1, applied).continuesGroup)
        #expect(!record(1, .streamed(message: [], hash: 1, checkpoint: nil)).continuesGroup)
        #expect(Record(turn: 9, time: at(1), origin: .followUp(of: 8), event: applied).continuesGroup)
        #expect(!Record(turn: 9, time: at(1), origin: .failure(EffectID(turn: 42, ordinal: 0)), event: applied).continuesGroup)
    }

    @Test func `A batch that cannot be read has no groups`() throws {
        let batch = try history()
        #expect(throws: ReplayError.self) {
            try RecordBatch.groups(through: 5, first: 1, last: batch.last, bytes: Array(batch.bytes.dropLast()))
        }
    }
}
