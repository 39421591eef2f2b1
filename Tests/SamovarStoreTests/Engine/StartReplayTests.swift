import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What a start orders; two editions of it are two builds of one program.
private protocol Opening: Sendable {
    static var command: Command<Opener<Self>> { get }
}

private enum One: Opening {
    static var command: Command<Opener<One>> { .batch([.run(Note(text: "job")), .then(.say("a"))]) }
}

private enum Other: Opening {
    static var command: Command<Opener<Other>> { .batch([.run(Note(text: "job")), .then(.say("b"))]) }
}

private enum Longer: Opening {
    static var command: Command<Opener<Longer>> { .batch([.run(Note(text: "job")), .then(.say("a")), .then(.say("b"))]) }
}

private enum Silent: Opening {
    static var command: Command<Opener<Silent>> { .none }
}

/// Its own `encode(to:)` refuses the text “no”.
private struct Note: Portable {
    struct Unwritable: Error {}

    var text: String

    init(text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
        if text == "no" { throw Unwritable() }
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

private enum Opener<O: Opening>: Program {
    struct State: Portable {
        var said: [String] = []
    }

    enum Message: Portable {
        case say(String)
        case order(String)
    }

    typealias Input = Message
    typealias Effect = Note
    typealias ViewState = Int

    static var schema: Schema { Schema(name: "Opener", version: 1) }
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State(), O.command) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .say(let text):
            state.said.append(text)
            return .none
        case .order(let text): return .run(Note(text: text))
        }
    }

    static func view(_ state: State) -> Int { state.said.count }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// The first group of a journal: what `start` orders, live and in a replay.
@Suite struct StartReplayTests {
    private static func engine<O: Opening>(_ opening: O.Type, limits: GroupLimits = .default) -> TypedEngine<Opener<O>> {
        TypedEngine(secret: workshopSecret, limits: limits)
    }

