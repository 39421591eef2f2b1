import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Which subscription goes on, which begins anew, and which fires next.
@Suite struct SubscriptionTableTests {
    private func timer(_ id: Label, every seconds: Int, message: UInt8 = 0, missed: Missed = .once) -> WantedEvent {
        WantedEvent(id: id, kind: .timer(Schedule(.every(.seconds(seconds)), missed: missed), message: [message]))
    }

    private func source(_ id: Label, _ payload: UInt8 = 0, _ options: RunOptions = RunOptions()) -> WantedEvent {
        WantedEvent(id: id, kind: .source(payload: [payload], options))
    }

    private func book(_ events: [WantedEvent], ledger: inout EffectLedger) -> SubscriptionTable {
        var book = SubscriptionTable()
        book.want(events, turn: 1, now: at(0), ledger: &ledger)
        return book
    }

    private func book(_ events: [WantedEvent]) -> SubscriptionTable {
        var ledger = EffectLedger()
        return book(events, ledger: &ledger)
    }

    private func id(_ turn: Int, _ place: Int = 0) -> EffectID {
        EffectID(turn: turn, ordinal: SubscriptionTable.firstSource + place)
    }

    @Test func `The timer that is due longest fires first, and of two the one that began first`() {
        var book = book([timer("z", every: 3), timer("y", every: 2), timer("a", every: 3)])
        #expect(book.firing(now: at(1.999_999)) == nil && book.nextDue == at(2))
        #expect(book.firing(now: at(9))?.id == id(1, 1))
        #expect(book.firing(now: at(2)) == Firing(id: id(1, 1), nominal: at(2), message: [0]))
        book.fired(id(1, 1), nominal: at(2))
        #expect(book.firing(now: at(3))?.id == id(1, 0))
        book.fired(id(1, 0), nominal: at(3))
        #expect(book.firing(now: at(3))?.id == id(1, 2))
        book.fired(id(1, 2), nominal: at(3))
        #expect(book.nextDue == at(4))
    }

    @Test func `Of two subscriptions with one label the first counts`() {
        var ledger = EffectLedger()
        let book = book([timer("a", every: 2, message: 1), timer("a", every: 3), source("b", 1), source("b", 2)], ledger: &ledger)
        #expect(book.nextDue == at(2) && book.firing(now: at(2)) == Firing(id: id(1), nominal: at(2), message: [1]))
        #expect(ledger.open.keys.sorted() == [id(1, 2)])
    }

    /// That of a set or a dictionary is another one in each process.
    @Test func `The order in which a program says what it wants names nothing`() {
        var (ledger, other) = (EffectLedger(), EffectLedger())
        let events = [source("c", 3), timer("b", every: 2), source("a", 1)]
        #expect(book(events, ledger: &ledger) == book(events.reversed(), ledger: &other))
        #expect(ledger.open == other.open && ledger.open[id(1)]?.payload == [1] && ledger.open[id(1, 2)]?.payload == [3])
    }

    @Test func `In turns of a former build it names what begins`() {
        var (book, ledger) = (SubscriptionTable(), EffectLedger())
        book.isByLabel = false
        book.want([source("c", 3), source("a", 1)], turn: 1, now: at(0), ledger: &ledger)
        #expect(ledger.open[id(1)]?.payload == [3] && ledger.open[id(1, 1)]?.payload == [1])
    }

    @Test func `A timer does not take the name of a moment in the store's life that sends the same message`() {
        let resumed = WantedEvent(id: "back", kind: .lifecycle(.resumed, message: [1]))
        var ledger = EffectLedger()
        var book = book([timer("due", every: 9, message: 1), resumed], ledger: &ledger)
        book.rename(to: id(1), firing: [1], for: at(0), at: at(0))
        book.fired(id(1), nominal: at(0))
        #expect(book.activations["due"]?.id == id(1, 1) && book.nextDue == at(9))
        // Another message was that of a timer of a former build.
        book.want([timer("due", every: 9, message: 2), resumed], turn: 2, now: at(1), ledger: &ledger)
        book.rename(to: id(1), firing: [2], for: at(1), at: at(1))
        #expect(book.activations["due"]?.id == id(1) && book.activations["back"]?.id == id(1, 1))
    }

    @Test func `Of several timers with one message the one whose time it was has fired`() {
        var book = book([timer("a", every: 2, message: 1), timer("b", every: 3, message: 1)])
        book.rename(to: id(9), firing: [1], for: at(3), at: at(3.5))
        book.fired(id(9), nominal: at(3))
        #expect(book.activations["b"]?.id == id(9) && book.activations["b"]?.due == at(6))
        #expect(book.activations["a"]?.id == id(1) && book.nextDue == at(2))
        let before = book
        book.rename(to: id(8), firing: [1], for: at(6), at: at(6))
        #expect(book == before, "it may have been either")
    }

