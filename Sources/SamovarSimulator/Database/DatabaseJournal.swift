import Journal

/// The journal in the database, as one process of a store has it.
final class DatabaseJournal: FencedJournal {
    private let database: Database
    private let store: Int
    /// The row as this process knows it: that of another one before ``hasBegun``.
    private var row: Database.Row
    /// Drawn once, so that a take whose answer is lost can be recognised, however late it happens.
    private let nonce: [UInt8]
    private var hasBegun = false
    private var isOpen = true
    /// The end behind a batch of which it is unknown whether it is durable.
    private var unsettled: Database.End?
    private var failure: JournalError?

    /// Opens the journal as it is now.
    convenience init(_ database: Database, store: Int, nonce: [UInt8]) throws(JournalError) {
        guard database.isReached(by: store) else { throw JournalError(.unavailable, "The simulated database is away.") }
        self.init(database, store: store, nonce: nonce, seen: database.contents.row)
    }

    /// Opens the journal as somebody has seen it.
    init(_ database: Database, store: Int, nonce: [UInt8], seen row: Database.Row) {
        self.database = database
        self.store = store
        self.nonce = nonce
        self.row = row
    }

    var epoch: Int { row.epoch }
    var first: Int { database.contents.trimmed + 1 }
    var last: Int { row.end.last }

    // MARK: Writing

    func beginWriting(beyond number: Int = 0) throws(JournalError) -> Int {
        try writing(beyond: number) { () throws(JournalError) in }
        return row.epoch
    }

    func refresh() throws(JournalError) {
        try requireOpen()
        guard !hasBegun else { throw JournalError(.misuse, "Nobody else writes a journal that was taken.") }
        row = try read()
    }

    func append(_ batch: Batch) throws(JournalError) {
        try writing { () throws(JournalError) in
            let next = try row.end.behind(batch)
            guard unsettled == nil || unsettled == next else {
                throw JournalError(.misuse, "It is unknown whether another batch is durable.")
            }
            try commit(batch, next)
            row.end = next
        }
    }

    func record(_ value: [UInt8], as name: String) throws(JournalError) { try change { $0.facts[name] = value } }

    func save(_ snapshot: Snapshot) throws(JournalError) {
        try writing { () throws(JournalError) in try snapshot.requireCovered(by: row.end.last) }
        try change { contents in
            contents.snapshots.removeAll { $0.turn == snapshot.turn }
            contents.snapshots.append(snapshot)
            contents.snapshots.sort { $0.turn < $1.turn }
            contents.snapshots = contents.snapshots.suffix(3)
        }
    }

    func trim(through turn: Int) throws(JournalError) -> Bool {
        try requireSnapshot(behind: turn)
        try change { contents in
            while let (batch, _) = contents.batches.first, batch.last <= turn {
                contents.trimmed = batch.last
                contents.batches.removeFirst()
            }
        }
        return false
    }

    func close() { isOpen = false }

    /// Gives the journal up, for others to take; the end is written already.
    func release() throws(JournalError) { try change { $0.owner = nil } }

    /// The process dies in an append: what becomes of it.
    func abandon(_ batch: Batch) {
        guard hasBegun, failure == nil, let next = try? row.end.behind(batch) else { return }  // Then it would not be sent either.
        let (known, store) = (row, store)
        _ = try? database.run(by: store) { $0.append(batch, from: known, to: next, by: store) }  // Nobody waits for it.
    }

    private func writing(beyond number: Int = 0, _ body: () throws(JournalError) -> Void) throws(JournalError) {
        try requireOpen()
        if let failure { throw failure }
        do throws(JournalError) {
            try begin(beyond: number)
            try body()
        } catch {
            if error.forbidsWriting { failure = error }
            throw error
        }
    }

    private func change(_ body: @escaping (inout Database.Contents) -> Void) throws(JournalError) {
        try writing { () throws(JournalError) in
            let known = row
            if try run("It cannot be written.", { $0.change(known, body) }) == 0 { throw try fenced() }
        }
    }

