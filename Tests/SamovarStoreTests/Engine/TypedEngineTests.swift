import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire
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
    static func started(limits: GroupLimits = .default) throws -> (engine: TypedEngine<Shop>, log: SharedLog) {
        let engine = engine(limits: limits)
        let log = SharedLog(after: 0)
        let seed = packed(NoSeed())
        let event = Record.Event.started(number: 1, build: "test", schema: engine.schema, seed: seed)
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: event))
        try engine.start(seed: seed, now: at(1), log: log)
        return (engine, log)
    }

    static func state(_ engine: any ProgramEngine) throws -> Shop.State { try unpacked(Shop.State.self, engine.state()) }

    static func records(_ log: SharedLog) throws -> [Record] {
        var records: [Record] = []
        try RecordBatch.read(first: log.batch.first, last: log.batch.last, bytes: log.batch.bytes) { records.append($0) }
        return records
    }

    @Test func `Accepted refused and rejected inputs take a turn each`() throws {
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

    @Test func `After a supposed turn the head is its number, or that of its last follow-up`() throws {
        let (engine, _) = try Self.started()
        var log = TurnLog(ofReplayAfter: engine.head)
        var heads: [Int] = []
        for (number, input) in [(5, .chain(3)), (7, .forbidden)] as [(Int, Shop.Input)] {
            let turn = SupposedTurn(
                number: number, time: at(2), origin: Self.origin, sender: nil, root: number, content: .input(packed(input)))
            _ = try engine.suppose(turn, log: &log) { message, cause in (cause + 10, message) }
            heads.append(engine.head)
        }
        #expect(heads == [25, 7])
    }

    @Test func `After a skip the head is the turn to which that goes`() throws {
        let (engine, _) = try Self.started()
        engine.skip(to: 30)
        #expect(engine.head == 30)
    }

    @Test func `An answer is one group and its last message closes the effect`() throws {
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

    @Test func `An unreadable answer changes nothing`() throws {
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

    @Test func `Effects are opened with their root and options`() throws {
        let (engine, log) = try Self.started()
        let ordered = Shop.Job(name: "a", queue: "http", attempts: 3, timeout: 4, delay: 5)
        _ = try engine.take(packed(Shop.Input.order([ordered])), now: at(2), origin: Self.origin, log: log)
        let opened = try #require(log.opened.first)
        #expect(opened.id == Self.effect && opened.root == 2 && opened.queue == "http")
        #expect(opened.retry == .backoff(first: .seconds(1), attempts: 3) && opened.timeout == .seconds(4))
        #expect(opened.notBefore == at(7) && opened.payload == packed(ordered))
    }

    @Test func `A failure becomes a message that closes or nothing`() throws {
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

    @Test func `A group beyond its turns is stopped`() throws {
        let (engine, log) = try Self.started(limits: GroupLimits(turns: 5))
        _ = try engine.take(packed(Shop.Input.chain(5)), now: at(2), origin: Self.origin, log: log)
        #expect(throws: GroupLimit.turns(5, root: 7)) {
            try engine.take(packed(Shop.Input.chain(6)), now: at(2), origin: Self.origin, log: log)
        }
    }

    @Test func `A group beyond its bytes or effects is stopped`() throws {
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
    @Test func `The bytes of an answer are not those of its group`() throws {
        let (engine, log) = try Self.started(limits: GroupLimits(bytes: 100))
        let answer: MessageList = [
            packed(Shop.Message.finished(String(repeating: "n", count: 90))), packed(Shop.Message.finished("n")),
        ]
        try engine.take(answer: answer, effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: log)
        #expect(engine.head == 3)
    }

    @Test func `An unreadable seed creates nothing`() {
        let engine = Self.engine()
        _ = engine.skip()
        #expect(throws: SeedError.self) { try engine.start(seed: [0xc1], now: at(1), log: SharedLog(after: 1)) }
        #expect(throws: SeedError.self) { try engine.view() }
    }

    // MARK: At the limits

    @Test func `A group is as large as its limits, and not larger`() throws {
        let jobs = Array(repeating: Shop.Job(name: String(repeating: "n", count: 100)), count: 2)
        let input = packed(Shop.Input.order(jobs))
        let (free, log) = try Self.started()
        let before = log.batch.byteCount
        _ = try free.take(input, now: at(2), origin: Self.origin, log: log)
        let bytes = log.batch.byteCount - before
        let largest = packed(jobs[0]).count
        let outputs = packed(Shop.Input.emit(["ab", String(repeating: "x", count: 20)]))
        for limits in [GroupLimits(bytes: bytes), GroupLimits(effectBytes: largest), GroupLimits(effects: 2)] {
            let (engine, log) = try Self.started(limits: limits)
            // The group before counts for nothing.
            for _ in 1...3 { _ = try engine.take(input, now: at(2), origin: Self.origin, log: log) }
            #expect(engine.head == 4)
        }
        func limit(_ limits: GroupLimits, _ input: [UInt8]) throws -> GroupLimit? {
            let (engine, log) = try Self.started(limits: limits)
            do throws(GroupLimit) {
                _ = try engine.take(input, now: at(2), origin: Self.origin, log: log)
                return nil
            } catch {
                return error
            }
        }
        #expect(try limit(GroupLimits(bytes: bytes - 1), input) == .bytes(bytes - 1, root: 2))
        #expect(try limit(GroupLimits(effectBytes: largest - 1), input) == .effectBytes(largest - 1, root: 2))
        #expect(try limit(GroupLimits(effectBytes: 21), outputs) == nil)
        #expect(try limit(GroupLimits(effectBytes: 20), outputs) == .effectBytes(20, root: 2))
        // What comes from outside is limited there, in the group after it as well.
        let (engine, small) = try Self.started(limits: GroupLimits(bytes: bytes))
        let answer: MessageList = [packed(Shop.Message.finished(String(repeating: "n", count: 1_000)))]
        try engine.take(answer: answer, effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: small)
        _ = try engine.take(input, now: at(2), origin: Self.origin, log: small)
        let two = packed(Shop.Input.order(jobs + jobs))
        #expect(throws: GroupLimit.bytes(bytes, root: 4)) { try engine.take(two, now: at(2), origin: Self.origin, log: small) }
    }

    @Test func `What comes from outside is recorded as it came, and limited there`() throws {
        let (engine, log) = try Self.started(limits: GroupLimits(bytes: 100))
        // The number as another encoder may write it, which ours would write in one byte.
        let foreign = Array(packed(Shop.Message.add(1)).dropLast()) + [0xcd, 0, 1]
        let large = packed(Shop.Message.finished(String(repeating: "n", count: 1_000)))
        for message in [foreign, large] {
            try engine.take(only: message[...], effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: log)
            try engine.take(
                streamed: message, checkpoint: nil, origin: .effect(Self.effect, lease: Self.lease, index: 1), root: 1, now: at(2),
                log: log)
            let firing = Origin.subscription(EffectID(turn: 1, ordinal: 0), nominal: at(2))
            try engine.take(firing: message, origin: firing, now: at(2), log: log)
        }
        let messages = try Self.records(log).dropFirst().map { record -> [UInt8] in
            switch record.event {
            case .applied(let message, _, _), .streamed(let message, _, _): message
            default: []
            }
        }
        #expect(messages == [foreign, foreign, foreign, large, large, large])
    }

    // MARK: Chains

    @Test func `Each message of a source begins a chain, and those of an effect belong to its own`() throws {
        let (engine, log) = try Self.started()
        for (root, index) in [(0, 1), (1, 2), (0, 3)] {
            try engine.take(
                streamed: packed(Shop.Message.chain(2)), checkpoint: [UInt8(index)],
                origin: .effect(Self.effect, lease: Self.lease, index: index), root: root, now: at(2), log: log)
        }
        let firing = Origin.subscription(EffectID(turn: 1, ordinal: 0), nominal: at(2))
        try engine.take(firing: packed(Shop.Message.ticked("a")), origin: firing, now: at(2), log: log)
        let records = try Self.records(log).dropFirst()
        #expect(records.map(\.root) == [2, 2, 1, 1, 6, 6, 8])
        let checkpoints = records.map { record -> [UInt8]? in
            if case .streamed(_, _, let checkpoint) = record.event { checkpoint } else { nil }
        }
        #expect(checkpoints == [[1], nil, [2], nil, [3], nil, nil])
    }

    @Test func `An answer of one message is recorded like a list of one`() throws {
        let (one, first) = try Self.started()
        let (list, second) = try Self.started()
        let message = packed(Shop.Message.chain(2))
        try one.take(only: message[...], effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: first)
        try list.take(answer: MessageList([message]), effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: second)
        #expect(first.batch.bytes == second.batch.bytes && one.head == 3)
        #expect(throws: UnreadableAnswer.self) {
            try one.take(only: [0xc1], effect: Self.effect, lease: Self.lease, root: 1, now: at(2), log: first)
        }
        #expect(throws: UnreadableAnswer.self) { try one.take(firing: [0xc1], origin: .store, now: at(2), log: first) }
        #expect(throws: UnreadableAnswer.self) {
            try one.take(streamed: [0xc1], checkpoint: nil, origin: .store, root: 1, now: at(2), log: first)
        }
        #expect(one.head == 3)
    }

    // MARK: Subscriptions

    /// What the state wanted to hear of, each time that it was logged.
    private static func wants(_ log: SharedLog) -> [[Label]] {
        var wants: [[Label]] = []
        log.takeOrders { if case .want(let events, _, _) = $0 { wants.append(events.map(\.id)) } }
        return wants
    }

    @Test func `What the state wants to hear of is logged when it is another than before, and at a restart`() throws {
        let (engine, log) = try Self.started()
        func take(_ input: Shop.Input) throws -> [[Label]] {
            _ = try engine.take(packed(input), now: at(2), origin: Self.origin, log: log)
            return Self.wants(log)
        }
        #expect(Self.wants(log) == [])
        #expect(try take(.add(1)) == [])
        #expect(try take(.watch([Shop.Watch(id: "a", seconds: 1)])) == [["a"]])
        #expect(try take(.add(1)) == [])
        #expect(try take(.watch([Shop.Watch(id: "a", seconds: 2)])) == [["a"]])
        let state = try engine.state()
        #expect(try take(.watch([])) == [[]])
        #expect(try take(.add(1)) == [])
        engine.resubscribe(now: at(3), log: log)
        #expect(Self.wants(log) == [[]])
        let restored = Self.engine()
        try restored.restore(state: state, head: 5, writtenBy: 1)
        let more = SharedLog(after: 5)
        _ = try restored.take(packed(Shop.Input.add(1)), now: at(2), origin: Self.origin, log: more)
        #expect(Self.wants(more) == [], "it is wanted since before")
        restored.resubscribe(now: at(3), log: more)
        #expect(Self.wants(more) == [["a"]])
    }

    // MARK: Before the start, and after another build

    @Test func `Without a start there is no state, no view and no turn`() throws {
        let engine = Self.engine()
        let log = SharedLog(after: 0)
        #expect(engine.head == 0)
        let verdict = try engine.take(packed(Shop.Input.add(1)), now: at(2), origin: Self.origin, log: log)
        #expect(verdict == .rejected("the program has not started") && log.batch.last == 0)
        #expect(throws: SeedError.self) { try engine.state() }
        #expect(engine.skip() == 1 && engine.head == 1)
        engine.resubscribe(now: at(2), log: log)
        #expect(Self.wants(log) == [])
    }

    @Test func `What this version wrote and cannot read is no matter of migration`() throws {
        let engine = Self.engine()
        #expect(try engine.migrated(effect: [0xc1], from: 1) == [0xc1], "it stays with the operator")
        let error = #expect(throws: (any Error).self) { try engine.restore(state: [0xc1], head: 3, writtenBy: 1) }
        #expect(error != nil && !(error is MigrationError))
    }
}
