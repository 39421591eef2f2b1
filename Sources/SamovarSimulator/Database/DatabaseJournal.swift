import Journal

/// What one process of a store knows of the journal in the database, and its statements.
struct DatabaseWriter: FencedWriter {
    let database: Database
    let store: Int
    var row: Database.Row
    var hasBegun = false
    var unsettled: Database.End?

    func readRow() throws(JournalError) -> Database.Row {
        guard database.isReached(by: store) else { throw JournalError(.unavailable, "The simulated database is away.") }
        return database.contents.row
    }

    func take(_ known: Database.Row, as claim: Database.Row) -> FencedAnswer {
        run("The take is not confirmed.") { [store] in $0.take(known, as: claim, by: store) }
    }

    func insert(_ batch: Batch, from known: Database.Row, to next: Database.End) -> FencedAnswer {
        run(batch.doubt) { [store] in $0.append(batch, from: known, to: next, by: store) }
    }

    func rewrite(_ known: Database.Row, confirming batch: Batch?) -> FencedAnswer {
        run(batch?.doubt ?? "The take is not confirmed.") { $0.change(known) { _ in } }
    }

    /// A server that has committed otherwise than it was to says so by a warning. Then it is unknown what is durable.
    func run(_ what: String, _ statement: @escaping (Database) -> Int) -> FencedAnswer {
        // The only error is that no answer has come.
        guard let answer = try? database.run(by: store, statement), !answer.isWarning else {
            return .lost(JournalError(.unavailable, what))
        }
        return answer.changed == 0 ? .refused : .done
    }

    func error(of problem: FenceProblem) -> JournalError {
        switch problem {
        case .isNotTaken: JournalError(.unavailable, "The journal could not be taken.")
        case .hasChanged(let epoch, let last):
            JournalError(.busy, "The journal has changed: its epoch is \(epoch), its end turn \(last).")
        case .isUnsettled: JournalError(.misuse, "It is unknown whether another batch is durable.")
        case .isFenced(let epoch): JournalError(.fenced, "Another store (epoch \(epoch)) has the journal.")
        case .hasLostEpoch(let epoch, let taken):
            JournalError(.damaged, "The journal has epoch \(epoch), and was taken with \(taken).")
        case .hasLostEnd(let last):
            JournalError(.damaged, "The journal ends at turn \(last), and had confirmed turn \(row.end.last).")
        case .isForeign(let last):
            JournalError(.damaged, "The journal ends at turn \(last), which this store has not written.")
        }
    }
}

/// The journal in the database, as one process of a store has it.
final class DatabaseJournal: FencedJournal {
    private let database: Database
    private var writer: DatabaseWriter
    private let nonce: [UInt8]
    private var isOpen = true
    private var failure: JournalError?

    /// Opens the journal as it is now.
    convenience init(_ database: Database, store: Int, nonce: [UInt8]) throws(JournalError) {
        guard database.isReached(by: store) else { throw JournalError(.unavailable, "The simulated database is away.") }
        self.init(database, store: store, nonce: nonce, seen: database.contents.row)
    }

    /// Opens the journal as somebody has seen it.
    init(_ database: Database, store: Int, nonce: [UInt8], seen row: Database.Row) {
        self.database = database
        self.nonce = nonce
        writer = DatabaseWriter(database: database, store: store, row: row)
    }

    var epoch: Int { writer.row.epoch }
    var first: Int { database.contents.trimmed + 1 }
    var last: Int { writer.row.end.last }

    // MARK: Writing

    func beginWriting(beyond number: Int = 0) throws(JournalError) -> Int {
        try writing(beyond: number) { () throws(JournalError) in }
        return epoch
    }

    func refresh() throws(JournalError) {
        try requireOpen()
        guard !writer.hasBegun else { throw JournalError(.misuse, "Nobody else writes a journal that was taken.") }
        writer.row = try writer.readRow()
    }

    func append(_ batch: Batch) throws(JournalError) {
        try writing { () throws(JournalError) in try writer.append(batch) }
    }

    func record(_ value: [UInt8], as name: String) throws(JournalError) { try change { $0.facts[name] = value } }

    func save(_ snapshot: Snapshot) throws(JournalError) {
        try writing { () throws(JournalError) in try snapshot.requireCovered(by: last) }
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
        // Otherwise it would not be sent either.
        guard writer.hasBegun, failure == nil, let next = try? writer.row.end.behind(batch) else { return }
        _ = writer.insert(batch, from: writer.row, to: next)  // Nobody waits for it.
    }

    private func writing(beyond number: Int = 0, _ body: () throws(JournalError) -> Void) throws(JournalError) {
        try requireOpen()
        if let failure { throw failure }
        do throws(JournalError) {
            try writer.begin(nonce, beyond: number)
            try body()
        } catch {
            if error.forbidsWriting { failure = error }
            throw error
        }
    }

    private func change(_ body: @escaping (inout Database.Contents) -> Void) throws(JournalError) {
        try writing { () throws(JournalError) in
            let answer = writer.run("It cannot be written.") { [known = writer.row] in $0.change(known, body) }
            try writer.requireDone(answer)
        }
    }

    // MARK: Reading

    private func requireOpen() throws(JournalError) {
        guard isOpen else { throw JournalError(.misuse, "The journal is closed.") }
    }

    /// The batches up to the end that this process knows of.
    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireOpen()
        try requireKept(turn)
        _ = try writer.readRow()
        for (batch, _) in database.contents.batches where batch.last >= turn && batch.last <= last { try body(batch) }
    }

    func snapshots() throws(JournalError) -> [Int] {
        try requireOpen()
        _ = try writer.readRow()
        return database.contents.snapshots.map(\.turn).filter { $0 <= last }.reversed()
    }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try requireOpen()
        _ = try writer.readRow()
        guard let snapshot = database.contents.snapshots.first(where: { $0.turn == turn }) else {
            throw JournalError(.missing, "There is no snapshot of turn \(turn).")
        }
        return snapshot
    }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try requireOpen()
        _ = try writer.readRow()
        return database.contents.facts[name]
    }
}
