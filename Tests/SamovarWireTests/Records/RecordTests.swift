import MachineSupport
import SamovarCore
import Testing

@testable import SamovarWire
@Suite struct RecordTests {
    static let id = UniqueID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10)
    static let effect = EffectID(turn: 42, ordinal: 1)
    static let lease = Lease(start: 3, counter: 7)

    /// One record of each kind and each origin, as it was read and written when it first was.
    static let examples: [(event: Record.Event, origin: Origin, golden: String)] = [
        (
            .started(number: 1, build: "b1", schema: Schema(name: "Counter", version: 1), seed: [0x80]), .store,
            "9601ce000f4240c0c0289501a26231a7436f756e74657201c40180"
        ),
        (
            .applied(message: [0x01], hash: 0xfeed, closes: true), .effect(effect, lease: lease, index: 2),
            "9602ce000f4240c095022a01920307022893c40101cdfeedc3"
        ),
        (
            .applied(message: [0x01], hash: 0xfeed, closes: true), .client(session: id, sequence: 9),
            "9602ce000f4240c09301c4100102030405060708090a0b0c0d0e0f10092893c40101cdfeedc3"
        ),
        (
            .applied(message: [], hash: .max, closes: false), .followUp(of: 41),
            "9602ce000f4240a56f746865729204292893c400cfffffffffffffffffc2"
        ),
        (
            .refused(.refused([0xc0])), .client(session: id, sequence: 9),
            "9603ce000f4240c09301c4100102030405060708090a0b0c0d0e0f1009289201c401c0"
        ),
        (
            .refused(.rejected("no")), .client(session: id, sequence: 10),
            "9603ce000f4240c09301c4100102030405060708090a0b0c0d0e0f100a289202a26e6f"
        ),
        (
            .attemptFailed(effect, .timedOut, "slow", notBefore: at(2)), .effect(effect, lease: lease, index: 0),
            "9604ce000f4240c095022a019203070028952a01a874696d65644f7574a4736c6f77ce001e8480"
        ),
        (
            .done(effect), .store,
            "9605ce000f4240c0c028922a01"
        ),
        (
            .dead(effect, Failure(reason: .unhandled, text: "what", attempts: 3)), .failure(effect),
            "9606ce000f4240c093032a0128952a01a9756e68616e646c6564a47768617403"
        ),
        (
            .requeued(effect), .operator,
            "9607ce000f4240c0910528922a01"
        ),
        (
            .dropped(effect), .operator,
            "9608ce000f4240c0910528922a01"
        ),
        (
            .workerJoined(id), .store,
            "9609ce000f4240c0c028c4100102030405060708090a0b0c0d0e0f10"
        ),
        (
            .workerLeft(id), .store,
            "960ace000f4240c0c028c4100102030405060708090a0b0c0d0e0f10"
        ),
        (
            .sessionExpired(id), .store,
            "960bce000f4240c0c028c4100102030405060708090a0b0c0d0e0f10"
        ),
        (
            .drained, .store,
            "960cce000f4240c0c028c0"
        ),
        (
            .divergenceAccepted(turn: 12, hash: 0xfeed, build: "b2"), .operator,
            "960ece000f4240c0910528930ccdfeeda26232"
        ),
        (
            .quarantined("a trap"), .client(session: id, sequence: 9),
            "960dce000f4240c09301c4100102030405060708090a0b0c0d0e0f10092891a6612074726170"
        ),
        (
            .streamed(message: [0x01], hash: 0xfeed, checkpoint: [0x09]), .effect(effect, lease: lease, index: 2),
            "960fce000f4240c095022a01920307022893c40101cdfeedc40109"
        ),
        (
            .stateDigest(0xfeed), .store,
            "9611ce000f4240c0c02891cdfeed"
        ),
    ]

    static func record(_ index: Int, turn: Int = 43) -> Record {
        Record(
            turn: turn, time: at(1), instance: index == 3 ? "other" : .main, origin: examples[index].origin, root: 40,
            event: examples[index].event)
    }

    static func read(_ batch: RecordBatch) throws -> [Record] {
        var records: [Record] = []
        try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { records.append($0) }
        return records
    }

    @Test(arguments: examples.indices)
    func `Every kind is read as it was written`(_ index: Int) throws {
        var batch = RecordBatch(after: 42)
        batch.append(Self.record(index))
        #expect(try Self.read(batch) == [Self.record(index)])
    }

    /// Journals outlive builds: what is once on disk must be read for ever.
    @Test(arguments: examples.indices)
    func `Every kind has the bytes that it always had`(_ index: Int) {
        var batch = RecordBatch(after: 42)
        batch.append(Self.record(index))
        let digits = batch.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(digits == Self.examples[index].golden)
    }

    @Test func `A record of an unknown kind is one of a newer build, and what else cannot be read is not`() {
        for (kind, isOfNewerBuild) in [(0x7f, true), (5, false)] as [(UInt8, Bool)] {
            let error = #expect(throws: ReplayError.self) {
                try RecordBatch.read(first: 3, last: 3, bytes: [0x96, kind, 0, 0xc0, 0xc0, 3, 0xc0]) { _ in }
            }
            #expect(error?.turn == 3 && error?.isOfNewerBuild == isOfNewerBuild)
        }
    }

    @Test func `A batch keeps numbers times and order`() throws {
        var batch = RecordBatch(after: 9)
        var records: [Record] = []
        for (index, seconds) in [5.0, 5.0, 7.5, 6.0].enumerated() {
            var record = Self.record(index, turn: 10 + index)
            record.time = at(seconds)
            records.append(record)
            batch.append(record)
        }
        #expect(batch.first == 10 && batch.last == 13 && batch.turns == 4)
        #expect(try Self.read(batch) == records)
    }

    @Test func `A batch is read however large it is`() throws {
        var batch = RecordBatch(after: 0)
        let message = [UInt8](repeating: 0, count: 33 << 20)
        for turn in 1...2 {
            batch.append(Record(turn: turn, time: at(1), event: .applied(message: message, hash: 0, closes: false)))
        }
        var sizes: [Int] = []
        try RecordBatch.read(first: 1, last: 2, bytes: batch.bytes) { record in
            if case .applied(let message, _, _) = record.event { sizes.append(message.count) }
        }
        #expect(sizes == [message.count, message.count])
    }

    @Test func `Times at the ends of the range are kept`() throws {
        var batch = RecordBatch(after: 0)
        for (index, time) in [Int64.min, .max, 0, .min].enumerated() {
            batch.append(Record(turn: index + 1, time: Timestamp(microseconds: time), event: .drained))
        }
        #expect(try Self.read(batch).map(\.time.microseconds) == [.min, .max, 0, .min])
    }

    @Test func `A record that carries nothing is not read with something in it`() {
        var batch = RecordBatch(after: 42)
        batch.append(Record(turn: 43, time: at(1), event: .drained))
        let error = #expect(throws: ReplayError.self) {
            try RecordBatch.read(first: 43, last: 43, bytes: batch.bytes.dropLast() + [7]) { _ in }
        }
        #expect(error?.text.contains("drained carries nothing") == true, "\(String(describing: error))")
    }

    @Test func `Bytes after the last record and missing records are found`() throws {
        var batch = RecordBatch(after: 9)
        batch.append(Self.record(0, turn: 10))
        batch.append(Self.record(1, turn: 11))
        let bytes = batch.bytes
        #expect(throws: ReplayError(turn: 10, "the batch has bytes after its last record")) {
            try RecordBatch.read(first: 10, last: 10, bytes: bytes) { _ in }
        }
        let error = #expect(throws: ReplayError.self) { try RecordBatch.read(first: 10, last: 12, bytes: bytes) { _ in } }
        #expect(error?.turn == 12)
        let cut = #expect(throws: ReplayError.self) {
            try RecordBatch.read(first: 10, last: 11, bytes: Array(bytes.dropLast())) { _ in }
        }
        #expect(cut?.turn == 11)
    }
}
