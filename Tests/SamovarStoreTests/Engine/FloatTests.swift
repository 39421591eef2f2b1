import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Tells floats apart that are equal, and computes −0.0.
private enum Gauge: Program {
    struct State: Portable {
        var value = -0.0
    }

    enum Message: Portable {
        case set(Double)
        /// An effect with the bits of the float.
        case read(Double)
        /// `read` follows.
        case forward(Double)
        /// An effect with the bits of the state.
        case show
        /// The float with the other sign as the state, an effect, an output and a follow-up.
        case negate(Double)
        case noted(Double)
    }

    enum Effect: Portable {
        case log(String)
        case send(Double)
    }

    typealias Input = Message
    typealias Output = Double
    typealias ViewState = Double

    static var schema: Schema { Schema(name: "Gauge", version: 1) }
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }
    static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .set(let value):
            state.value = value
            return .none
        case .read(let value): return .run(.log(bits(value)))
        case .forward(let value): return .then(.read(value))
        case .show: return .run(.log(bits(state.value)))
        case .negate(let value):
            state.value = -value
            return .batch([.run(.send(-value)), .emit(-value), .then(.noted(-value))])
        case .noted: return .none
        }
    }

    /// A timer, as long as the state is 7.
    static func subscriptions(_ state: State) -> [Subscription<Self>] {
        state.value == 7 ? [.every(.seconds(1), id: "read", send: .read(-0.0))] : []
    }

    static func bits(_ value: Double) -> String { String(value.bitPattern, radix: 16) }

    static func view(_ state: State) -> Double { state.value }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// An engine of the program, and its log.
private struct Run {
    let engine = TypedEngine(Gauge.self, secret: workshopSecret)
    let log: SharedLog

    /// A live one, of a new timeline.
    init(_ messages: Gauge.Message...) throws {
        log = SharedLog(after: 0)
        let build = "test" + Record.Event.mark
        let event = Record.Event.started(number: 1, build: build, schema: engine.schema, seed: packed(NoSeed()))
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: event))
        try engine.start(seed: packed(NoSeed()), now: at(1), log: log)
        for message in messages { try send(message) }
    }

    init(replaying records: [Record], _ terms: ReplayTerms = ReplayTerms()) throws(ReplayError) {
        log = SharedLog(after: 0)
        engine.terms = terms
        for record in records { try engine.replay(record, log: log) }
    }

    /// One that begins with the state of another.
    init(restoring other: Run) throws {
        log = SharedLog(after: other.engine.head)
        try engine.restore(state: other.engine.state(), head: other.engine.head, writtenBy: 1)
    }

    /// As a client sends it, whose encoder keeps floats as they are.
    func send(_ message: Gauge.Message) throws {
        let input = try MessagePackEncoder().encode(message)
        _ = try engine.take(input, now: at(2), origin: TypedEngineTests.origin, log: log)
    }

    func records() throws -> [Record] { try TypedEngineTests.records(log) }

    /// The effects that were ordered.
    func effects() throws -> [Gauge.Effect] { try log.opened.map { try unpacked(Gauge.Effect.self, $0.payload) } }
}

/// The sign of zeros.
extension ReplayTests {
    private static let floats = [-0.0, 0]

    @Test func `A message with a zero of either sign orders in a replay what it did, and so does a follow-up`() throws {
        for float in Self.floats {
            let live = try Run(.read(float), .forward(float))
            #expect(try live.effects() == [.log(Gauge.bits(float)), .log(Gauge.bits(float))])
            let again = try Run(replaying: live.records())
            #expect(try again.effects() == live.effects())
            #expect(again.log.batch.bytes == live.log.batch.bytes)
        }
    }

    @Test func `A state with a zero of either sign is what it was behind a snapshot`() throws {
        for float in Self.floats {
            let live = try Run(.set(float))
            let restored = try Run(restoring: live)
            for run in [live, restored] {
                try run.send(.show)
                #expect(try run.effects() == [.log(Gauge.bits(float))])
            }
            #expect(try Run(replaying: live.records()).effects() == live.effects())
        }
    }

    /// What `negate(0)` orders in turn 2, as a build encoded it that wrote minus zero as zero.
    private static var formerOrders: [Divergence.Order] {
        let id = EffectID(turn: 2, ordinal: 0)
        return [
            .run(OpenEffect(id: id, root: 2, options: .default, payload: packed(Gauge.Effect.send(0)), now: at(2))),
            .emit(packed(0.0)),
            .then(packed(Gauge.Message.noted(0))),
        ]
    }

    /// The journal of such a build: turn 3 is the follow-up of turn 2, and turn 4 tells of the state.
    private static func formerRecords(hash: UInt64, followUp: Double = 0, state: Double = 0) throws -> [Record] {
        var records = try Run(.negate(0)).records()
        records[1].event = .applied(message: packed(Gauge.Message.negate(0)), hash: hash, closes: false)
        records[2].event = .applied(message: packed(Gauge.Message.noted(followUp)), hash: 0, closes: false)
        let digest = KeyedHash.of(packed(Gauge.State(value: state)))
        return records + [Record(turn: 4, time: at(3), event: .stateDigest(digest))]
    }

    private static func error(_ records: [Record]) -> ReplayError? {
        do throws(ReplayError) {
            _ = try Run(replaying: records)
            return nil
        } catch {
            return error
        }
    }