    private func begin(beyond number: Int) throws(JournalError) {
        guard !hasBegun else { return }
        let (known, nonce, store) = (row, nonce, store)
        let claim = Database.Row(epoch: max(row.epoch, number) + 1, nonce: nonce, end: row.end)
        // What becomes of it is read, and not guessed.
        let answer = try? database.run(by: store) { $0.take(known, as: claim, by: store) }
        let found = try read()
        guard found == claim else {
            guard found != row else { throw JournalError(.unavailable, "The journal could not be taken.") }
            throw JournalError(.busy, "The journal has changed: its epoch is \(found.epoch), its end turn \(found.end.last).")
        }
        // What can be read may be on no replica yet, and what others wrote before it, too. A later commit that is confirmed confirms it.
        let isConfirmed = answer?.changed == 1 && answer?.isWarning == false
        if !isConfirmed, try run("The take is not confirmed.", { $0.change(claim) { _ in } }) == 0 { throw try fenced() }
        row = claim
        hasBegun = true
    }

    /// Makes a batch durable, or says that it is unknown whether it is.
    private func commit(_ batch: Batch, _ next: Database.End) throws(JournalError) {
        let (known, store) = (row, store)
        let what = "It is unknown whether \(batch.turns) \(batch.first == batch.last ? "is" : "are") durable."
        unsettled = next
        guard try run(what, { $0.append(batch, from: known, to: next, by: store) }) == 0 else {
            unsettled = nil
            return
        }
        // It is another's, or ours of an earlier try.
        switch Settlement(of: try read(), known: row, next: next) {
        case .hasHappened:
            // A commit that comes later and is confirmed, confirms it.
            guard try run(what, { $0.change(known) { _ in } }) == 1 else { throw try fenced() }
            unsettled = nil
        case .hasNotHappened:
            unsettled = nil
            throw JournalError(.unavailable, what)
        case .isFenced(let epoch): throw JournalError(.fenced, "Another store (epoch \(epoch)) has the journal.")
        case .isLost(let last):
            throw JournalError(.damaged, "The journal ends at turn \(last), and had confirmed turn \(row.end.last).")
        case .isForeign(let last):
            throw JournalError(.damaged, "The journal ends at turn \(last), which this store has not written.")
        }
    }

    /// A server that has committed otherwise than it was to says so by a warning. Then it is unknown what is durable.
    private func run(_ what: String, _ statement: @escaping (Database) -> Int) throws(JournalError) -> Int {
        let answer: Database.Answer
        do throws(Database.Unanswered) { answer = try database.run(by: store, statement) } catch {
            throw JournalError(.unavailable, what)
        }
        if answer.isWarning { throw JournalError(.unavailable, what) }
        return answer.changed
    }

    private func fenced() throws(JournalError) -> JournalError {
        JournalError(.fenced, "Another store (epoch \(try read().epoch)) has the journal.")
    }

    // MARK: Reading

    private func read() throws(JournalError) -> Database.Row {
        guard database.isReached(by: store) else { throw JournalError(.unavailable, "The simulated database is away.") }
        return database.contents.row
    }

    private func requireOpen() throws(JournalError) {
        guard isOpen else { throw JournalError(.misuse, "The journal is closed.") }
    }

    /// The batches up to the end that this process knows of.
    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireOpen()
        try requireKept(turn)
        _ = try read()
        for (batch, _) in database.contents.batches where batch.last >= turn && batch.last <= row.end.last { try body(batch) }
    }

    func snapshots() throws(JournalError) -> [Int] {
        try requireOpen()
        _ = try read()
        return database.contents.snapshots.map(\.turn).filter { $0 <= row.end.last }.reversed()
    }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try requireOpen()
        _ = try read()
        guard let snapshot = database.contents.snapshots.first(where: { $0.turn == turn }) else {
            throw JournalError(.missing, "There is no snapshot of turn \(turn).")
        }
        return snapshot
    }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try requireOpen()
        _ = try read()
        return database.contents.facts[name]
    }
}
