import GRDB
public import Journal
import JournalChain

extension SQLiteJournal {
    /// How many bytes of batches are read at once, unless a single one is larger. Appends wait for so much and no more.
    private static let pageSize = 512 << 10

    public func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireOpen()
        try requireKept(turn)
        let end = last
        guard turn <= end else { return }
        var chain = try connection.chain(before: turn)
        // A trim may overtake each of these steps: what it takes away is missing, and no damage.
        try requireKept(turn)
        while chain.last < end {
            let page = try connection.page(after: chain.last, size: Self.pageSize)
            if page.first?.batch.first != chain.last + 1 { try requireKept(chain.last + 1) }
            if page.isEmpty { throw missing(after: chain.last) }
            // A page with a damaged batch is not handed over in part.
            for stored in page { try verify(stored, &chain) }
            for stored in page where stored.batch.last >= turn { try body(stored.batch) }
        }
    }

    /// Hands over, in order, every batch up to the first that is damaged; works on a journal opened for examination, too.
    ///
    /// - Parameter turn: begins at the batch after the last one that ends with this turn or before; nil begins at the beginning.
    /// - Returns: what is wrong with the next one, in which case nothing after it can be believed; nil at a sound end.
    /// - Throws: what `body` throws; an error of the disk.
    public func examine(behind turn: Int? = nil, _ body: (Batch) throws -> Void) throws -> JournalError? {
        try requireOpen()
        var chain = anchor
        do {
            chain = try self.chain(behind: turn)
            while let stored = try connection.page(after: chain.last, size: 1).first {
                try verify(stored, &chain)
                try body(stored.batch)
            }
        } catch let error as JournalError where error.code == .damaged {
            return error
        }
        return chain.last < last ? missing(after: chain.last) : nil
    }

    private func verify(_ stored: StoredBatch, _ chain: inout BatchChain) throws(JournalError) {
        guard let problem = chain.advance(over: stored.batch, digest: stored.digest) else { return }
        throw JournalError(.damaged, try connection.sentence(problem, stored.batch))
    }

    private func missing(after turn: Int) -> JournalError {
        JournalError(.damaged, "\(connection.path): the batches after turn \(turn.grouped) are missing.")
    }
}

extension SQLiteConnection {
    /// The batches that begin after `turn`, as they are stored.
    func page(after turn: Int, size limit: Int) throws(JournalError) -> [StoredBatch] {
        try perform("the batches after turn \(turn.grouped) cannot be read") { db in
            let statement = try db.cachedStatement(
                sql: "SELECT first, last, data, digest FROM batches WHERE first > ? ORDER BY first")
            let rows = try Row.fetchCursor(statement, arguments: [turn])
            var batches: [StoredBatch] = []
            var size = 0
            while size < limit, let row = try rows.next() {
                let batch = Batch(first: try row.integer(at: 0), last: try row.integer(at: 1), bytes: try row.bytes(at: 2))
                // A row without bytes counts, too.
                size += batch.bytes.count + 64
                batches.append(StoredBatch(batch: batch, digest: try row.bytes(at: 3)))
            }
            return batches
        }
    }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try perform("the fact \(name) cannot be read") { db in try Facts.value(of: name, in: db) }
    }

    func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try perform("the fact \(name) cannot be written") { db in
            try db.inTransaction(.immediate) {
                try Facts.write(value, as: name, to: db)
                return .commit
            }
        }
    }
}
