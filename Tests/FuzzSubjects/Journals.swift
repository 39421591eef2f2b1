import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// Rows of a journal: batches of records, and snapshots.
extension FuzzSubject {
    /// The first byte is the number of records, the rest the batch.
    static let records = FuzzSubject(name: "records", isText: false) {
        let batch = try history()
        return [[UInt8(batch.turns)] + batch.bytes, [0] + batch.bytes] + (kinds() + [digest()]).map { [1] + $0.bytes }
    } read: { bytes in
        guard let count = bytes.first else { return false }
        var again = RecordBatch(after: 0)
        var records: [Record] = []
        do {
            try RecordBatch.read(first: 1, last: Int(count), bytes: Array(bytes.dropFirst())) { record in
                records.append(record)
                again.append(record)
            }
        } catch {
            try require(error is ReplayError, "an error of type \(type(of: error))")
            return false
        }
        var repeated: [Record] = []
        try RecordBatch.read(first: again.first, last: again.last, bytes: again.bytes) { repeated.append($0) }
        try require(repeated == records, "records are not read as they were written")
        return true
    }

    /// The same bytes, applied: what they say goes into the books, and the store begins to serve.
    static let replays = FuzzSubject(name: "replays", isText: false) {
        let batch = try history()
        return [[UInt8(batch.turns)] + batch.bytes] + kinds().map { [1] + $0.bytes }
    } read: { bytes in
        guard let count = bytes.first else { return false }
        var machine = newMachine()
        do {
            // Turn 1 as it is, so that whatever the bytes say meets a program that has started.
            let opening = opening()
            try machine.replay(first: 1, last: 1, bytes: opening.bytes)
            try machine.replay(first: 2, last: max(2, Int(count) + 1), bytes: Array(bytes.dropFirst()))
        } catch {
            try require(error is ReplayError, "an error of type \(type(of: error))")
            return false
        }
        try serve(&machine)
        return true
    }

    static let snapshots = FuzzSubject(name: "snapshots", isText: false) {
        var machine = newMachine()
        try machine.replay(first: 1, last: 1, bytes: opening().bytes)
        let empty = try machine.snapshot()
        let batch = try history()
        try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
        return [empty, try machine.snapshot()]
    } read: { bytes in
        var restored = newMachine()
        do {
            try restored.restore(snapshot: bytes)
        } catch {
            return false
        }
        let first = try restored.snapshot()
        var again = newMachine()
        try again.restore(snapshot: first)
        try require(try again.snapshot() == first, "a snapshot is not read as it was written")
        try serve(&restored)
        return true
    }

    private static func newMachine() -> StoreMachine {
        let secret = Secret(high: 1, low: 2)
        return StoreMachine(
            settings: StoreSettings(), engine: TypedEngine(Errands.self, secret: secret), timeline: Timeline(high: 3, low: 4),
            secret: secret, build: "fuzz")
    }

    /// A start on what was read, and some time.
    private static func serve(_ machine: inout StoreMachine) throws {
        try machine.start(seed: [0x80], now: Timestamp(microseconds: 2_000_000))
        for second in 3..<6 {
            let now = Timestamp(microseconds: Int64(second) * 1_000_000)
            machine.advance(now: now)
            machine.publishView(now: now)
            machine.flush(now: now)
            _ = machine.takeActions()
            machine.committed(through: machine.head, now: now)
        }
    }

    // MARK: Examples

    private static func opening() -> RecordBatch {
        var batch = RecordBatch(after: 0)
        let event = Record.Event.started(number: 1, build: "b", schema: Errands.schema, seed: [0x80])
        batch.append(Record(turn: 1, time: Timestamp(microseconds: 1_000_000), event: event))
        return batch
    }

    /// The turns 2 and on of a store that took one message of each kind.
    private static func history() throws -> RecordBatch {
        let engine = TypedEngine(Errands.self, secret: Secret(high: 1, low: 2))
        var log = TurnLog(after: 0)
        let now = Timestamp(microseconds: 1_000_000)
        _ = engine.skip()
        try engine.start(seed: [0x80], now: now, log: &log)
        log.batch = RecordBatch(after: 1)
        let messages: [Errands.Message] = [.add("a"), .add("b"), .run("errand"), .run("other"), .again(2)]
        for (index, message) in messages.enumerated() {
            let origin = Origin.client(session: UniqueID(high: 5, low: 6), sequence: index + 1)
            _ = try engine.apply(.input(try MessagePackEncoder().encode(message), origin), now: now, log: &log)
        }
        let effect = EffectID(turn: 4, ordinal: 0)
        let answer: MessageList = [try MessagePackEncoder().encode(Errands.Message.finished("errand"))]
        _ = try engine.apply(.answer(answer, effect, Lease(start: 1, counter: 1), root: 4), now: now, log: &log)
        let dead = Record.Event.dead(EffectID(turn: 5, ordinal: 0), Failure(reason: .threw, text: "no", attempts: 2))
        log.batch.append(Record(turn: engine.skip(), time: now, event: dead))
        return log.batch
    }

    /// A record that a replay compares with its state.
    private static func digest() -> RecordBatch {
        var batch = RecordBatch(after: 0)
        batch.append(Record(turn: 1, time: Timestamp(microseconds: 1_000_000), event: .stateDigest(9)))
        return batch
    }

    /// One record of each kind that calls no `update` and that any replay takes.
    private static func kinds() -> [RecordBatch] {
        let effect = EffectID(turn: 2, ordinal: 0)
        let id = UniqueID(high: 7, low: 8)
        // {"finished": {"_0": "x"}}
        let finished = [0x81, 0xa8] + Array("finished".utf8) + [0x81, 0xa2] + Array("_0".utf8) + [0xa1, 0x78]
        let events: [Record.Event] = [
            .started(number: 2, build: "b", schema: Errands.schema, seed: []), .refused(.rejected("no")),
            .refused(.refused([0xc0])),
            .attemptFailed(effect, .timedOut, "slow", notBefore: Timestamp(microseconds: 9)), .done(effect),
            .dead(effect, Failure(reason: .threw, text: "t", attempts: 1)), .requeued(effect), .dropped(effect), .workerJoined(id),
            .workerLeft(id), .sessionExpired(id), .drained, .quarantined("why"),
            .streamed(message: finished, hash: 0, checkpoint: [1]), .divergenceAccepted(turn: 2, hash: 9, build: "c"),
        ]
        return events.map { event in
            var batch = RecordBatch(after: 0)
            batch.append(
                Record(
                    turn: 1, time: Timestamp(microseconds: 1_000_000), origin: .client(session: id, sequence: 1), root: 1,
                    event: event))
            return batch
        }
    }
}
