import SamovarCore
import Testing

@Suite struct TurnEngineTests {
    struct Sink: TurnSink {
        var turns: [Int] = []
        var times: Set<Timestamp> = []

        mutating func took(_ turn: Turn, _ message: Orchard.Message, _ command: Command<Orchard>) {
            turns.append(turn.number)
            times.insert(turn.now)
        }
    }

    static func engine(head: Int = 0, limits: GroupLimits = .default) -> TurnEngine<Orchard> {
        TurnEngine(state: Orchard.State(), head: head, secret: secret, limits: limits)
    }

    @Test func `The turns of a group are taken first in first out`() throws {
        var engine = Self.engine()
        var sink = Sink()
        try engine.run(.then([.then([.quiet, .quiet]), .then([.quiet])]), now: noon, origin: .store, into: &sink)
        #expect(engine.state.log == ["1", "2 after 1", "3 after 1", "4 after 2", "5 after 2", "6 after 3"])
        #expect(sink.turns == [1, 2, 3, 4, 5, 6])
        #expect(sink.times == [noon], "all turns of a group have one time")
        #expect(engine.head == 6)
    }

    @Test func `Numbers continue after the head and skipped turns`() throws {
        var engine = Self.engine(head: 41)
        var sink = Sink()
        #expect(engine.next(now: noon, origin: .store).number == 42)
        try engine.run(.quiet, now: noon, origin: .store, into: &sink)
        engine.skip()
        #expect(engine.head == 43)
        try engine.run(.then([.quiet]), now: noon, origin: .store, into: &sink)
        #expect(sink.turns == [42, 44, 45])
        #expect(engine.state.log == ["42", "44", "45 after 44"])
    }

    @Test func `Step applies one message and no follow up`() {
        var engine = Self.engine()
        let taken = engine.step(.then([.quiet]), now: noon, origin: .operator)
        #expect(taken.turn.number == 1)
        #expect(taken.turn.origin == .operator)
        #expect(taken.command == .then(.quiet))
        #expect(engine.head == 1)
    }

    @Test func `A group may be as long as its limit and no longer`() throws {
        var sink = Sink()
        var fits = Self.engine(limits: GroupLimits(turns: 3))
        try fits.run(.then([.quiet, .quiet]), now: noon, origin: .store, into: &sink)
        #expect(fits.head == 3)

        var long = Self.engine(head: 10, limits: GroupLimits(turns: 3))
        do throws(GroupLimit) {
            try long.run(.endless, now: noon, origin: .store, into: &sink)
            Issue.record("an endless chain came to an end")
        } catch {
            #expect(error == .turns(3, root: 11))
            #expect("\(error)" == "the group of turn 11 has more than 3 turns: an endless chain of follow-ups?")
        }
    }

    @Test(arguments: [Orchard.Message.run(5), .then([.run(3), .run(2)])])
    func `A group orders no more effects than its limit`(_ message: Orchard.Message) throws {
        var sink = Sink()
        var fits = Self.engine(limits: GroupLimits(effects: 5))
        try fits.run(message, now: noon, origin: .store, into: &sink)

        var engine = Self.engine(limits: GroupLimits(effects: 4))
        do throws(GroupLimit) {
            try engine.run(message, now: noon, origin: .store, into: &sink)
            Issue.record("more effects than the limit")
        } catch {
            #expect(error == .effects(4, root: 1))
        }
    }
}