    @Test func `A journal of a build that wrote minus zero as zero is replayed, and a change is found in it`() throws {
        let hash = CommandHash.of(Self.formerOrders)
        for recorded in [hash, Divergence.formerHash(of: Self.formerOrders)] {
            let again = try Run(replaying: Self.formerRecords(hash: recorded))
            #expect(again.engine.replayed.states == 1)
            #expect(again.engine.current?.value.sign == .minus, "so that the state was compared with another one")
        }
        #expect(Self.error(try Self.formerRecords(hash: 7))?.turn == 2)
        #expect(Self.error(try Self.formerRecords(hash: hash, followUp: 1))?.turn == 3)
        #expect(Self.error(try Self.formerRecords(hash: hash, state: 1))?.turn == 4)
    }

    @Test func `What was accepted by the hash of a build that wrote minus zero as zero is accepted`() throws {
        let records = try Self.formerRecords(hash: 7)
        let divergence = try #require(Self.error(records)?.divergence)
        var terms = ReplayTerms()
        terms.accepted[2] = [CommandHash.of(Self.formerOrders)]
        #expect(terms.accepts(divergence))
        #expect(try Run(replaying: records, terms).engine.head == 4)
    }
}

extension StoreDigestTests {
    @Test func `Digests of states with equal floats are equal, whatever bits those have`() throws {
        func engine() -> any ProgramEngine { TypedEngine(Gauge.self, secret: workshopSecret) }
        let rig = try Rig(engine: engine(), replica: engine(), isFenced: true)
        rig.round()
        var digests: [UInt64] = []
        for batch in rig.journal {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .stateDigest(let digest) = record.event { digests.append(digest) }
            }
        }
        let (state, minusZero) = (try rig.machine.stateBytes(), try MessagePackEncoder().encode(Gauge.State(value: -0.0)))
        #expect(state == minusZero)
        #expect(digests == [KeyedHash.of(packed(Gauge.State(value: 0)))])
    }
}

extension StoreComparisonTests {
    private static func replacing(minusZeroBy float: Double, in bytes: [UInt8]) throws -> [UInt8] {
        let (old, new) = (try MessagePackEncoder().encode(-0.0), try MessagePackEncoder().encode(float))
        var bytes = bytes
        for place in bytes.indices.dropLast(old.count - 1) {
            let range = place..<place + old.count
            if bytes[range].elementsEqual(old) { bytes.replaceSubrange(range, with: new) }
        }
        return bytes
    }

    @Test func `A snapshot of a build that wrote minus zero as zero has what a replay gives, and no other float is that`() throws {
        func begun(with snapshot: [UInt8]? = nil) throws -> StoreState {
            var state = StoreState(engine: TypedEngine(Gauge.self, secret: workshopSecret), window: 9)
            if let snapshot { try state.restore(snapshot) }
            return state
        }
        var replayed = try begun()
        let log = SharedLog(ofReplayAfter: 0)
        for record in try Run(.negate(0)).records() { try replayed.replay(record, log: log) }
        let snapshot = try replayed.snapshot()
        #expect(try replayed.differences(from: begun(with: snapshot)) == [])
        let former = try begun(with: Self.replacing(minusZeroBy: 0, in: snapshot))
        #expect(try former.engine.state() != replayed.engine.state())
        #expect(former.ledger != replayed.ledger && former.outputs != replayed.outputs)
        #expect(try replayed.differences(from: former) == [])
        let other = try begun(with: Self.replacing(minusZeroBy: 1, in: snapshot))
        #expect(try replayed.differences(from: other) == ["state", "effects", "outputs"])
    }
}

extension WhatIfMachineTests {
    @Test func `A follow-up of a build that wrote minus zero as zero is the one that is ordered`() throws {
        var records = try Run(.set(1), .negate(0)).records()
        records[3].event = .applied(message: packed(Gauge.Message.noted(0)), hash: 0, closes: false)
        let machine = WhatIfMachine(Supposition(removed: [2]), through: 4) { TypedEngine(Gauge.self, secret: workshopSecret) }
        for record in records { try machine.take(record) }
        let result = try machine.finish()
        #expect(result.lost.elements.map(\.record.turn) == [2] && result.gained.count == 0)
    }

    @Test func `Such a follow-up is as it is recorded in the other history, too`() throws {
        var records = try Run(.set(1), .forward(-0.0)).records()
        guard case .applied(_, let hash, _) = try Run(.set(1), .forward(0)).records()[3].event else {
            return #expect(Bool(false), "turn 4 applies a message")
        }
        records[3].event = .applied(message: packed(Gauge.Message.read(0)), hash: hash, closes: false)
        let machine = WhatIfMachine(Supposition(removed: [2]), through: 4) { TypedEngine(Gauge.self, secret: workshopSecret) }
        for record in records { try machine.take(record) }
        let result = try machine.finish()
        #expect(result.lost.elements.map(\.record.turn) == [2] && result.gained.count == 0)
        #expect(result.ordered.count == 0 && result.missing.count == 0, "both have read 0.0")
    }

    @Test func `So is what a timer of such a build has sent`() throws {
        let run = try Run(.set(7), .show)
        let timer = Origin.subscription(EffectID(turn: 2, ordinal: SubscriptionTable.firstSource), nominal: at(3))
        try run.engine.take(firing: packed(Gauge.Message.read(0)), origin: timer, now: at(3), log: run.log)
        let machine = WhatIfMachine(Supposition(removed: [3]), through: 4) { TypedEngine(Gauge.self, secret: workshopSecret) }
        for record in try run.records() { try machine.take(record) }
        let result = try machine.finish()
        #expect(result.lost.elements.map(\.record.turn) == [3])
        #expect(result.ordered.count == 0 && result.missing.elements.map(\.id) == [EffectID(turn: 3, ordinal: 0)])
    }
}
