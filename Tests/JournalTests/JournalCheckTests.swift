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
        while try check.advance(in: journal) == .more {
            steps += 1
            try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: []))
        }
        #expect(check.end == 10)
        #expect(steps == 5)
    }

    @Test func `What was trimmed meanwhile is not read`() throws {
        let journal = try Self.journal()
        var check = JournalCheck(of: journal)
        var progress = try check.advance(in: journal)
        #expect(progress == .more)
        try journal.save(Snapshot(turn: 8, bytes: []))
        while try journal.trim(through: 8) {}
        progress = try check.advance(in: journal)
        #expect(progress == .end)
    }

    /// A journal of ten turns whose next reading finds a trouble, and by that a later beginning.
    private final class Troubled: Journal {
        private(set) var first = 1
        let last = 10
        private var trouble: JournalError?
        private let later: Int

        init(_ trouble: JournalError, first later: Int = 1) {
            (self.trouble, self.later) = (trouble, later)
        }

        func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
            first = later
            if let error = trouble.take() { throw error }
            for turn in turn...last { try body(Batch(first: turn, last: turn, bytes: [])) }
        }

        private static let unused = JournalError(.misuse, "A check only reads batches.")

        func snapshots() throws(JournalError) -> [Int] { [] }
        func snapshot(at turn: Int) throws(JournalError) -> Snapshot { throw Self.unused }
        func fact(_ name: String) throws(JournalError) -> [UInt8]? { nil }
        func append(_ batch: Batch) throws(JournalError) { throw Self.unused }
        func save(_ snapshot: Snapshot) throws(JournalError) { throw Self.unused }
        func record(_ value: [UInt8], as name: String) throws(JournalError) { throw Self.unused }
        func trim(through turn: Int) throws(JournalError) -> Bool { throw Self.unused }
        func close() throws(JournalError) {}
    }

    private func steps(_ journal: Troubled) throws -> [JournalCheck.Progress] {
        var check = JournalCheck(of: journal)
        return [try check.advance(in: journal), try check.advance(in: journal)]
    }

    @Test func `A journal that is not reached for a moment is not damaged, and is read then`() throws {
        #expect(try steps(Troubled(JournalError(.unavailable, "The database is away."))) == [.away, .end])
    }

    @Test func `What turns out to be trimmed is not read`() throws {
        let trimmed = JournalError(.missing, "The turns after 0 were trimmed.")
        #expect(try steps(Troubled(trimmed, first: 5)) == [.more, .end])
        #expect(throws: trimmed) { try steps(Troubled(trimmed, first: 1)) }
    }

    @Test func `A new journal is checked at once`() throws {
        let journal = MemoryJournal()
        var check = JournalCheck(of: journal)
        let progress = try check.advance(in: journal)
        #expect(progress == .end && check.end == 0)
    }
}
