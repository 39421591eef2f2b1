import SamovarCore
import Testing

@testable import SamovarProtocol

/// Requests that wait for a turn, and how many there are.
@Suite struct WaitersTests {
    private func place(_ turn: Int) -> EffectID { EffectID(turn: turn, ordinal: 0) }

    @Test func `A request to settle that is repeated is one, and all of a turn are answered together`() {
        var waiters = Waiters()
        for route in [client(1), client(1), client(2)] { waiters.settle(3, route: route) }
        waiters.settle(4, route: client(1))
        #expect(waiters.count == 3)
        #expect(waiters.takeSettled(3) == [client(1), client(2)])
        #expect(waiters.takeSettled(3) == [])
        #expect(waiters.count == 1 && waiters.settling == [4: [client(1)]])
    }

    @Test func `A request for a view stands for those of the same client for an older one`() {
        var waiters = Waiters()
        for (turn, route) in [(3, client(1)), (5, client(1)), (5, client(1)), (5, client(2)), (4, client(1))] {
            waiters.view(turn, route: route)
        }
        #expect(waiters.count == 3)
        #expect(waiters.takeViews(upTo: 3) == [])
        #expect(waiters.takeViews(upTo: 4) == [client(1)])
        #expect(waiters.count == 2)
        #expect(waiters.takeViews(upTo: 5) == [client(1), client(2)])
        #expect(waiters.count == 0)
    }

    @Test func `Requests for pages have a limit together with all others, and a repeated one is no other`() {
        var waiters = Waiters()
        waiters.settle(1, route: client(1))
        waiters.view(1, route: client(1))
        #expect(waiters.outputs(after: place(1), route: client(1), limit: 3) == true)
        #expect(waiters.outputs(after: place(2), route: client(1), limit: 3) == false)
        #expect(waiters.views(after: 1, route: client(1), limit: 3) == false)
        #expect(waiters.views(after: 1, route: client(1), limit: 4) == true)
        #expect(waiters.views(after: 1, route: client(2), limit: 4) == false)
        for _ in 0..<2 {
            #expect(waiters.outputs(after: place(1), route: client(1), limit: 3) == true)
            #expect(waiters.views(after: 1, route: client(1), limit: 3) == true)
        }
        #expect(waiters.count == 4)
    }

    @Test func `A page is taken once, when there is something after its place`() {
        var waiters = Waiters()
        for turn in [3, 5] {
            _ = waiters.outputs(after: place(turn), route: client(1), limit: 9)
            _ = waiters.views(after: turn, route: client(2), limit: 9)
        }
        #expect(waiters.takeOutputs(before: place(3)).isEmpty && waiters.takeViewPages(before: 3).isEmpty)
        // What waits at the very place that there is now goes on waiting.
        #expect(waiters.takeOutputs(before: place(5)).map(\.after) == [place(3)])
        #expect(waiters.takeViewPages(before: 5).map(\.after) == [3])
        #expect(waiters.count == 2)
        #expect(waiters.takeOutputs(before: place(6)).map(\.route) == [client(1)])
        #expect(waiters.takeViewPages(before: 6).map(\.route) == [client(2)])
        #expect(waiters.count == 0)
    }

    @Test func `A connection that is gone takes its requests with it, and no others`() {
        var waiters = Waiters()
        for route in [client(1), client(2)] {
            waiters.settle(7, route: route)
            waiters.view(7, route: route)
            _ = waiters.outputs(after: place(7), route: route, limit: 99)
            _ = waiters.views(after: 7, route: route, limit: 99)
        }
        waiters.settle(8, route: client(1))
        #expect(waiters.count == 9)
        waiters.forget(client(1))
        #expect(waiters.count == 4 && waiters.settling == [7: [client(2)]])
        #expect(waiters.takeSettled(7) == [client(2)])
        #expect(waiters.takeViews(upTo: 7) == [client(2)])
        #expect(waiters.takeOutputs(before: place(8)).map(\.route) == [client(2)])
        #expect(waiters.takeViewPages(before: 8).map(\.route) == [client(2)])
        #expect(waiters.count == 0)
    }
}
