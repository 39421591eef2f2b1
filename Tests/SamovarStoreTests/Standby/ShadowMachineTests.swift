import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Following a running store, to compare.
@Suite struct ShadowMachineTests {
    private static let beginning = HistoryBeginning(journal: UniqueID(high: 1, low: 2), first: 1, snapshots: [5])
    private static let secret = Secret(high: 3, low: 4)
    private static let batch = HistoryBatch(first: 6, last: 9, bytes: [1])

    private static func note(_ text: String, _ level: Note.Level = .info) -> ShadowAction { .note(Note(level, text)) }

    private static func reply(
        _ content: HistoryReply.Content, head: Int = 9, build: String = "b", timeline: Timeline = home
    ) -> HistoryReply {
        HistoryReply(timeline: timeline, build: build, head: head, content)
    }

    private static var first: HistoryReply { reply(.beginning(beginning, schema: shop, secret: secret)) }
    private static let begin = ShadowAction.begin(beginning, schema: shop, secret: secret, timeline: home)

    private static func ask(_ turn: Int?, compared: Int = 0) -> ShadowAction {
        .ask(HistoryRequest(after: turn.map { HistoryRequest.Place(timeline: home, turn: $0) }, compared: compared))
    }

    /// Has asked for what follows turn 5.
    private static func begun() -> ShadowMachine {
        var machine = ShadowMachine(build: "b", now: at(0))
        #expect(machine.ticked(now: at(0)) == [ask(nil)])
        #expect(machine.answered(first, now: at(0)) == [begin])
        let actions = machine.began(HistoryRequest.Place(timeline: home, turn: 5))
        #expect(actions == [note("following timeline \(home) from the snapshot of turn 5"), ask(5)])
        return machine
    }

    /// Has replayed to turn 9, and rests.
    private static func arrived() -> ShadowMachine {
        var machine = begun()
        #expect(machine.answered(reply(.batches([batch])), now: at(1)) == [.replay([batch])])
        let word = note("nothing differs up to turn 9 of 9; the newest state that was compared is that of turn 8")
        #expect(machine.replayed(through: 9, compared: 8, now: at(1)) == [word])
        return machine
    }

    // MARK: Following

    @Test func `What there is is replayed without a pause, and then it asks every half second`() {
        var machine = Self.begun()
        #expect(machine.answered(Self.reply(.batches([Self.batch]), head: 12), now: at(0)) == [.replay([Self.batch])])
        #expect(machine.deadline == nil && machine.ticked(now: at(9)) == [], "one question at a time")
        #expect(machine.replayed(through: 9, compared: 0, now: at(0)) == [Self.ask(9)])
        let last = HistoryBatch(first: 10, last: 12, bytes: [])
        #expect(machine.answered(Self.reply(.batches([last]), head: 12), now: at(0)) == [.replay([last])])
        let word = Self.note("nothing differs up to turn 12 of 12; no state was compared yet")
        #expect(machine.replayed(through: 12, compared: 0, now: at(0)) == [word])
        #expect(machine.deadline == at(0.5) && machine.ticked(now: at(0.4)) == [])
        #expect(machine.ticked(now: at(0.5)) == [Self.ask(12)])
        #expect(machine.answered(Self.reply(.batches([]), head: 12), now: at(0.5)) == [] && machine.deadline == at(1))
    }

    @Test func `It tells how far it is when it has arrived, and then once a minute`() {
        var machine = Self.arrived()
        var words = 0
        for second in 2...182 {
            #expect(machine.ticked(now: at(Double(second))) == [Self.ask(9, compared: 8)])
            words += machine.answered(Self.reply(.batches([])), now: at(Double(second))).count
        }
        #expect(words == 3)
    }

    @Test func `A store that is away is waited for, which is told once, and so is its return`() {
        var machine = Self.arrived()
        _ = machine.ticked(now: at(2))
        #expect(machine.failed("no store answers", now: at(3)) == [Self.note("waiting: no store answers", .warning)])
        #expect(machine.ticked(now: at(4)) == [Self.ask(9, compared: 8)])
        #expect(machine.failed("no store answers", now: at(5)) == [])
        _ = machine.ticked(now: at(6))
        #expect(machine.answered(Self.reply(.batches([])), now: at(6)) == [Self.note("the store answers again")])
    }