    @Test func `A firing of an activation that is over moves nothing`() {
        var book = book([timer("a", every: 2)])
        book.fired(id(7), nominal: at(100))
        #expect(book.nextDue == at(2))
    }

    @Test func `The same times with another message go on, with that message`() {
        var book = book([timer("a", every: 2, message: 1)])
        var ledger = EffectLedger()
        book.want([timer("a", every: 2, message: 9)], turn: 5, now: at(1), ledger: &ledger)
        #expect(book.firing(now: at(2)) == Firing(id: id(1), nominal: at(2), message: [9]))
        book.want([timer("a", every: 3)], turn: 6, now: at(2), ledger: &ledger)
        #expect(book.activations["a"]?.id == id(6) && book.nextDue == at(5))
        book.want([timer("a", every: 3, missed: .all)], turn: 7, now: at(3), ledger: &ledger)
        #expect(book.activations["a"]?.id == id(7))
    }

    @Test func `A subscription to the store's life goes on while it is to the same moment`() {
        func moment(_ moment: Lifecycle, _ message: UInt8) -> WantedEvent {
            WantedEvent(id: "a", kind: .lifecycle(moment, message: [message]))
        }
        var book = book([moment(.resumed, 1)])
        var ledger = EffectLedger()
        book.want([moment(.resumed, 2)], turn: 2, now: at(1), ledger: &ledger)
        #expect(book.subscriptions(to: .resumed).map(\.id) == [id(1)] && book.subscriptions(to: .resumed).map(\.message) == [[2]])
        #expect(book.subscriptions(to: .draining).isEmpty && book.isWanted(id(1)) && !book.isWanted(id(2)))
        book.want([moment(.draining, 2)], turn: 3, now: at(1), ledger: &ledger)
        #expect(book.subscriptions(to: .draining).map(\.id) == [id(3)] && book.subscriptions(to: .resumed).isEmpty)
    }

    @Test func `A source is opened when it is first wanted, and again when anything of it differs`() {
        var ledger = EffectLedger()
        var book = book([source("a"), source("b", 1, RunOptions(id: "label"))], ledger: &ledger)
        #expect(ledger.open.keys.sorted() == [id(1, 0), id(1, 1)] && ledger.open[id(1, 1)]?.label == nil)
        book.want([source("b", 1, RunOptions(id: "label")), source("a")], turn: 2, now: at(1), ledger: &ledger)
        #expect(ledger.open.keys.sorted() == [id(1, 0), id(1, 1)], "nothing has changed but the order")
        book.want([source("a", 7), source("b", 1, RunOptions(id: "label", queue: "io"))], turn: 3, now: at(2), ledger: &ledger)
        #expect(ledger.open.keys.sorted() == [id(3, 0), id(3, 1)])
        book.want([timer("a", every: 9)], turn: 4, now: at(3), ledger: &ledger)
        #expect(ledger.open.isEmpty && ledger.changes.cancelled.count == 4)
        #expect(ledger.changes.cancelled.suffix(2).map(\.id) == [id(3, 0), id(3, 1)], "in the order in which they began")
    }

    @Test func `A moment fires once, and a moment of the store's life and a source are never due`() {
        let resumed = WantedEvent(id: "a", kind: .lifecycle(.resumed, message: []))
        #expect(book([resumed, source("b")]).nextDue == nil)
        var once = book([WantedEvent(id: "a", kind: .timer(Schedule(.at(at(5)), missed: .once), message: []))])
        #expect(once.nextDue == at(5))
        once.fired(id(1), nominal: at(5))
        #expect(once.nextDue == nil && once.firing(now: at(99)) == nil)
    }

    @Test func `Of times that were missed, those go that the schedule does not want`() {
        var book = book([
            timer("none", every: 2, missed: .none), timer("once", every: 2),
            WantedEvent(id: "x", kind: .lifecycle(.resumed, message: [])),
        ])
        book.returned(now: at(5))
        #expect(book.activations["none"]?.due == at(6) && book.activations["once"]?.due == at(2) && book.nextDue == at(2))
        #expect(book.firing(now: at(5))?.nominal == at(4), "once, for the newest")
        var alone = self.book([timer("none", every: 2, missed: .none)])
        alone.returned(now: at(5))
        #expect(alone.nextDue == at(6) && alone.firing(now: at(5)) == nil)
    }

    @Test func `What is restored fires as before`() {
        let former = book([timer("a", every: 2), source("b")])
        var restored = SubscriptionTable()
        restored.restore(Array(former.activations.values))
        #expect(restored == former)
    }
}
