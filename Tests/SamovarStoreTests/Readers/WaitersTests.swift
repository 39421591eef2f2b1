import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Requests that wait for a turn, and how many there are.
@Suite struct WaitersTests {
    private func place(_ turn: Int) -> EffectID { EffectID(turn: turn, ordinal: 0) }

    /// Takes those of whom this is the wish.
    private func take(_ wish: Waiters.Wish, _ waiters: inout Waiters) -> [Route] {
        waiters.take { $0 == wish ? true : nil }.map(\.route)
    }

    @Test func `A request to settle that is repeated is one, and all of a turn are answered together`() {
        var waiters = Waiters()
        for route in [client(1), client(1), client(2)] { waiters.insert(.settled(3), for: route) }
        waiters.insert(.settled(4), for: client(1))
        #expect(waiters.count == 3)
        #expect(take(.settled(3), &waiters) == [client(1), client(2)])
        #expect(take(.settled(3), &waiters) == [])
        #expect(waiters.count == 1 && waiters.settling == [4: [client(1)]])
    }

    @Test func `A request for a view stands for those of the same client for an older one`() {
        var waiters = Waiters()
        for (turn, route) in [(3, client(1)), (5, client(1)), (5, client(1)), (5, client(2)), (4, client(1))] {
            waiters.insert(.view(turn), for: route)
        }
        #expect(waiters.count == 3)
        #expect(take(.view(3), &waiters) == [])
        #expect(take(.view(4), &waiters) == [client(1)])
        #expect(waiters.count == 2)
        #expect(take(.view(5), &waiters) == [client(1), client(2)])
        #expect(waiters.count == 0)
    }

    @Test func `Requests have a limit all together, and a repeated one is no other`() {
        var waiters = Waiters()
        waiters.insert(.settled(1), for: client(1))
        waiters.insert(.view(1), for: client(1))
        #expect(waiters.insert(.outputs(after: place(1)), for: client(1), limit: 3) == true)
        #expect(waiters.insert(.outputs(after: place(2)), for: client(1), limit: 3) == false)
        #expect(waiters.insert(.views(after: 1), for: client(1), limit: 3) == false)
        #expect(waiters.insert(.views(after: 1), for: client(1), limit: 4) == true)
        #expect(waiters.insert(.views(after: 1), for: client(2), limit: 4) == false)
        for _ in 0..<2 {
            #expect(waiters.insert(.outputs(after: place(1)), for: client(1), limit: 3) == true)
            #expect(waiters.insert(.views(after: 1), for: client(1), limit: 3) == true)
        }
        #expect(waiters.count == 4)
    }

    @Test func `Requests of one connection have a limit of their own, and leave the other places to others`() {
        var waiters = Waiters()
        func insert(_ wish: Waiters.Wish, _ route: Route) -> Bool { waiters.insert(wish, for: route, limit: 4, limitOfEach: 2) }
        let two: [Waiters.Wish] = [.settled(1), .view(3)]
        for wish in two { #expect(insert(wish, client(1))) }
        let more: [Waiters.Wish] = [.settled(2), .outputs(after: place(1)), .views(after: 1)]
        for wish in more { #expect(!insert(wish, client(1))) }
        for wish in two { #expect(insert(wish, client(1)), "a repeated one is no other") }
        #expect(insert(.view(4), client(1)), "it stands for the one before")
        #expect(waiters.count == 2)
        for number in [2, 3] as [UInt8] { #expect(insert(.settled(2), client(number))) }
        #expect(!insert(.settled(2), client(4)), "there is no place left")
        #expect(insert(.view(5), client(1)), "its own place is")
        #expect(waiters.count == 4)
        #expect(take(.settled(1), &waiters) == [client(1)])
        #expect(insert(.settled(2), client(1)))
    }

    @Test func `What is taken is taken once, with what was made of it, and the rest goes on waiting`() {
        var waiters = Waiters()
        for turn in [3, 5] {
            waiters.insert(.outputs(after: place(turn)), for: client(1))
            waiters.insert(.views(after: turn), for: client(2))
        }
        func pages(before end: Int) -> [Int] {
            waiters.take { wish in
                guard case .views(let turn) = wish, turn < end else { return nil }
                return turn
            }.map(\.answer)
        }
        #expect(pages(before: 3) == [] && pages(before: 5) == [3] && pages(before: 5) == [])
        #expect(waiters.count == 3 && pages(before: 6) == [5])
        #expect(take(.outputs(after: place(3)), &waiters) == [client(1)] && waiters.count == 1)
    }

    @Test func `A connection that is gone takes its requests with it, and no others`() {
        var waiters = Waiters()
        let wishes: [Waiters.Wish] = [.settled(7), .view(7), .outputs(after: place(7)), .views(after: 7)]
        for route in [client(1), client(2)] {
            for wish in wishes { waiters.insert(wish, for: route) }
        }
        waiters.insert(.settled(8), for: client(1))
        #expect(waiters.count == 9)
        waiters.forget(client(1))
        #expect(waiters.count == 4 && waiters.settling == [7: [client(2)]])
        for wish in wishes { #expect(take(wish, &waiters) == [client(2)]) }
        #expect(waiters.count == 0)
    }

    @Test func `Reports are due each tick while few effects are open, and the more there are the more ticks they wait`() {
        var waiters = Waiters()
        waiters.insert(.settled(1), for: client(1))
        /// In which of so many ticks they are due, if two effects are looked at for each.
        func due(_ ticks: Int, effects: Int) -> [Int] {
            (1...ticks).filter { _ in
                let isDue = waiters.reportsAreDue(effects: effects, perTick: 2)
                if isDue { waiters.report([1: "\(effects) effects"]) }
                return isDue
            }
        }
        #expect(due(6, effects: 5) == [3, 6])
        #expect(due(3, effects: 1) == [1, 2, 3])
        #expect(due(10, effects: 9) == [5, 10])
    }

    @Test func `What was told of a turn is forgotten once nobody waits for one, and whoever comes later hears nothing old`() {
        var waiters = Waiters()
        waiters.insert(.settled(1), for: client(1))
        waiters.report([1: "1 effect"])
        waiters.forget(client(1))
        let isDue = waiters.reportsAreDue(effects: 2, perTick: 1)
        waiters.insert(.settled(1), for: client(2))
        let isDueAtOnce = waiters.reportsAreDue(effects: 2, perTick: 1)
        #expect(!isDue && !isDueAtOnce && waiters.reports.isEmpty)
    }
}
