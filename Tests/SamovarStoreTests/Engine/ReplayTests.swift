import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire
@Suite struct ReplayTests {
    /// Turns of every kind: 1 started, 2 an order, 3 to 5 a chain, 6 a refusal, 7 an answer.
    static func history() throws -> (engine: TypedEngine<Shop>, log: SharedLog) {
        let (engine, log) = try TypedEngineTests.started()
        for input: Shop.Input in [.order([Shop.Job(name: "a")]), .chain(3), .forbidden] {
            _ = try engine.take(packed(input), now: at(2), origin: TypedEngineTests.origin, log: log)
        }
        try engine.take(
            answer: MessageList(finished("a")), effect: TypedEngineTests.effect, lease: TypedEngineTests.lease, root: 2, now: at(3),
            log: log)
        return (engine, log)
    }

    static func replay<E: Edition>(_ records: [Record], as edition: E.Type = FirstEdition.self) throws(ReplayError) -> (
        any ProgramEngine, SharedLog
    ) {
        let engine = TypedEngineTests.engine(edition)
        let log = SharedLog(after: 0)
        for record in records { try engine.replay(record, log: log) }
        return (engine, log)
    }

    static func failure<E: Edition>(_ records: [Record], as edition: E.Type = FirstEdition.self) -> ReplayError? {
        do throws(ReplayError) {
            _ = try replay(records, as: edition)
            return nil
        } catch {
            return error
        }
    }

    @Test func `A replay gives the same state records and effects`() throws {
        let (live, log) = try Self.history()
        let (replayed, again) = try Self.replay(TypedEngineTests.records(log))
        #expect(try replayed.state() == live.state())
        #expect(replayed.head == live.head)
        #expect(again.batch.bytes == log.batch.bytes)
        #expect(again.opened == log.opened)
    }

    @Test func `A changed update is found at its turn`() throws {
        let records = try TypedEngineTests.records(Self.history().log)
        let error = try #require(Self.failure(records, as: ChangedEdition.self))
        #expect(error.turn == 3)
        #expect(error.text == "`update` returns another command than it did: it has changed or is not deterministic")
    }

    @Test func `An order of any kind that is another one than it was is found at its turn`() throws {
        func pause(_ label: String) -> [Shop.Wish] { [Shop.Wish(verb: "pause", label: label)] }
        let changes: [(before: Shop.Input, after: Shop.Message)] = [
            (.order([Shop.Job(name: "a")]), .order([Shop.Job(name: "b")])), (.chain(3), .chain(4)), (.cancel("a"), .cancel("b")),
            (.emit(["a"]), .emit(["b"])), (.wish(pause("a")), .wish(pause("b"))),
        ]
        for (before, after) in changes {
            let (engine, log) = try TypedEngineTests.started()
            _ = try engine.take(packed(before), now: at(2), origin: TypedEngineTests.origin, log: log)
            var records = try TypedEngineTests.records(log)
            #expect(Self.failure(records) == nil)
            guard case .applied(_, let hash, let closes) = records[1].event else {
                return #expect(Bool(false), "turn 2 applies a message")
            }
            records[1].event = .applied(message: packed(after), hash: hash, closes: closes)
            let error = Self.failure(records)
            #expect(error?.turn == 2 && error?.divergence?.recorded == hash, "\(before)")
        }
    }

    // MARK: States

    /// The history, and then the digest of a state.
    private static func history(endingWith digest: UInt64?) throws -> (records: [Record], digest: UInt64) {
        let (engine, log) = try history()
        let digest = try digest ?? KeyedHash.of(engine.state())
        return (try TypedEngineTests.records(log) + [Record(turn: 8, time: at(4), event: .stateDigest(digest))], digest)
    }

    private static func replay(_ records: [Record], _ terms: ReplayTerms) throws(ReplayError) -> ReplayCounts {
        let engine = TypedEngineTests.engine()
        engine.terms = terms
        let log = SharedLog(after: 0)
        for record in records { try engine.replay(record, log: log) }
        return engine.replayed
    }

    @Test func `A state that is as the store had it passes, and is counted`() throws {
        #expect(try Self.replay(Self.history(endingWith: nil).records, ReplayTerms()).states == 1)
    }

    @Test func `Each message whose command is held against the recorded one is counted, follow-ups included`() throws {
        let counts = try Self.replay(Self.history(endingWith: nil).records, ReplayTerms())
        #expect(counts.compared == 5 && counts.uncompared == 0, "turns 2 to 5 and 7")
    }

