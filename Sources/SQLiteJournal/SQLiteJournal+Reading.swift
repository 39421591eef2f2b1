import GRDB
public import Journal

extension SQLiteJournal {
    public func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireOpen()
        let end = last
        guard turn <= end else { return }
        var chain = try connection.chain(before: turn)
        while chain.last < end {
            // `body` runs outside of the connection: it may call the journal, and may take its time.
            for batch in try connection.page(after: &chain) where batch.last >= turn { try body(batch) }
        }
    }
}

/// A place between two batches: where the one before ends, and what the one after is chained to.
struct BatchChain {
    var last = 0
    var digest = Digest.origin
}

extension Connection {
    /// How many bytes of batches are in memory at once, unless a single one is larger.
    private static let pageSize = 1 << 20

    /// The last durable turn and the digest of its batch.
    func end() throws(JournalError) -> (last: Int, digest: [UInt8]) {
        let chain = try chain(where: "TRUE", [])
        let newest = try perform("the snapshots cannot be listed") { db in
            try Int.fetchOne(db, sql: "SELECT max(turn) FROM snapshots")
        }
        if let newest, newest > chain.last {
            throw JournalError(
                .damaged,
                "\(path) ends at turn \(chain.last.grouped), but has a snapshot of turn \(newest.grouped): the turns between are lost."
            )
        }
        return (chain.last, chain.digest)
    }

    /// The place before the batch that holds `turn`.
    func chain(before turn: Int) throws(JournalError) -> BatchChain {
        try chain(where: "first < (SELECT max(first) FROM batches WHERE first <= ?)", [turn])
    }

    /// The place after the last of some batches, or the beginning if there is none.
    private func chain(where condition: String, _ arguments: StatementArguments) throws(JournalError) -> BatchChain {
        try perform("the batches cannot be read") { db in
            let sql = "SELECT last, digest FROM batches WHERE \(condition) ORDER BY first DESC LIMIT 1"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: arguments) else { return BatchChain() }
            return BatchChain(last: try row.integer(at: 0), digest: try row.bytes(at: 1))
        }
    }

    /// Reads and verifies the batches that follow, and moves `chain` behind them.
    func page(after chain: inout BatchChain) throws(JournalError) -> [Batch] {
        try perform("the batches after turn \(chain.last.grouped) cannot be read") { db in
            let statement = try db.cachedStatement(
                sql: "SELECT first, last, data, digest FROM batches WHERE first > ? ORDER BY first")
            let rows = try Row.fetchCursor(statement, arguments: [chain.last])
            var batches: [Batch] = []
            var size = 0
            while size < Self.pageSize, let row = try rows.next() {
                let batch = Batch(first: try row.integer(at: 0), last: try row.integer(at: 1), bytes: try row.bytes(at: 2))
                if let problem = chain.advance(over: batch, digest: try row.bytes(at: 3)) {
                    // Counting the batches reads the whole table, which only an error is worth.
                    let number = try Int.fetchOne(
                        db, sql: "SELECT count(*) FROM batches WHERE first <= ?", arguments: [batch.first])
                    throw JournalError(
                        .damaged, "\(path): batch \((number ?? 0).grouped) (\(batch.turns)): \(problem).")
                }
                size += batch.bytes.count
                batches.append(batch)
            }
            if batches.isEmpty {
                throw JournalError(.damaged, "\(path): the batches after turn \(chain.last.grouped) are missing.")
            }
            return batches
        }
    }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try perform("the fact \(name) cannot be read") { db in
            try Row.fetchOne(db, sql: "SELECT value FROM facts WHERE name = ?", arguments: [name])?.bytes(at: 0)
        }
    }
}

extension BatchChain {
    /// Moves behind `batch` if it is the one that follows here; otherwise tells why it is not.
    fileprivate mutating func advance(over batch: Batch, digest: [UInt8]) -> String? {
        guard batch.last >= batch.first else { return "it ends before it begins" }
        guard batch.first - 1 == last else {
            if batch.first <= last { return "it overlaps the batch before it" }
            let hole = Batch(first: last + 1, last: batch.first - 1, bytes: [])
            return "a hole in the numbering before it, \(hole.turns) missing"
        }
        guard Digest.of(batch, after: self.digest) == digest else { return "digest differs" }
        last = batch.last
        self.digest = digest
        return nil
    }
}

/// Reading columns of a file that may be damaged: a value of the wrong type is an error, where GRDB's subscripts trap.
extension Row {
    func integer(at index: Int) throws -> Int {
        guard let value = Int.fromDatabaseValue(self[index] as DatabaseValue) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a number is expected")
        }
        return value
    }

    func bytes(at index: Int) throws -> [UInt8] {
        try withUnsafeData(atIndex: index) { data in
            guard let data else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "bytes are expected") }
            return [UInt8](data)
        }
    }
}
