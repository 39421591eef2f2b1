import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Requests for what is there, what is to come, and what never was.
@Suite struct ReadersTests {
    private var readers = Readers(Self.settings)

    /// Two may wait, and one may read every view.
    private static var settings: StoreSettings {
        var settings = StoreSettings()
        (settings.waiters, settings.feedReaders) = (2, 1)
        return settings
    }

    /// What has left once the turns so far are on disk; of the views of this program, the totals.
    private mutating func left(_ bench: inout PartBench) -> [String] {
        bench.commit()
        return bench.takeFrames().map { frame in
            switch frame {
            case .view(_, let turn, let bytes): "view \(turn): \(Self.total(bytes))"
            case .views(let page):
                "views \(page.views.map { "\($0.turn): \(Self.total($0.bytes))" })\(page.isMissingSome ? ", some are missing" : "")"
            case .outputs(let page): "outputs after \(page.after): \(page.outputs.count)"
            case .settled(let turn, let dead): "settled \(turn), \(dead.count) dead"
            case .waiting(let turn, let text): "\(turn) waits: \(text)"
            case .tick(_, let head, let view, let isIdle): "tick \(head), view \(view)\(isIdle ? ", idle" : "")"
            case .error(let error): "\(error.code): \(error.text)"
            default: "\(frame.kind)"
            }
        }
    }

    private static func total(_ view: [UInt8]) -> String {
        do { return "\(try unpacked(Shop.ViewState.self, view).total)" } catch { return "\(error)" }
    }

    /// Adds a number by an input.
    private func add(_ number: Int, _ bench: inout PartBench) throws { try take(.add(number), &bench) }

    private func take(_ input: Shop.Input, _ bench: inout PartBench) throws {
        let origin = Origin.client(session: session(9), sequence: bench.turns.head + 1)
        let call = ProgramCall.input(session(9), sequence: bench.turns.head + 1)
        _ = try bench.turns.take(call, .input(packed(input), origin), origin, root: nil, now: at(1), &bench.out)
        bench.scheduler.enterOrders(now: at(1), &bench.turns)
    }

    // MARK: Views

    @Test mutating func `A view that is there is sent, a later one waits for its turn, and those that wait are few`() throws {
        var bench = try PartBench()
        let head = bench.turns.head
        readers.ask(viewAtLeast: head, for: client(1), &bench.turns, &bench.out)
        for number in 1...3 as ClosedRange<UInt8> {
            readers.ask(viewAtLeast: head + 1, for: client(number), &bench.turns, &bench.out)
        }
        readers.answer(&bench.turns, &bench.out)
        let before = left(&bench)
        #expect(before == ["retryLater: too many requests wait", "view \(head): 0"])
        try add(7, &bench)
        readers.answer(&bench.turns, &bench.out)
        readers.answer(&bench.turns, &bench.out)
        let after = left(&bench)
        #expect(after == ["view \(head + 1): 7", "view \(head + 1): 7"], "each is told once")
    }

