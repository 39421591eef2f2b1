public import Journal
public import JournalChain
import PostgreSQL
package import SamovarCore
import Synchronization

/// A journal in a database of PostgreSQL, which one store at a time writes.
///
/// One row holds one batch, and one append is one statement: it compares and moves the end of the journal and the epoch of its writer, and
/// inserts the batch. So a store whose journal was taken over cannot write any more, whether it knows that or not. The batches form the same
/// chain of digests as in a file.
///
/// ```swift
/// let place = try PostgreSQLPlace("postgresql:///orders")
/// _ = try PostgreSQLJournal.create(at: place)
/// let journal = try PostgreSQLJournal(at: place)
/// ```
///
/// A journal may be opened by one thread and handed to another; calls from several threads at once are taken one after the other. While the
/// server is away, calls throw ``JournalError/Code/unavailable``: an append that is tried again finds out whether it has happened.
///
/// What a server confirms is durable as far as its settings say, see ``durability``. A commit that came with a warning, since a replica was
/// not waited for, is none until a later one has come without.
public final class PostgreSQLJournal: FencedJournal, Sendable {
    /// How a journal is opened.
    public typealias Access = JournalAccess

    struct State: ~Copyable {
        var server: JournalServer
        var row: FenceRow
        var hasBegun = false
        var unsettled: BatchChain?
        /// Where the batches that are kept begin.
        var anchor: BatchChain
        var isOpen = true
        /// The newest snapshot behind which trimming has been found safe.
        var verifiedSnapshot = -1
        /// The second witness of the end, in memory.
        var mark: MarkedEnd?
        /// The error after which nothing may be written any more.
        var failure: JournalError?
    }

    /// How many snapshots are kept: more than one, since a damaged one is only found when it is needed.
    static let snapshotLimit = 3

    public let place: PostgreSQLPlace
    public let access: Access
    public let durability: Durability
    package let identity: UniqueID
    /// With which the journal is taken. Drawn here and kept, so that one whose answer is lost can be recognised, however late it happens.
    let nonce = UniqueID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)).bytes
    /// What is wrong with a journal that is open for examination.
    public let findings: [JournalError]
    /// The last turn that its row told of when the journal was opened.
    public let witnessed: Int
    let state: Mutex<State>

    /// Opens the journal.
    ///
    /// - Throws: ``JournalError/Code/missing`` if there is none; ``JournalError/Code/denied`` if its role may not read it;
    ///   ``JournalError/Code/format``, ``JournalError/Code/damaged``, ``JournalError/Code/unavailable``,
    ///   ``JournalError/Code/inputOutput``.
    public init(at place: PostgreSQLPlace, access: Access = .readWrite) throws(JournalError) {
        var server = JournalServer(place)
        try server.requireFormat()
        var found = try server.partition()
        witnessed = found.row.end.last
        let problem = found.problem(at: place)
        if let problem {
            guard access == .examination else { throw problem }
            found.row.end = found.stored
        }
        findings = problem.map { [$0] } ?? []
        self.place = place
        self.access = access
        identity = found.identity
        durability = try server.durability()
        state = Mutex(State(server: server, row: found.row, anchor: found.anchor))
    }

    public var first: Int { state.withLock { $0.anchor.last } + 1 }
    public var last: Int { state.withLock { $0.row.end.last } }

    /// Of the process that has written last, and of this one from its first write on.
    public var epoch: Int { state.withLock { $0.row.epoch } }

    public func append(_ batch: Batch) throws(JournalError) {
        try writing { state throws(JournalError) in
            try state.append(batch)
            state.mark?.write(batch.last)
        }
    }

    public func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        let sql = "SELECT value FROM \(place.table("facts")) WHERE partition = $1 AND name = $2"
        return try reading("The fact \(name) cannot be read.", sql, [.text(name)]) { rows, row throws(PostgreSQLError) in
            try rows.bytes(row, 0)
        }.first
    }

    public func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try writing { state throws(JournalError) in
            // Nobody else takes the row before the statement ends.
            let sql = """
                WITH fence AS (
                    SELECT id FROM \(place.table("partitions")) WHERE id = $1 AND epoch = $2 AND nonce = $3 FOR NO KEY UPDATE)
                INSERT INTO \(place.table("facts")) (partition, name, value)
                SELECT id, $4, $5 FROM fence ON CONFLICT (partition, name) DO UPDATE SET value = excluded.value
                """
            let parameters = state.row.key + [.text(name), .bytes(value)]
            let answer = try state.server.change("The fact \(name) cannot be written.", sql, parameters)
            try state.requireDone(answer)
        }
    }

    /// Gives the journal up, for others to take.
    public func close() throws(JournalError) {
        state.withLock { state in
            state.isOpen = false
            state.server.disconnect()
        }
    }
}

// MARK: - Writing

extension PostgreSQLJournal {
    /// Takes the journal, unless that was done: who had it before cannot write any more.
    ///
    /// - Throws: ``JournalError/Code/busy`` if somebody has written or taken it since it was opened or refreshed.
    public func beginWriting(beyond number: Int) throws(JournalError) -> Int {
        try writing(beyond: number) { state throws(JournalError) in state.row.epoch }
    }