    @Test func `Another state is found at the turn that tells of it, with both digests`() throws {
        let digest = try Self.history(endingWith: nil).digest
        let error = try #require(Self.failure(try Self.history(endingWith: 7).records))
        #expect(error.turn == 8)
        #expect(error.text.hasPrefix("the state before it is not the one that the store had"))
        #expect(error.divergence == Divergence(.state, turn: 8, origin: .store, message: [], recorded: 7, hash: digest, orders: []))
    }

    @Test func `An accepted state passes, and up to the record of that no other is compared`() throws {
        let (records, digest) = try Self.history(endingWith: nil)
        var terms = ReplayTerms()
        terms.accepted = [8: [digest]]
        var story = try Self.history(endingWith: 7).records
        story.append(Record(turn: 9, time: at(4), event: .stateDigest(7)))
        #expect(try Self.replay(story, terms).states == 1)
        story.append(Record(turn: 10, time: at(5), event: .divergenceAccepted(turn: 8, hash: digest, build: "b")))
        story.append(Record(turn: 11, time: at(5), event: .stateDigest(digest)))
        #expect(try Self.replay(story, terms).states == 2)
        story.append(Record(turn: 12, time: at(5), event: .stateDigest(7)))
        #expect(throws: ReplayError.self) { try Self.replay(story, terms) }
        // Another one than the accepted one is a new divergence.
        terms.accepted = [8: [digest &+ 1]]
        #expect(throws: ReplayError.self) { try Self.replay(records.dropLast() + [story[7]], terms) }
    }

    @Test func `An accepted state that is as the store had it excuses nothing: the next one is compared`() throws {
        let (history, digest) = try Self.history(endingWith: nil)
        let records = history + [Record(turn: 9, time: at(4), event: .stateDigest(digest &+ 1))]
        var terms = ReplayTerms()
        terms.accepted = [8: [digest]]
        let error = #expect(throws: ReplayError.self) { try Self.replay(records, terms) }
        #expect(error?.turn == 9)
    }

    @Test(arguments: [false, true])
    func `A command where there was none is found, whether the replay writes records or not`(_ writes: Bool) throws {
        var records = try TypedEngineTests.records(Self.history().log)
        guard case .applied(let message, _, let closes) = records[2].event else {
            return #expect(Bool(false), "turn 3 applies a message")
        }
        records[2].event = .applied(message: message, hash: 0, closes: closes)
        let engine = TypedEngineTests.engine()
        let log = writes ? SharedLog(after: 0) : SharedLog(ofReplayAfter: 0)
        let error = #expect(throws: ReplayError.self) { for record in records { try engine.replay(record, log: log) } }
        #expect(error?.turn == 3 && error?.divergence != nil)
    }