    private static func started<O: Opening>(
        _ opening: O.Type, limits: GroupLimits = .default
    ) throws -> (engine: TypedEngine<Opener<O>>, log: SharedLog) {
        let engine = engine(opening, limits: limits)
        let log = SharedLog(after: 0)
        let event = Record.Event.started(number: 1, build: "test", schema: engine.schema, seed: packed(NoSeed()))
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: event))
        try engine.start(seed: packed(NoSeed()), now: at(1), log: log)
        return (engine, log)
    }

    /// Turn 1 started, turn 2 says what the start wanted, turn 3 is an input.
    private static func history() throws -> [Record] {
        let (engine, log) = try started(One.self)
        _ = try engine.take(packed(Opener<One>.Message.say("c")), now: at(2), origin: TypedEngineTests.origin, log: log)
        return try TypedEngineTests.records(log)
    }

    private static func replay<O: Opening>(
        _ records: [Record], as opening: O.Type, _ terms: ReplayTerms = ReplayTerms()
    ) throws(ReplayError) -> (engine: TypedEngine<Opener<O>>, log: SharedLog) {
        let engine = engine(opening)
        engine.terms = terms
        let log = SharedLog(after: 0)
        for record in records { try engine.replay(record, log: log) }
        return (engine, log)
    }

    private static func failure<O: Opening>(
        _ records: [Record], as opening: O.Type, _ terms: ReplayTerms = ReplayTerms()
    ) -> ReplayError? {
        do throws(ReplayError) {
            _ = try replay(records, as: opening, terms)
            return nil
        } catch {
            return error
        }
    }

    private static func said<O: Opening>(_ engine: TypedEngine<Opener<O>>) -> [String]? { engine.current?.said }

    @Test func `A start orders effects and follow-ups, and a replay gives the same`() throws {
        let (live, log) = try Self.started(One.self)
        #expect(live.head == 2 && Self.said(live) == ["a"])
        #expect(log.opened.map(\.id) == [EffectID(turn: 1, ordinal: 0)] && log.opened.map(\.root) == [1])
        let records = try TypedEngineTests.records(log)
        #expect(records.map(\.origin) == [.store, .followUp(of: 1)] && records[1].root == 1)
        let (replayed, again) = try Self.replay(records, as: One.self)
        #expect(Self.said(replayed) == ["a"] && again.opened == log.opened && again.batch.bytes == log.batch.bytes)
        try replayed.requireEndOfGroup()
    }

    @Test func `What a start orders is held to the limits of a group`() throws {
        let size = packed("job").count
        let (live, _) = try Self.started(One.self, limits: GroupLimits(effectBytes: size))
        #expect(live.head == 2)
        #expect(throws: GroupLimit.effectBytes(size - 1, root: 1)) {
            _ = try Self.started(One.self, limits: GroupLimits(effectBytes: size - 1))
        }
    }

    @Test func `Another command of start is found by its follow-ups, and shown`() throws {
        let records = try Self.history()
        let error = try #require(Self.failure(records, as: Other.self))
        #expect(error.turn == 2 && error.text.hasPrefix("this follow-up is not what turn 1 orders now"))
        let divergence = try #require(error.divergence)
        #expect(divergence.turn == 1 && divergence.recorded == nil && divergence.message == packed(NoSeed()))
        #expect(divergence.orders.last == .then(packed(Opener<Other>.Message.say("b"))) && divergence.orders.count == 2)
        let longer = try #require(Self.failure(records, as: Longer.self))
        #expect(longer.turn == 3 && longer.text == "a follow-up of turn 1 is missing before it")
        #expect(longer.divergence?.turn == 1)
        let silent = try #require(Self.failure(records, as: Silent.self))
        #expect(silent.turn == 2 && silent.divergence?.orders == [] && silent.divergence?.hash == 0)
    }

    @Test func `Another command of start that was accepted is taken with the follow-ups of the journal`() throws {
        let records = try Self.history()
        let divergence = try #require(Self.failure(records, as: Other.self)?.divergence)
        var terms = ReplayTerms()
        terms.accepted[1] = [divergence.hash]
        let (engine, _) = try Self.replay(records, as: Other.self, terms)
        #expect(Self.said(engine) == ["a", "c"] && engine.head == 3)
        terms.accepted[1] = [divergence.hash &+ 1]
        #expect(Self.failure(records, as: Other.self, terms)?.turn == 2)
    }

    @Test func `A replay stops at the start if that is what it shall show`() throws {
        var terms = ReplayTerms()
        terms.shown = 1
        let error = try #require(Self.failure(Self.history(), as: One.self, terms))
        #expect(error.turn == 1 && error.text == "the replay was to end here")
        #expect(error.divergence?.orders.last == .then(packed(Opener<One>.Message.say("a"))))
    }

    @Test func `Once the follow-ups of the start have come, what is wrong later is not its command`() throws {
        var records = try Self.history()
        records[2].origin = .followUp(of: 1)
        let error = try #require(Self.failure(records, as: One.self))
        #expect(error.turn == 3)
        records = try Self.history()
        records.append(records[2])
        records[3].turn = 4
        records[3].origin = .followUp(of: 1)
        let late = try #require(Self.failure(records, as: One.self))
        #expect(late.turn == 4 && late.divergence == nil)
    }

    @Test func `A journal must not end inside a group`() throws {
        let (engine, _) = try Self.replay(Array(Self.history().prefix(1)), as: One.self)
        let error = #expect(throws: ReplayError.self) { try engine.requireEndOfGroup() }
        #expect(error == ReplayError(turn: 1, "the journal ends inside a group: a follow-up of turn 1 is missing after it"))
    }

    @Test func `A value that cannot be encoded stops its group, and no other`() throws {
        let (engine, log) = try Self.started(One.self)
        func order(_ text: String) throws {
            _ = try engine.take(packed(Opener<One>.Message.order(text)), now: at(2), origin: TypedEngineTests.origin, log: log)
        }
        let error = try #require(#expect(throws: GroupLimit.self) { try order("no") })
        #expect("\(error)".hasPrefix("the group of turn 3 has a value that cannot be encoded: "))
        try order("yes")
        #expect(log.opened.last?.payload == packed("yes"))
    }
}