    /// Reads what others have written meanwhile, before the journal is taken.
    ///
    /// - Throws: ``JournalError/Code/damaged`` if what was read before is not there any more; ``JournalError/Code/missing`` if it was trimmed,
    ///   or another journal is in this place.
    public func refresh() throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            try state.requireOpen(place)
            guard !state.hasBegun else { throw JournalError(.misuse, "Nobody else writes a journal that was taken.") }
            let found = try state.server.partition()
            // Also with the same batches: after an import they are those of another timeline.
            guard found.identity == identity else {
                throw JournalError(.missing, "The journal at \(place) was replaced by another one meanwhile.")
            }
            if let problem = found.problem(at: place) { throw problem }
            let known = state.row.end
            if found.row.end != known {
                guard found.row.end.last >= known.last else {
                    throw JournalError(
                        .damaged,
                        """
                        The journal at \(place) has lost its end: it ends at turn \(found.row.end.last.grouped), \
                        and had turn \(known.last.grouped).
                        """)
                }
                guard known.last >= found.anchor.last else { throw place.trimmed(after: known.last) }
                guard known.last > found.anchor.last ? try state.has(known) : found.anchor == known else {
                    throw JournalError(.damaged, "The journal at \(place) has another turn \(known.last.grouped) than it had.")
                }
            }
            (state.row, state.anchor) = (found.row, found.anchor)
        }
    }

    /// Runs `body` if the journal may be written, and remembers an error after which it may not.
    func writing<Result>(
        beyond number: Int = 0, _ body: (inout State) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        try state.withLock { state throws(JournalError) in
            try state.requireOpen(place)
            guard access == .readWrite else { throw JournalError(.misuse, "\(place) was opened for reading only.") }
            if let failure = state.failure { throw failure }
            do throws(JournalError) {
                try state.begin(nonce, beyond: number)
                return try body(&state)
            } catch {
                if error.forbidsWriting { state.failure = error }
                throw error
            }
        }
    }

    /// What a statement gives that writes nothing, row by row.
    ///
    /// - Parameter parameters: from `$2` on; `$1` is the partition.
    func reading<Row: Sendable>(
        _ what: String, _ sql: String, _ parameters: [PostgreSQLValue] = [],
        _ body: (borrowing PostgreSQLRows, _ row: Int) throws(PostgreSQLError) -> Row
    ) throws(JournalError) -> [Row] {
        try state.withLock { state throws(JournalError) in
            try state.requireOpen(place)
            return try state.server.rows(what, sql, [.partition] + parameters, body)
        }
    }
}

extension PostgreSQLJournal.State {
    func requireOpen(_ place: PostgreSQLPlace) throws(JournalError) {
        guard isOpen else { throw JournalError(.misuse, "\(place) is closed.") }
    }
}

extension PostgreSQLJournal.State: FencedWriter {
    mutating func readRow() throws(JournalError) -> FenceRow { try look().row }

    mutating func take(_ known: FenceRow, as claim: FenceRow) throws(JournalError) -> FencedAnswer {
        let sql = """
            UPDATE \(server.place.table("partitions")) SET epoch = $6, nonce = $7, released = false, wanted = NULL
            WHERE id = $1 AND epoch = $2 AND nonce = $3 AND head = $4 AND digest = $5
            """
        let parameters = known.all + [.integer(claim.epoch), .uuid(claim.nonce)]
        return try server.change("The journal at \(server.place) cannot be taken.", sql, parameters)
    }

    mutating func insert(_ batch: Batch, from known: FenceRow, to next: BatchChain) throws(JournalError) -> FencedAnswer {
        let sql = """
            WITH fence AS (
                UPDATE \(server.place.table("partitions")) SET head = $6, digest = $7
                WHERE id = $1 AND epoch = $2 AND nonce = $3 AND head = $4 AND digest = $5 RETURNING id, epoch)
            INSERT INTO \(server.place.table("batches")) (partition, first, last, epoch, digest, data)
            SELECT id, $4 + 1, $6, epoch, $7, $8 FROM fence
            """
        let parameters = known.all + [.integer(next.last), .bytes(next.digest), .bytes(batch.bytes)]
        return try server.change("\(batch.turns) cannot be written.", sql, parameters, doubt: batch.doubt)
    }

    mutating func rewrite(_ known: FenceRow, confirming batch: Batch?) throws(JournalError) -> FencedAnswer {
        let sql = "UPDATE \(server.place.table("partitions")) SET head = head WHERE id = $1 AND epoch = $2 AND nonce = $3"
        let doubt = batch.map { "It is unknown whether the turns up to \($0.last.grouped) are durable." }
        return try server.change(doubt ?? "The journal at \(server.place) is not taken for certain.", sql, known.key)
    }

    func error(of problem: FenceProblem) -> JournalError {
        switch problem {
        case .isNotTaken: JournalError(.unavailable, "The journal at \(server.place) could not be taken.")
        case .hasChanged(let epoch, let last):
            JournalError(.busy, "The journal at \(server.place) has changed: its epoch is \(epoch), its end turn \(last.grouped).")
        case .isUnsettled(let batch):
            JournalError(.misuse, "It is unknown whether another batch of \(batch.turns) is durable: try that one again.")
        case .isFenced(let epoch): JournalError(.fenced, "Another store (epoch \(epoch)) has the journal at \(server.place).")
        case .hasLostEpoch(let epoch, let taken): lost("its epoch is \(epoch), and this store has taken it with \(taken)")
        case .hasLostEnd(let last): lost("it ends at turn \(last.grouped), and had confirmed turn \(row.end.last.grouped)")
        case .isForeign(let last):
            JournalError(
                .damaged, "The journal at \(server.place) ends at turn \(last.grouped), which this store has not written.")
        }
    }

    private func lost(_ what: String) -> JournalError {
        JournalError(.damaged, "The journal at \(server.place) has lost its end: \(what).")
    }
}