    @Test func `A control where nothing was ordered is found`() throws {
        let (engine, log) = try TypedEngineTests.started()
        _ = try engine.take(packed(Shop.Input.wish([])), now: at(2), origin: TypedEngineTests.origin, log: log)
        var records = try TypedEngineTests.records(log)
        guard case .applied(_, 0, let closes) = records[1].event else { return #expect(Bool(false), "turn 2 orders nothing") }
        let pause = packed(Shop.Message.wish([Shop.Wish(verb: "pause", label: "a")]))
        records[1].event = .applied(message: pause, hash: 0, closes: closes)
        let error = Self.failure(records)
        #expect(error?.turn == 2 && error?.divergence?.recorded == 0)
    }

    @Test(arguments: [false, true])
    func `No command where there was one is found, whether the replay writes records or not`(_ writes: Bool) throws {
        var records = try TypedEngineTests.records(Self.history().log)
        guard case .applied(let message, 0, let closes) = records[4].event else {
            return #expect(Bool(false), "turn 5, the end of a chain, orders nothing")
        }
        // The least hash that a command with an order can have.
        records[4].event = .applied(message: message, hash: 1, closes: closes)
        let engine = TypedEngineTests.engine()
        let log = writes ? SharedLog(after: 0) : SharedLog(ofReplayAfter: 0)
        let error = #expect(throws: ReplayError.self) { for record in records { try engine.replay(record, log: log) } }
        #expect(error?.turn == 5 && error?.divergence?.orders == [])
    }

    @Test func `A streamed message that orders something else than it did is found`() throws {
        let (engine, log) = try TypedEngineTests.started()
        try engine.take(
            streamed: packed(Shop.Message.chain(1)), checkpoint: nil,
            origin: .effect(TypedEngineTests.effect, lease: TypedEngineTests.lease, index: 1), root: 1, now: at(2), log: log)
        var records = try TypedEngineTests.records(log)
        guard case .streamed(let message, let hash, let checkpoint) = records[1].event else {
            return #expect(Bool(false), "turn 2 is the streamed message")
        }
        records[1].event = .streamed(message: message, hash: hash + 1, checkpoint: checkpoint)
        #expect(Self.failure(records)?.divergence?.turn == 2)
    }

    // MARK: Accepted divergences

    /// The terms under which the changed edition may replay the history of the first one.
    private static func accepting(_ turn: Int, in records: [Record]) throws -> ReplayTerms {
        let divergence = try #require(failure(records, as: ChangedEdition.self)?.divergence)
        #expect(divergence.turn == turn)
        var terms = ReplayTerms()
        terms.accepted[turn] = [divergence.hash]
        return terms
    }

    private static func replay(_ records: [Record], on engine: any ProgramEngine) throws(ReplayError) {
        let log = SharedLog(after: 0)
        for record in records { try engine.replay(record, log: log) }
    }

    @Test func `A divergence shows what is ordered now and the hash of what was`() throws {
        let records = try TypedEngineTests.records(Self.history().log)
        let divergence = try #require(Self.failure(records, as: ChangedEdition.self)?.divergence)
        #expect(divergence.turn == 3 && divergence.origin == TypedEngineTests.origin)
        #expect(divergence.message == packed(Shop.Message.chain(3)))
        #expect(divergence.orders == [.then(packed(Shop.Message.chain(1)))])
        guard case .applied(_, let hash, _) = records[2].event else { return #expect(Bool(false), "turn 3 applies a message") }
        #expect(divergence.recorded == hash && divergence.hash != hash)
    }

    /// The records as a build wrote them whose hash was SipHash-2-4.
    private static func asFormerly(_ records: [Record]) throws -> [Record] {
        try records.map { record in
            guard case .applied(let message, let hash, let closes) = record.event, hash != 0 else { return record }
            let engine = TypedEngineTests.engine()
            engine.terms.shown = record.turn
            let shown = try #require(#expect(throws: ReplayError.self) { try replay(records, on: engine) }?.divergence)
            let former = Divergence.formerHash(of: shown.orders)
            #expect(former != hash)
            var record = record
            record.event = .applied(message: message, hash: former, closes: closes)
            return record
        }
    }

    @Test func `A journal of a build with the former hash is replayed, and a change is found in it`() throws {
        let (live, log) = try Self.history()
        let records = try Self.asFormerly(TypedEngineTests.records(log))
        let (replayed, again) = try Self.replay(records)
        #expect(try replayed.state() == live.state())
        #expect(again.opened == log.opened)
        let divergence = try #require(Self.failure(records, as: ChangedEdition.self)?.divergence)
        #expect(divergence.turn == 3 && divergence.hash != divergence.recorded)
    }

    @Test func `What was accepted by its former hash is accepted`() throws {
        let (live, log) = try Self.history()
        let records = try Self.asFormerly(TypedEngineTests.records(log))
        var terms = ReplayTerms()
        for turn in [3, 4] {
            let engine = TypedEngineTests.engine(ChangedEdition.self)
            engine.terms = terms
            let divergence = try #require(#expect(throws: ReplayError.self) { try Self.replay(records, on: engine) }?.divergence)
            #expect(divergence.turn == turn)
            terms.accepted[turn] = [Divergence.formerHash(of: divergence.orders)]
        }
        let engine = TypedEngineTests.engine(ChangedEdition.self)
        engine.terms = terms
        try Self.replay(records, on: engine)
        #expect(engine.head == live.head)
    }

    @Test func `After an accepted divergence the follow-ups are those of the journal`() throws {
        let (live, log) = try Self.history()
        let records = try TypedEngineTests.records(log)
        let engine = TypedEngineTests.engine(ChangedEdition.self)
        engine.terms = try Self.accepting(3, in: records)
        // The chain of the first edition goes on at turn 4, where the changed one orders something else again.
        let error = #expect(throws: ReplayError.self) { try Self.replay(records, on: engine) }
        let next = try #require(error?.divergence)
        #expect(next.turn == 4)
        let again = TypedEngineTests.engine(ChangedEdition.self)
        again.terms = engine.terms
        again.terms.accepted[4] = [next.hash]
        try Self.replay(records, on: again)
        #expect(again.head == live.head)
        #expect(try TypedEngineTests.state(again).total == 3)
    }

    @Test func `Another command than the accepted one is refused`() throws {
        let records = try TypedEngineTests.records(Self.history().log)
        let engine = TypedEngineTests.engine(ChangedEdition.self)
        engine.terms = try Self.accepting(3, in: records)
        engine.terms.accepted[3] = [1]
        let error = #expect(throws: ReplayError.self) { try Self.replay(records, on: engine) }
        #expect(error?.turn == 3)
    }

    @Test func `A replay stops where it shall show a command`() throws {
        let records = try TypedEngineTests.records(Self.history().log)
        let engine = TypedEngineTests.engine()
        engine.terms.shown = 2
        let error = #expect(throws: ReplayError.self) { try Self.replay(records, on: engine) }
        let shown = try #require(error?.divergence)
        #expect(shown.turn == 2 && shown.recorded == shown.hash)
        guard case .run(let effect) = shown.orders.first else { return #expect(Bool(false), "\(shown.orders)") }
        #expect(effect.id == EffectID(turn: 2, ordinal: 0))
    }

    @Test(arguments: [false, true])
    func `It stops there also where nothing is ordered, whether the replay writes records or not`(_ writes: Bool) throws {
        let records = try TypedEngineTests.records(Self.history().log)
        var orders: [Int] = []
        for record in records {
            guard case .applied = record.event else { continue }
            let engine = TypedEngineTests.engine()
            engine.terms.shown = record.turn
            let log = writes ? SharedLog(after: 0) : SharedLog(ofReplayAfter: 0)
            let error = #expect(throws: ReplayError.self) { for record in records { try engine.replay(record, log: log) } }
            let shown = error?.divergence
            #expect(shown?.turn == record.turn)
            orders.append(shown?.orders.count ?? -1)
        }
        #expect(orders.contains(0) && orders.contains { $0 > 0 })
    }

    @Test func `A missing follow up is found`() throws {
        var records = try TypedEngineTests.records(Self.history().log)
        records.remove(at: 4)
        for index in 4..<records.count { records[index].turn -= 1 }
        #expect(Self.failure(records) == ReplayError(turn: 5, "a follow-up of turn 4 is missing before it"))
    }

    @Test func `A changed follow up is found`() throws {
        var records = try TypedEngineTests.records(Self.history().log)
        records[3].event = .applied(message: packed(Shop.Message.chain(9)), hash: 0, closes: false)
        #expect(Self.failure(records)?.turn == 4)
        #expect(Self.failure(records)?.text.hasPrefix("this follow-up is not what turn 3 orders now") == true)
    }

    @Test func `A follow up of another turn than the one that ordered it is found`() throws {
        var records = try TypedEngineTests.records(Self.history().log)
        records[3].origin = .followUp(of: 2)
        #expect(Self.failure(records)?.turn == 4)
        #expect(Self.failure(records)?.text.hasPrefix("this follow-up is not what turn 2 orders now") == true)
    }

    @Test func `A follow up that nobody ordered is found`() throws {
        var records = try TypedEngineTests.records(Self.history().log)
        records[6].origin = .followUp(of: 5)
        #expect(Self.failure(records)?.turn == 7)
    }

    @Test func `A hole in the numbers is found`() throws {
        var records = try TypedEngineTests.records(Self.history().log)
        records.remove(at: 1)
        #expect(Self.failure(records) == ReplayError(turn: 3, "turn 2 is missing before it"))
    }

    @Test func `An unreadable message is found`() throws {
        var records = try TypedEngineTests.records(Self.history().log)
        records[2].event = .applied(message: [0xc1], hash: 0, closes: false)
        #expect(Self.failure(records)?.turn == 3)
        #expect(Self.failure(records)?.text.hasPrefix("the message cannot be read") == true)
    }

    @Test func `A message before the start is found`() throws {
        let record = Record(turn: 1, time: at(1), event: .applied(message: packed(Shop.Message.add(1)), hash: 0, closes: false))
        #expect(Self.failure([record]) == ReplayError(turn: 1, "a message before the program has started"))
    }

    @Test func `A restored state goes on as the replayed one`() throws {
        let (live, log) = try Self.history()
        let restored = TypedEngineTests.engine()
        try restored.restore(state: live.state(), head: live.head, writtenBy: 1)
        let more = SharedLog(after: restored.head)
        for (engine, log) in [(live, log), (restored, more)] {
            _ = try engine.take(packed(Shop.Input.order([])), now: at(4), origin: TypedEngineTests.origin, log: log)
        }
        #expect(try restored.state() == live.state())
    }
}
