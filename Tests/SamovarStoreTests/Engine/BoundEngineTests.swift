import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// An engine that is made where its program is known does what one does that generic code has made.
@Suite struct BoundEngineTests {
    private static func bound(limits: GroupLimits = .default) -> any ProgramEngine {
        TypedEngine(Shop.self, secret: workshopSecret, limits: limits)
    }

    private static func limits() -> GroupLimits { GroupLimits(turns: 5) }

    /// Calls whatever an engine can do, and says what came of it.
    private static func live(_ engine: any ProgramEngine) throws -> (log: SharedLog, told: [String]) {
        let log = SharedLog(after: 0)
        var told: [String] = []
        let event = Record.Event.started(number: 1, build: "test", schema: engine.schema, seed: packed(NoSeed()))
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: event))
        try engine.start(seed: packed(NoSeed()), now: at(1), log: log)
        let watch = Shop.Watch(id: "tick", seconds: 1)
        for input: Shop.Input in [.watch([watch]), .order([Shop.Job(name: "a"), Shop.Job(name: "b")]), .chain(3), .forbidden] {
            told.append("\(try engine.take(packed(input), now: at(2), origin: TypedEngineTests.origin, log: log))")
        }
        let (lease, first, second) = (TypedEngineTests.lease, EffectID(turn: 3, ordinal: 0), EffectID(turn: 3, ordinal: 1))
        try engine.take(
            streamed: packed(Shop.Message.add(5)), checkpoint: [7], origin: .effect(first, lease: lease, index: 1), root: 3,
            now: at(3), log: log)
        try engine.take(
            answer: MessageList(finished("a", "A")), effect: first, lease: lease, root: 3, now: at(3), log: log)
        try engine.take(only: packed(Shop.Message.finished("b"))[...], effect: second, lease: lease, root: 3, now: at(3), log: log)
        let activation = EffectID(turn: 2, ordinal: 0)
        try engine.take(
            firing: packed(Shop.Message.ticked("tick")), origin: .subscription(activation, nominal: at(4)), now: at(4), log: log)
        let failure = Failure(reason: .threw, text: "no luck", attempts: 1)
        for job in [Shop.Job(name: "c"), Shop.Job(name: "d", diesSilently: true)] {
            told.append(
                "\(try engine.take(failure: failure, of: second, payload: packed(job), root: 3, now: at(5), log: log))")
        }
        engine.resubscribe(now: at(6), log: log)
        log.committed(through: engine.head)
        told.append("head \(engine.head), view \(try engine.view()), state \(try engine.state())")
        #expect(throws: GroupLimit.turns(5, root: engine.head + 1)) {
            try engine.take(
                packed(Shop.Input.chain(9)), now: at(7), origin: TypedEngineTests.origin, log: SharedLog(after: engine.head))
        }
        return (log, told)
    }

    private static func orders(_ log: SharedLog) -> [LoggedOrder] {
        var orders: [LoggedOrder] = []
        log.takeOrders { orders.append($0) }
        return orders
    }

    @Test func `Each call gives the same, live and in a replay`() throws {
        let plain = TypedEngineTests.engine(limits: Self.limits())
        let bound = Self.bound(limits: Self.limits())
        let (expected, told) = try Self.live(plain)
        let (seen, toldBound) = try Self.live(bound)
        #expect(seen.batch.bytes == expected.batch.bytes && toldBound == told)
        let orders = Self.orders(expected)
        #expect(Self.orders(seen) == orders && orders.count > 8)

        let records = try TypedEngineTests.records(expected)
        let replayed = Self.bound()
        let log = SharedLog(after: 0)
        for record in records { try replayed.replay(record, log: log) }
        try replayed.requireEndOfGroup()
        #expect(told.last == "head \(replayed.head), view \(try replayed.view()), state \(try replayed.state())")
        let restored = Self.bound()
        try restored.restore(state: replayed.state(), head: replayed.head, writtenBy: 1)
        #expect(told.last == "head \(restored.head), view \(try restored.view()), state \(try restored.state())")
        #expect(restored.oldestReadableVersion == 1)
        #expect(try restored.migrated(effect: [1], from: 1) == [1])
    }

    @Test func `The terms of a replay hold for it, and so do its errors`() throws {
        let records = try TypedEngineTests.records(ReplayTests.history().log)
        let engine = Self.bound()
        engine.terms.shown = 2
        #expect(engine.terms.shown == 2)
        let error = #expect(throws: ReplayError.self) {
            for record in records { try engine.replay(record, log: SharedLog(after: record.turn - 1)) }
        }
        #expect(error?.turn == 2 && error?.divergence != nil)
        let cut = Self.bound()
        let log = SharedLog(after: 0)
        for record in records.prefix(3) { try cut.replay(record, log: log) }
        #expect(throws: ReplayError.self) { try cut.requireEndOfGroup() }
        #expect(throws: SeedError.self) {
            try Self.bound().start(seed: [0xc1], now: at(1), log: SharedLog(after: 0))
        }
    }
}