    @Test(arguments: [
        (HistoryReply.Reason.timeline, "the store has another timeline"), (.trimmed, "what follows turn 9 is not kept any more"),
        (.ahead, "the journal has no turn 9 any more"),
    ])
    func `What leads nowhere is begun anew`(_ reason: HistoryReply.Reason, _ why: String) {
        var machine = Self.arrived()
        _ = machine.ticked(now: at(2))
        let expected = [Self.note("\(why): beginning anew", .warning), Self.ask(nil)]
        #expect(machine.answered(Self.reply(.anew(reason)), now: at(2)) == expected)
        #expect(machine.answered(Self.first, now: at(2)) == [Self.begin])
    }

    @Test func `Without a snapshot of use it waits for the next one`() {
        var machine = ShadowMachine(build: "b", now: at(0))
        _ = machine.ticked(now: at(0))
        _ = machine.answered(Self.first, now: at(0))
        #expect(machine.cannotBegin("none", now: at(1)) == [Self.note("waiting: none", .warning)])
        #expect(machine.deadline == at(6) && machine.ticked(now: at(6)) == [Self.ask(nil)])
        #expect(machine.answered(Self.first, now: at(6)) == [Self.begin])
        #expect(machine.cannotBegin("none", now: at(7)) == [])
    }

    @Test func `Batches that nobody asked for are waited out`() {
        var machine = ShadowMachine(build: "b", now: at(0))
        _ = machine.ticked(now: at(0))
        let actions = machine.answered(Self.reply(.batches([Self.batch])), now: at(0))
        #expect(actions == [Self.note("waiting: it answers what was not asked", .warning)] && machine.deadline == at(0.5))
    }

    // MARK: Builds

    @Test func `Another build than its own is told of, and one that takes its place ends it`() {
        var machine = ShadowMachine(build: "a", now: at(0))
        _ = machine.ticked(now: at(0))
        let warning = Self.note("the store is of build b, and this is a: a difference may be one of the builds", .warning)
        #expect(machine.answered(Self.first, now: at(0)) == [warning, Self.begin])
        _ = machine.began(HistoryRequest.Place(timeline: home, turn: 5))
        #expect(machine.answered(Self.reply(.batches([Self.batch]), build: "c"), now: at(1)) == [.end(.otherBuild("c"))])
        #expect(machine.deadline == nil && machine.ticked(now: at(9)) == [])
    }

    // MARK: Differences

    @Test func `A difference ends it once the journal was looked through for an acceptance`() {
        var machine = Self.begun()
        _ = machine.answered(Self.reply(.batches([Self.batch]), head: 12), now: at(0))
        #expect(machine.differs(at: 8) == [Self.ask(7)])
        #expect(machine.answered(Self.reply(.batches([Self.batch]), head: 12), now: at(0)) == [.search([Self.batch])])
        #expect(machine.searched(through: 9, isAccepted: false) == [Self.ask(9)])
        let last = HistoryBatch(first: 10, last: 12, bytes: [])
        #expect(machine.answered(Self.reply(.batches([last]), head: 12), now: at(0)) == [.search([last])])
        #expect(machine.searched(through: 12, isAccepted: false) == [.end(.difference)])
    }

    @Test func `One that was accepted has it begin anew`() {
        var machine = Self.begun()
        _ = machine.answered(Self.reply(.batches([Self.batch])), now: at(0))
        _ = machine.differs(at: 8)
        _ = machine.answered(Self.reply(.batches([Self.batch])), now: at(0))
        let actions = machine.searched(through: 9, isAccepted: true)
        #expect(actions == [Self.note("turn 8 orders something else, which was accepted: beginning anew"), Self.ask(nil)])
    }

    @Test func `A difference stands if the store goes away, has trimmed what would be looked through, or is another build`() {
        let news: [(inout ShadowMachine) -> [ShadowAction]] = [
            { $0.failed("gone", now: at(1)) }, { $0.answered(Self.reply(.anew(.trimmed)), now: at(1)) },
            { $0.answered(Self.reply(.batches([Self.batch]), build: "another"), now: at(1)) },
        ]
        for new in news {
            var machine = Self.begun()
            _ = machine.answered(Self.reply(.batches([Self.batch])), now: at(0))
            _ = machine.differs(at: 8)
            let actions = new(&machine)
            #expect(actions == [.end(.difference)])
        }
    }
}