    @Test mutating func `Who reads every view gets those since a turn, and waits for the next`() throws {
        var bench = try PartBench()
        let head = bench.turns.head
        readers.ask(viewsAfter: head, for: client(1), now: at(1), &bench.turns, &bench.out)
        readers.ask(viewsAfter: head, for: client(2), now: at(1), &bench.turns, &bench.out)
        readers.ask(viewsAfter: head + 9, for: client(1), now: at(1), &bench.turns, &bench.out)
        let refused = left(&bench)
        #expect(refused == ["retryLater: too many read every view", "misuse: there is no turn \(head + 9) yet"])
        for number in [1, 2] { try add(number, &bench) }
        readers.answer(&bench.turns, &bench.out)
        readers.ask(viewsAfter: head + 1, for: client(1), now: at(1), &bench.turns, &bench.out)
        readers.ask(viewsAfter: -1, for: client(1), now: at(1), &bench.turns, &bench.out)
        readers.ask(viewsAfter: 0, for: client(1), now: at(1), &bench.turns, &bench.out)
        let told = left(&bench)
        let two = "\"\(head + 1): 1\", \"\(head + 2): 3\""
        #expect(
            told == [
                "views [\(two)]", "views [\"\(head + 2): 3\"]", "views [\"\(head + 2): 3\"]",
                "views [\"\(head + 2): 3\"], some are missing",
            ])
    }

    @Test mutating func `A page that is there needs no place among those that wait`() throws {
        var bench = try PartBench()
        let head = bench.turns.head
        readers.ask(viewsAfter: head, for: client(1), now: at(1), &bench.turns, &bench.out)
        try add(1, &bench)
        readers.answer(&bench.turns, &bench.out)
        for number in [2, 3] as [UInt8] { readers.ask(viewAtLeast: head + 9, for: client(number), &bench.turns, &bench.out) }
        readers.ask(viewsAfter: head, for: client(1), now: at(1), &bench.turns, &bench.out)
        // Also of a turn of which nobody who waits was told yet.
        try add(2, &bench)
        readers.ask(viewsAfter: head + 1, for: client(1), now: at(1), &bench.turns, &bench.out)
        let told = left(&bench)
        let first = "views [\"\(head + 1): 1\"]"
        #expect(told == [first, first, "views [\"\(head + 2): 3\"]"])
    }

    @Test mutating func `A view is published once for a turn, and idle is only who has published the newest`() throws {
        var bench = try PartBench()
        let head = bench.turns.head
        readers.publishTick(isIdle: true, head: head, &bench.out)
        readers.publishView(now: at(1), &bench.turns, &bench.out)
        readers.publishView(now: at(1), &bench.turns, &bench.out)
        readers.publishTick(isIdle: true, head: head, &bench.out)
        let told = left(&bench)
        #expect(told.filter { !$0.hasPrefix("tick") } == ["view \(head): 0"] && readers.published == 1)
        #expect(told.first == "tick \(head), view 0" && told.last == "tick \(head), view \(head), idle")
        try add(1, &bench)
        readers.publishTick(isIdle: true, head: head + 1, &bench.out)
        readers.publishDurableTick(&bench.out)
        let later = left(&bench)
        #expect(later == ["tick \(head), view \(head)", "tick \(head + 1), view \(head)"])
    }

    @Test mutating func `Once views are off nobody waits for one, and each is told why`() throws {
        var bench = try PartBench()
        readers.turnViewsOff("they trap", &bench.out)
        readers.ask(viewAtLeast: 0, for: client(1), &bench.turns, &bench.out)
        readers.ask(viewsAfter: 0, for: client(1), now: at(1), &bench.turns, &bench.out)
        readers.publishView(now: at(1), &bench.turns, &bench.out)
        let told = left(&bench)
        let head = bench.turns.head
        #expect(told == Array(repeating: "\(head) waits: there is no view: they trap", count: 2) && readers.published == 0)
    }

    // MARK: Outputs

    @Test mutating func `Outputs that are there are sent, and who waits gets the next`() throws {
        var bench = try PartBench()
        let none = EffectID(turn: 0, ordinal: 0)
        readers.ask(outputsAfter: none, waits: false, for: client(1), bench.turns, &bench.out)
        readers.ask(outputsAfter: none, waits: true, for: client(1), bench.turns, &bench.out)
        readers.ask(outputsAfter: EffectID(turn: 99, ordinal: 0), waits: true, for: client(1), bench.turns, &bench.out)
        let before = left(&bench)
        #expect(before == ["misuse: there is no turn 99 yet", "outputs after 0/0: 0"])
        try take(.emit(["a", "b"]), &bench)
        readers.answer(&bench.turns, &bench.out)
        readers.ask(outputsAfter: none, waits: true, for: client(2), bench.turns, &bench.out)
        let after = left(&bench)
        #expect(after == ["outputs after 0/0: 2", "outputs after 0/0: 2"])
    }

    // MARK: Settling

    @Test mutating func `A turn without effects is settled, one with an effect waits, and one that never was is a mistake`() throws
    {
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a", queue: "mail")))
        let head = bench.turns.head
        for turn in [1, open.turn, head + 1, 0] { readers.settle(turn, for: client(1), bench.turns, &bench.out) }
        readers.reportWaiting(bench.turns.state.ledger, bench.scheduler.dispatcher, head: head, &bench.out)
        let before = left(&bench)
        #expect(
            before == [
                "misuse: there is no turn \(head + 1) yet", "misuse: there is no turn 0 yet", "settled 1, 0 dead",
                "\(open.turn) waits: 1 effect waits in queue mail, no worker serves it",
            ])
        bench.scheduler.close(open, as: .cancelled, of: .default)
        bench.turns.write(.dropped(open), origin: .operator, now: at(1))
        readers.answer(&bench.turns, &bench.out)
        let after = left(&bench)
        #expect(after.count == 1 && after.first?.hasPrefix("settled \(open.turn), ") == true, "\(after)")
    }

    @Test mutating func `One connection does not take the places of all others, whatever it asks for`() throws {
        var settings = StoreSettings()
        (settings.waiters, settings.waitersOfClient) = (5, 1)
        readers = Readers(settings)
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a")))
        let head = bench.turns.head
        let none = EffectID(turn: 0, ordinal: 0)
        for _ in 0..<2 { readers.settle(open.turn, for: client(1), bench.turns, &bench.out) }
        readers.ask(viewAtLeast: head + 1, for: client(1), &bench.turns, &bench.out)
        readers.ask(outputsAfter: none, waits: true, for: client(1), bench.turns, &bench.out)
        readers.ask(viewsAfter: head, for: client(1), now: at(1), &bench.turns, &bench.out)
        let ofOne = left(&bench)
        #expect(ofOne == Array(repeating: "retryLater: too many requests wait", count: 3))
        readers.settle(open.turn, for: client(2), bench.turns, &bench.out)
        readers.ask(viewAtLeast: head + 1, for: client(3), &bench.turns, &bench.out)
        readers.ask(outputsAfter: none, waits: true, for: client(4), bench.turns, &bench.out)
        readers.ask(viewsAfter: head, for: client(5), now: at(1), &bench.turns, &bench.out)
        let ofOthers = left(&bench)
        #expect(ofOthers == [] && readers.waiters.count == 5)
    }

    @Test mutating func `Who is gone is told nothing any more, and leaves room for others`() throws {
        var bench = try PartBench()
        let head = bench.turns.head
        for number in [1, 2] as [UInt8] { readers.ask(viewAtLeast: head + 1, for: client(number), &bench.turns, &bench.out) }
        readers.forget(client(1))
        readers.ask(viewAtLeast: head + 1, for: client(3), &bench.turns, &bench.out)
        try add(1, &bench)
        readers.answer(&bench.turns, &bench.out)
        bench.commit()
        let routes = bench.out.takeActions().compactMap { action -> Route? in
            if case .send(_, let route) = action { route } else { nil }
        }
        #expect(Set(routes) == [client(2), client(3)])
    }
}
