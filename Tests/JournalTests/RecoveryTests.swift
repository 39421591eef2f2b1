import Journal
import Testing

/// From which snapshot a reader goes on, and when from none.
@Suite struct RecoveryTests {
    /// Ends at turn 9, with a snapshot of it that cannot be read.
    private final class Weak: Journal {
        let first: Int
        let last = 9
        let trouble: JournalError
        private(set) var reads = 0
        private(set) var notes = 0

        init(_ trouble: JournalError, first: Int) {
            (self.trouble, self.first) = (trouble, first)
        }

        func read(from turn: Int, _ body: (Batch) throws -> Void) throws { reads += 1 }
        func snapshots() throws(JournalError) -> [Int] { [9] }
        func snapshot(at turn: Int) throws(JournalError) -> Snapshot { throw trouble }
        func fact(_ name: String) throws(JournalError) -> [UInt8]? { nil }

        func append(_ batch: Batch) throws(JournalError) { throw trouble }
        func save(_ snapshot: Snapshot) throws(JournalError) { throw trouble }
        func record(_ value: [UInt8], as name: String) throws(JournalError) { throw trouble }
        func trim(through turn: Int) throws(JournalError) -> Bool { throw trouble }
        func close() throws(JournalError) {}

        func begin() throws {
            _ = try recover {
                0
            } restore: { (_: inout Int, _: Snapshot) in
            } replay: { (_: inout Int, _: Batch) in
            } note: { _ in
                notes += 1
            }
        }
    }

    @Test(arguments: [1, 5]) func `A journal that is not reached is waited for, and no other beginning is tried`(_ first: Int) {
        let away = JournalError(.unavailable, "The database is away.")
        let journal = Weak(away, first: first)
        #expect(throws: away) { try journal.begin() }
        #expect(journal.reads == 0)
    }

    @Test func `In place of a snapshot that is damaged the whole journal is read, and that is told`() throws {
        let journal = Weak(JournalError(.damaged, "It is not what was saved."), first: 1)
        try journal.begin()
        #expect(journal.reads == 1 && journal.notes == 1)
    }

    @Test func `Without a snapshot a journal that was trimmed has no beginning`() {
        let journal = Weak(JournalError(.damaged, "It is not what was saved."), first: 5)
        #expect(throws: MissingBeginning()) { try journal.begin() }
        #expect(journal.reads == 0)
    }
}
