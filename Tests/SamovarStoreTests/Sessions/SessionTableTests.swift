import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What is kept of each session.
@Suite struct SessionTableTests {
    private let id = session(1)

    private func book(_ sequences: ClosedRange<Int>, window: Int = 3) -> SessionTable {
        var book = SessionTable(window: window)
        for sequence in sequences { book.answer(id, applied(sequence, 100 + sequence), by: nil) }
        return book
    }

    @Test func `Outcomes are kept for a window`() {
        #expect(book(1...3).outcome(of: 1, in: id) == applied(1, 101))
        let book = book(1...4)
        #expect(book.last(of: id) == 4 && book.last(of: session(2)) == 0)
        #expect(book.outcome(of: 1, in: id) == nil && book.outcome(of: 0, in: id) == nil)
        #expect(book.outcome(of: 2, in: id) == applied(2, 102) && book.outcome(of: 4, in: id) == applied(4, 104))
        #expect(book.outcome(of: 5, in: id) == nil && book.outcome(of: 4, in: session(2)) == nil)
    }

    @Test func `What the client has confirmed is not kept`() {
        var book = book(1...3)
        book.confirm(2, in: id)
        #expect(book.outcome(of: 2, in: id) == nil && book.outcome(of: 3, in: id) == applied(3, 103))
        book.confirm(3, in: id)
        #expect(book.outcome(of: 3, in: id) == nil && book.last(of: id) == 3)
        book.answer(id, applied(4, 104), by: nil)
        #expect(book.outcome(of: 4, in: id) == applied(4, 104))
    }

    @Test func `A goodbye counts as one more input, and the last input's number says nothing`() {
        var book = book(1...3)
        book.close(id, sequence: 3, at: 9)
        #expect(book.sessions.isEmpty && book.end(of: id, witness: 9) == nil)
        book.answer(id, applied(1, 10), by: nil)
        #expect(book.end(of: id, witness: 9) == nil, "it is there")
        book.close(id, sequence: 2, at: 11)
        #expect(book.end(of: id, witness: 0) == .closed)
    }

    @Test func `Who may be one of the forgotten that have expired is not welcomed as new`() {
        var book = book(1...1)
        book.expire(id, at: 9)
        #expect(book.end(of: id, witness: 0) == .expired && book.end(of: session(2), witness: 9) == nil)
        var ended = EndedSessions()
        for number in 0...EndedSessions.limit { ended.append(UniqueID(high: 7, low: UInt64(number)), at: 50) }
        #expect(ended.forgottenTurn == 50 && ended.newest.count == EndedSessions.limit)
        book.restore(expired: ended, closed: book.closed)
        #expect(book.end(of: session(3), witness: 49) == .expired && book.end(of: session(3), witness: 1) == .expired)
        #expect(book.end(of: session(3), witness: 50) == nil && book.end(of: session(3), witness: 0) == nil)
        book.answer(session(3), applied(1, 60), by: nil)
        #expect(book.end(of: session(3), witness: 49) == nil, "it goes on, so it is none of them")
    }

    @Test func `A session that ends twice is remembered once, with its first turn`() {
        var ended = EndedSessions()
        #expect(ended.forgottenTurn == 0)
        ended.append(session(1), at: 5)
        ended.append(session(1), at: 6)
        #expect(ended.newest.map(\.turn) == [5] && ended.ids == [session(1)])
    }
}
