import Journal
import Testing

/// Reading what a start from a snapshot has not read, a piece at a time.
@Suite struct JournalCheckTests {
    /// Ten batches, of which two are a piece.
    private static func journal() throws -> MemoryJournal {
        let journal = MemoryJournal()
        for turn in 1...10 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8](repeating: 7, count: 300 << 10))) }
        return journal
    }

    @Test func `It ends where the journal ended when it began, however that has grown meanwhile`() throws {
        let journal = try Self.journal()
        var check = JournalCheck(of: journal)
        var steps = 1
        while try check.advance(in: journal) {
            steps += 1
            try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: []))
        }
        #expect(check.end == 10)
        #expect(steps == 5)
    }

    @Test func `What was trimmed meanwhile is not read`() throws {
        let journal = try Self.journal()
        var check = JournalCheck(of: journal)
        var hasMore = try check.advance(in: journal)
        #expect(hasMore)
        try journal.save(Snapshot(turn: 8, bytes: []))
        while try journal.trim(through: 8) {}
        hasMore = try check.advance(in: journal)
        #expect(!hasMore)
    }

    @Test func `A new journal is checked at once`() throws {
        let journal = MemoryJournal()
        var check = JournalCheck(of: journal)
        let hasMore = try check.advance(in: journal)
        #expect(!hasMore && check.end == 0)
    }
}
