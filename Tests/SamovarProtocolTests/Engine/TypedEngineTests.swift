import SamovarCore
import Testing

@testable import SamovarProtocol

@Suite struct TypedEngineTests {
    static let origin = Origin.client(session: SessionID(high: 1, low: 1), sequence: 1)
    static let effect = EffectID(turn: 2, ordinal: 0)
    static let lease = Lease(start: 1, counter: 1)

    static func engine<E: Edition>(_ edition: E.Type = FirstEdition.self, limits: GroupLimits = .default) -> TypedEngine<
        Workshop<E>
    > {
        TypedEngine(secret: workshopSecret, limits: limits)
    }

    /// An engine at turn 1, with the log of it.
    static func started(limits: GroupLimits = .default) throws -> (engine: TypedEngine<Shop>, log: TurnLog) {
        let engine = engine(limits: limits)
        let log = TurnLog(after: 0)
        let seed = packed(NoSeed())
        let event = Record.Event.started(number: 1, build: "test", schema: engine.schema, seed: seed)
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: event))
        try engine.start(seed: seed, now: at(1), log: log)
        return (engine, log)
    }

    static func state(_ engine: any ProgramEngine) throws -> Shop.State { try unpacked(Shop.State.self, engine.state()) }

    static func records(_ log: TurnLog) throws -> [Record] {
        var records: [Record] = []
        try RecordBatch.read(first: log.batch.first, last: log.batch.last, bytes: log.batch.bytes) { records.append($0) }
        return records
    }

    @Test func acceptedRefusedAndRejectedInputsTakeATurnEach() throws {
        let (engine, log) = try Self.started()
        #expect(try engine.take(packed(Shop.Input.add(3)), now: at(2), origin: Self.origin, log: log) == .applied)
        let refused = try engine.take(packed(Shop.Input.forbidden), now: at(2), origin: Self.origin, log: log)
        #expect(refused == .refused(packed(Shop.Refusal.notHere(total: 3))))
        let rejected = try engine.take([0xc1], now: at(2), origin: Self.origin, log: log)
        guard case .rejected(let text) = rejected else {
            Issue.record("\(rejected)")
            return
        }
        #expect(!text.isEmpty)
        #expect(engine.head == 4)
        #expect(try Self.records(log).map(\.turn) == [1, 2, 3, 4])
        #expect(try Self.records(log).suffix(2).map(\.event) == [.refused(refused), .refused(rejected)])
    }

    @Test func anAnswerIsOneGroupAndItsLastMessageClosesTheEffect() throws {
        let (engine, log) = try Self.started()
        let messages: MessageList = [packed(Shop.Message.chain(2)), packed(Shop.Message.finished("a"))]
        try engine.take(answer: messages, effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: log)
        let records = try Self.records(log).dropFirst()
        #expect(
            records.map(\.origin) == [
                .effect(Self.effect, lease: Self.lease, index: 0), .followUp(of: 2),
                .effect(Self.effect, lease: Self.lease, index: 1),
            ])
        #expect(records.map { if case .applied(_, _, let closes) = $0.event { closes } else { false } } == [false, false, true])
        #expect(records.allSatisfy { $0.root == 1 && $0.time == at(2) })
    }

    @Test func anUnreadableAnswerChangesNothing() throws {
        let (engine, log) = try Self.started()
        let before = try engine.state()
        #expect(throws: UnreadableAnswer.self) {
            try engine.take(
                answer: [packed(Shop.Message.add(1)), [0xc1]], effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: log
            )
        }
        #expect(try engine.state() == before)
        #expect(engine.head == 1 && log.batch.last == 1)
    }

    @Test func effectsAreOpenedWithTheirRootAndOptions() throws {
        let (engine, log) = try Self.started()
        let ordered = Shop.Job(name: "a", queue: "http", attempts: 3, timeout: 4, delay: 5)
        _ = try engine.take(packed(Shop.Input.order([ordered])), now: at(2), origin: Self.origin, log: log)
        let opened = try #require(log.opened.first)
        #expect(opened.id == Self.effect && opened.root == 2 && opened.queue == "http")
        #expect(opened.retry == .backoff(first: .seconds(1), attempts: 3) && opened.timeout == .seconds(4))
        #expect(opened.notBefore == at(7) && opened.payload == packed(ordered))
    }

    @Test func aFailureBecomesAMessageThatClosesOrNothing() throws {
        let (engine, log) = try Self.started()
        let failure = Failure(reason: .threw, text: "no luck", attempts: 1)
        func take(_ payload: [UInt8]) throws -> Bool {
            try engine.take(failure: failure, of: Self.effect, payload: payload, root: 1, now: at(2), log: log)
        }
        #expect(try take(packed(Shop.Job(name: "a"))))
        #expect(try Self.state(engine).done == ["a failed after 1 attempt: no luck"])
        #expect(try Self.records(log).last?.origin == .failure(Self.effect))
        #expect(try !take(packed(Shop.Job(name: "a", diesSilently: true))))
        #expect(try !take([0xc1]), "an effect that this build cannot read stays with the operator")
        #expect(engine.head == 2)
    }

    // MARK: Limits

    @Test func aGroupBeyondItsTurnsIsStopped() throws {
        let (engine, log) = try Self.started(limits: GroupLimits(turns: 5))
        _ = try engine.take(packed(Shop.Input.chain(5)), now: at(2), origin: Self.origin, log: log)
        #expect(throws: GroupLimit.turns(5, root: 7)) {
            try engine.take(packed(Shop.Input.chain(6)), now: at(2), origin: Self.origin, log: log)
        }
    }

    @Test func aGroupBeyondItsBytesOrEffectsIsStopped() throws {
        let jobs = Array(repeating: Shop.Job(name: String(repeating: "n", count: 100)), count: 3)
        let input = packed(Shop.Input.order(jobs))
        let bytes = try Self.started(limits: GroupLimits(bytes: 100))
        #expect(throws: GroupLimit.bytes(100, root: 2)) {
            try bytes.engine.take(input, now: at(2), origin: Self.origin, log: bytes.log)
        }
        let effects = try Self.started(limits: GroupLimits(effects: 2))
        #expect(throws: GroupLimit.effects(2, root: 2)) {
            try effects.engine.take(input, now: at(2), origin: Self.origin, log: effects.log)
        }
    }

    /// How long an answer may be is agreed with workers; a worker at that length must not stop the store.
    @Test func theBytesOfAnAnswerAreNotThoseOfItsGroup() throws {
        let (engine, log) = try Self.started(limits: GroupLimits(bytes: 100))
        let answer: MessageList = [
            packed(Shop.Message.finished(String(repeating: "n", count: 90))), packed(Shop.Message.finished("n")),
        ]
        try engine.take(answer: answer, effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: log)
        #expect(engine.head == 3)
    }

    @Test func anUnreadableSeedCreatesNothing() {
        let engine = Self.engine()
        _ = engine.skip()
        #expect(throws: SeedError.self) { try engine.start(seed: [0xc1], now: at(1), log: TurnLog(after: 1)) }
        #expect(throws: SeedError.self) { try engine.view() }
    }
}
