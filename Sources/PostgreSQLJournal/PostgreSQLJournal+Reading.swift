public import Journal
package import JournalChain
import PostgreSQL
import Synchronization

extension PostgreSQLJournal {
    /// How many bytes of batches are read at once, unless a single one is larger. Appends wait for so much and no more.
    private static let pageSize = 512 << 10

    public func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try state.withLock { state throws(JournalError) in try state.requireOpen(place) }
        try requireKept(turn)
        let end = last
        guard turn <= end else { return }
        var chain = try chain(before: turn)
        while chain.last < end {
            let page = try page(behind: chain, upTo: end, size: Self.pageSize)
            // A page with a damaged batch is not handed over in part.
            for stored in page { try verify(stored, &chain) }
            for stored in page where stored.batch.last >= turn { try body(stored.batch) }
        }
    }

    package func chain(behind turn: Int?) throws(JournalError) -> BatchChain {
        try state.withLock { state throws(JournalError) in
            try state.requireOpen(place)
            return if let turn { try state.place(behind: turn) } else { state.anchor }
        }
    }

    package func examine(behind turn: Int?, _ body: (Batch) throws -> Void) throws -> JournalError? {
        do {
            var chain = try chain(behind: turn)
            let end = last
            while chain.last < end {
                for stored in try page(behind: chain, upTo: end, size: 1) {
                    try verify(stored, &chain)
                    try body(stored.batch)
                }
            }
            return nil
        } catch let error as JournalError where error.code == .damaged {
            return error
        }
    }

    private func verify(_ stored: StoredBatch, _ chain: inout BatchChain) throws(JournalError) {
        guard let problem = chain.advance(over: stored.batch, digest: stored.digest) else { return }
        throw JournalError(.damaged, "\(place): batch of \(stored.batch.turns): \(problem).")
    }

    /// The place before the batch that holds `turn`.
    private func chain(before turn: Int) throws(JournalError) -> BatchChain {
        try state.withLock { state throws(JournalError) in
            let batches = place.table("batches")
            let condition = "first < (SELECT max(first) FROM \(batches) WHERE partition = $1 AND first <= $2)"
            if let chain = try state.server.chain(where: condition, [.integer(turn)]) { return chain }
            let anchor = try state.look().anchor
            // Of one that has all of its turns, none is too early.
            guard anchor.last == 0 || turn > anchor.last else { throw place.trimmed(after: max(turn, 1) - 1) }
            return anchor
        }
    }

    /// The batches that follow there: at least one, unless something is wrong.
    private func page(behind chain: BatchChain, upTo end: Int, size limit: Int) throws(JournalError) -> [StoredBatch] {
        let page = try page(after: chain.last, upTo: end, size: limit)
        guard page.first?.batch.first != chain.last + 1 else { return page }
        // Whoever has the journal may have trimmed it meanwhile.
        let anchor = try state.withLock { state throws(JournalError) in try state.look().anchor }
        guard anchor.last <= chain.last else { throw place.trimmed(after: chain.last) }
        guard page.isEmpty else { return page }
        throw JournalError(.damaged, "\(place): the batches after turn \(chain.last.grouped) are missing.")
    }

    /// The batches that begin after `turn`, as they are stored. Others may have written more than this journal knows of.
    private func page(after turn: Int, upTo end: Int, size limit: Int) throws(JournalError) -> [StoredBatch] {
        // Sizes stand beside the bytes, so that no more of these are read than are wanted.
        let sql = """
            SELECT first, last, digest, data FROM (
                SELECT first, last, digest, data, sum(octet_length(data) + 64) OVER (ORDER BY first) - octet_length(data) - 64 AS before
                FROM \(place.table("batches")) WHERE partition = $1 AND first > $2 AND last <= $4 ORDER BY first LIMIT 1000) AS pages
            WHERE before < $3 ORDER BY first
            """
        let what = "The batches after turn \(turn.grouped) cannot be read."
        return try reading(what, sql, [.integer(turn), .integer(limit), .integer(end)]) { rows, row throws(PostgreSQLError) in
            StoredBatch(
                batch: Batch(first: try rows.integer(row, 0), last: try rows.integer(row, 1), bytes: try rows.bytes(row, 3)),
                digest: try rows.bytes(row, 2))
        }
    }
}

extension PostgreSQLPlace {
    /// The error of a reader who was overtaken.
    func trimmed(after turn: Int) -> JournalError {
        JournalError(.missing, "The turns after \(turn.grouped) of the journal at \(self) were trimmed.")
    }
}

extension PostgreSQLJournal.State {
    /// The place behind the last batch that ends with this turn or before.
    mutating func place(behind turn: Int) throws(JournalError) -> BatchChain {
        try server.chain(where: "first <= $2 AND last <= $2", [.integer(turn)]) ?? anchor
    }

    /// Whether the batches lead to this place. It may be trimmed by the time they are read: what it was is gone then.
    mutating func has(_ known: BatchChain) throws(JournalError) -> Bool {
        if try place(behind: known.last) == known { return true }
        let anchor = try server.partition().anchor
        guard anchor.last <= known.last else { throw server.place.trimmed(after: known.last) }
        return anchor == known
    }

    /// What the row says by now, and with it where the batches begin: another store may have trimmed them, and of a trim whose answer is
    /// lost it is unknown whether it has happened.
    mutating func look() throws(JournalError) -> JournalServer.Partition {
        let found = try server.partition()
        // Beyond the end that is known here there is nothing to read.
        if found.anchor.last <= row.end.last { anchor = found.anchor }
        return found
    }
}

extension JournalServer {
    /// The place after the last of some batches; nil if there is none.
    ///
    /// - Parameter condition: with parameters from `$2` on.
    mutating func chain(where condition: String, _ parameters: [PostgreSQLValue]) throws(JournalError) -> BatchChain? {
        let sql = """
            SELECT last, digest FROM \(place.table("batches")) WHERE partition = $1 AND \(condition) ORDER BY first DESC LIMIT 1
            """
        let what = "The batches of the journal at \(place) cannot be read."
        return try rows(what, sql, [.partition] + parameters) { rows, row throws(PostgreSQLError) in
            BatchChain(last: try rows.integer(row, 0), digest: try rows.bytes(row, 1))
        }.first
    }
}
