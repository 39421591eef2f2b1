@testable import Journal
import JournalChain
import Testing

@testable import PostgreSQLJournal

/// What becomes of an append whose answer was lost, by what the row says.
struct SettlementTests {
    private let known = FenceRow(epoch: 3, nonce: [1], end: BatchChain(last: 10, digest: [2]))
    private let next = BatchChain(last: 12, digest: [3])

    private func settlement(epoch: Int = 3, nonce: [UInt8] = [1], _ end: BatchChain) -> Settlement {
        Settlement(of: FenceRow(epoch: epoch, nonce: nonce, end: end), known: known, next: next)
    }

    @Test func `It has happened if the row has its end, and not if it has the one before`() {
        #expect(settlement(next) == .hasHappened)
        #expect(settlement(known.end) == .hasNotHappened)
    }

    @Test func `Another epoch or nonce is another store, whatever the end is`() {
        for end in [next, known.end, BatchChain(last: 99, digest: [9])] {
            #expect(settlement(epoch: 4, end) == .isFenced(epoch: 4))
            #expect(settlement(nonce: [7], end) == .isFenced(epoch: 3))
        }
    }

    @Test func `An earlier epoch is a server that has lost what it confirmed`() {
        for end in [next, known.end] { #expect(settlement(epoch: 2, end) == .isLost(last: end.last)) }
    }

    @Test func `An earlier end is a lost one, and any other is foreign`() {
        #expect(settlement(BatchChain(last: 9, digest: [8])) == .isLost(last: 9))
        #expect(settlement(BatchChain(last: 10, digest: [9])) == .isForeign(last: 10))
        #expect(settlement(BatchChain(last: 12, digest: [9])) == .isForeign(last: 12))
        #expect(settlement(BatchChain(last: 13, digest: [3])) == .isForeign(last: 13))
    }
}
