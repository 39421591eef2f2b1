import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What a subscription sends next, and what becomes of it.
@Suite struct FiringsTests {
    private var firings = Firings()

    private func table(_ events: WantedEvent...) -> SubscriptionTable {
        var (table, ledger) = (SubscriptionTable(), EffectLedger())
        table.want(events, turn: 1, now: at(0), ledger: &ledger)
        return table
    }

    private func timer(_ id: Label, every seconds: Int) -> WantedEvent {
        WantedEvent(id: id, kind: .timer(Schedule(.every(.seconds(seconds)), missed: .once), message: ticked("\(id)")))
    }

    private func moment(_ id: Label, _ moment: Lifecycle) -> WantedEvent {
        WantedEvent(id: id, kind: .lifecycle(moment, message: ticked("\(id)")))
    }

    private func ticked(_ what: String) -> [UInt8] { packed(Shop.Message.ticked(what)) }

    /// Takes what is next, and says what it was.
    private mutating func take(_ table: SubscriptionTable, _ bench: inout PartBench, at seconds: Double) throws -> [UInt8]? {
        guard let next = firings.next(table, timersMayFire: true, now: at(seconds)) else { return nil }
        try firings.take(next, now: at(seconds), &bench.scheduler, &bench.turns, &bench.out)
        return next.message
    }

    @Test mutating func `Moments come first, to those who want them, and then the timer that is due longest`() throws {
        var table = table(timer("slow", every: 3), timer("quick", every: 2), moment("back", .resumed), moment("end", .draining))
        var bench = try PartBench()
        let head = bench.turns.head
        firings.tell(.resumed, table, now: at(4))
        #expect(!firings.isEmpty)
        let first = try take(table, &bench, at: 4)
        #expect(first == ticked("back") && firings.isEmpty)
        let second = try take(table, &bench, at: 4)
        #expect(second == ticked("quick"))
        table.fired(table.activations["quick"]?.id ?? EffectID(turn: 0, ordinal: 0), nominal: at(4))
        let third = try take(table, &bench, at: 4)
        #expect(third == ticked("slow"))
        let (taken, counted) = (bench.turns.head - head, bench.turns.counts.kinds.firings)
        #expect(taken == 3 && counted == 3)
    }

    @Test mutating func `While timers wait as inputs do, moments do not`() {
        let table = table(timer("a", every: 2), moment("b", .draining))
        firings.tell(.draining, table, now: at(9))
        #expect(firings.next(table, timersMayFire: false, now: at(9))?.message == ticked("b"))
        #expect(Firings().isEmpty)
        var none = Firings()
        #expect(none.next(table, timersMayFire: false, now: at(9)) == nil)
        #expect(none.next(table, timersMayFire: true, now: at(9))?.message == ticked("a"))
    }

    @Test mutating func `A moment that nobody wants any more is passed over`() {
        firings.tell(.resumed, table(moment("a", .resumed)), now: at(1))
        #expect(firings.next(table(), timersMayFire: true, now: at(1)) == nil && firings.isEmpty)
    }

    @Test mutating func `A message that cannot be read again ends the store, for its turn would have no record`() throws {
        let table = table(WantedEvent(id: "a", kind: .lifecycle(.resumed, message: [0xc1])))
        var bench = try PartBench()
        firings.tell(.resumed, table, now: at(1))
        do {
            _ = try take(table, &bench, at: 1)
            Issue.record("it was taken")
        } catch {
            #expect("\(error)".contains("the message of a subscription cannot be read again"), "\(error)")
        }
        let counted = bench.turns.counts.kinds.firings
        #expect(counted == 0)
    }
}
