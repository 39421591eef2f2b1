import Foundation
import GRDB
import Journal
import JournalChain
import SamovarCore

extension BatchChain {
    /// Writes the batch that follows here, and returns the place behind it.
    func append(_ batch: Batch, to db: Database) throws -> BatchChain {
        let end = try behind(batch)
        try db.cachedStatement(sql: "INSERT INTO batches (first, last, data, digest) VALUES (?, ?, ?, ?)")
            .execute(arguments: [batch.first, batch.last, Data(batch.bytes), Data(end.digest)])
        return end
    }
}

extension SQLiteConnection {
    /// Where the batches that are kept begin.
    func anchor() throws(JournalError) -> BatchChain {
        guard let bytes = try fact(Facts.anchor) else { return BatchChain() }
        guard let anchor = BatchChain(bytes) else {
            throw JournalError(.damaged, "\(path) has lost the place where its trimmed batches ended.")
        }
        return anchor
    }

    /// Where the batches end.
    func end() throws(JournalError) -> BatchChain {
        try chain(where: "TRUE", [])
    }

    /// The place before the batch that holds `turn`.
    func chain(before turn: Int) throws(JournalError) -> BatchChain {
        try chain(where: "first < (SELECT max(first) FROM batches WHERE first <= ?)", [turn])
    }

    /// The place after the last batch that ends with `turn` or before.
    func place(behind turn: Int) throws(JournalError) -> BatchChain {
        try chain(where: "first <= ? AND last <= ?", [turn, turn])
    }

    /// The place after the last of some batches, or the beginning if there is none.
    private func chain(where condition: String, _ arguments: StatementArguments) throws(JournalError) -> BatchChain {
        let found = try perform("the batches cannot be read") { db -> BatchChain? in
            let sql = "SELECT last, digest FROM batches WHERE \(condition) ORDER BY first DESC LIMIT 1"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: arguments) else { return nil }
            return BatchChain(last: try row.integer(at: 0), digest: try row.bytes(at: 1))
        }
        if let found { return found }
        return try anchor()
    }

    /// The digest of the batch that ends with this turn, empty if none does; nil if that was trimmed.
    func digest(ofBatchEndingAt turn: Int) throws(JournalError) -> [UInt8]? {
        let anchor = try anchor()
        guard turn > anchor.last else { return turn == anchor.last ? anchor.digest : nil }
        return try perform("the batches cannot be read") { db in
            let sql = "SELECT last, digest FROM batches WHERE first <= ? ORDER BY first DESC LIMIT 1"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [turn]), try row.integer(at: 0) == turn else { return [] }
            return try row.bytes(at: 1)
        }
    }

    /// Looks at the numbers of the newest batches, and at where the first one begins, without reading what they hold.
    ///
    /// - Returns: a sentence that names the first hole.
    func hole(inNewest limit: Int) throws(JournalError) -> String? {
        var chain = try anchor()
        let newest = try numbers("DESC LIMIT ?", limit)
        if let oldest = newest.last, newest.count == limit {
            for begin in try numbers("LIMIT ?", 1) {
                if let problem = chain.problem(ofNext: begin) { return try sentence(problem, begin) }
            }
            chain.last = oldest.first - 1
        }
        for batch in newest.reversed() {
            if let problem = chain.problem(ofNext: batch) { return try sentence(problem, batch) }
            chain.last = batch.last
        }
        return nil
    }

    /// Some batches without what they hold.
    private func numbers(_ order: String, _ limit: Int) throws(JournalError) -> [Batch] {
        try perform("the batches cannot be read") { db in
            let rows = try Row.fetchAll(db, sql: "SELECT first, last FROM batches ORDER BY first \(order)", arguments: [limit])
            return try rows.map { Batch(first: try $0.integer(at: 0), last: try $0.integer(at: 1), bytes: []) }
        }
    }

    /// Names a batch by its number among those that are kept, and by its turns.
    func sentence(_ problem: String, _ batch: Batch) throws(JournalError) -> String {
        // Counting the batches reads the whole table, which only an error is worth.
        let number = try perform("the batches cannot be counted") { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM batches WHERE first <= ?", arguments: [batch.first])
        }
        return "\(path): batch \((number ?? 0).grouped) (\(batch.turns)): \(problem)."
    }
}
