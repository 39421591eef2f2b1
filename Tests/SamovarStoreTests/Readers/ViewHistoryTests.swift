import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The views of every turn: for how long they are taken, how many are kept, and what a page has.
@Suite struct ViewHistoryTests {
    private func view(_ turn: Int, bytes: Int = 1) -> TurnView { TurnView(turn: turn, bytes: Array(repeating: 0, count: bytes)) }

    /// A feed with a reader since turn 1.
    private func feed(_ views: [TurnView] = [], limit: Int = 99, bytes: Int = 99) -> ViewHistory {
        var feed = ViewHistory()
        feed.join(client(1), head: 1, now: at(0))
        feed.append(views, limit: limit, bytes: bytes)
        return feed
    }

    @Test func `There is room up to the limit, and always for who reads already`() {
        var feed = feed()
        #expect(feed.hasRoom(for: client(2), limit: 2) && !feed.hasRoom(for: client(2), limit: 1))
        #expect(feed.hasRoom(for: client(1), limit: 1))
        feed.leave(client(1))
        #expect(feed.hasRoom(for: client(2), limit: 1))
    }

    @Test func `Views are taken until nobody has asked for the time that they linger`() {
        var feed = feed()
        feed.join(client(2), head: 5, now: at(5))
        #expect(feed.since == 1, "it goes on for the second reader")
        feed.ticked(now: at(9.9), linger: .seconds(10))
        #expect(!feed.hasRoom(for: client(3), limit: 2))
        feed.ticked(now: at(10), linger: .seconds(10))
        #expect(feed.hasRoom(for: client(3), limit: 2), "the first has not asked for so long")
        feed.leave(client(2))
        feed.ticked(now: at(14.9), linger: .seconds(10))
        #expect(feed.isOpen, "its connection may have broken")
        feed.ticked(now: at(15), linger: .seconds(10))
        #expect(!feed.isOpen && !feed.isComplete(after: 99))
    }

    @Test func `A reader that asked first keeps the feed open for as long as it is the last`() {
        var feed = feed([view(2)])
        feed.ticked(now: at(9.9), linger: .seconds(10))
        #expect(feed.isOpen && feed.newest == 2)
        feed.ticked(now: at(10), linger: .seconds(10))
        #expect(!feed.isOpen && feed.newest == 0, "and nothing is kept")
    }

    @Test func `So many views are kept, and of older ones it is known that they are missing`() {
        let turns = [2, 3, 5].map { view($0) }
        let full = feed(turns, limit: 3)
        #expect(full.since == 1 && full.isComplete(after: 1) && !full.isComplete(after: 0))
        #expect(full.views(after: 1, bytes: 99).map(\.turn) == [2, 3, 5])
        let fuller = feed(turns, limit: 2)
        #expect(fuller.since == 2 && fuller.isComplete(after: 2) && !fuller.isComplete(after: 1))
        #expect(fuller.views(after: 2, bytes: 99).map(\.turn) == [3, 5])
        #expect(feed(turns, limit: 1).views(after: 0, bytes: 99).map(\.turn) == [5])
    }

    @Test func `So many bytes are kept, but always the newest view`() {
        var feed = feed([view(2, bytes: 40), view(3, bytes: 60)], bytes: 100)
        #expect(feed.since == 1)
        feed.append([view(4, bytes: 40)], limit: 99, bytes: 100)
        #expect(feed.since == 2, "40 bytes have gone, and 40 have come")
        feed.append([view(5, bytes: 1)], limit: 99, bytes: 100)
        #expect(feed.since == 3)
        feed.append([view(6, bytes: 500)], limit: 99, bytes: 100)
        #expect(feed.views(after: 0, bytes: 99).map(\.turn) == [6] && feed.since == 5 && feed.newest == 6)
    }

    @Test func `A page has as many views as fit, and at least one`() {
        let feed = feed((2...9).map { view($0, bytes: 10) })
        #expect(feed.views(after: 1, bytes: 30).map(\.turn) == [2, 3, 4])
        #expect(feed.views(after: 4, bytes: 29).map(\.turn) == [5, 6])
        #expect(feed.views(after: 4, bytes: 1).map(\.turn) == [5])
        #expect(feed.views(after: 8, bytes: 99).map(\.turn) == [9])
        #expect(feed.views(after: 9, bytes: 99).isEmpty)
    }

    @Test func `Before the first view the newest is that of the turn at which the feed began`() {
        #expect(ViewHistory().newest == 0 && feed().newest == 1 && feed([view(7)]).newest == 7)
    }
}
