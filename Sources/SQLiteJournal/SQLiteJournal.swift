import CrashPoints
import GRDB
public import Journal
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A journal in an SQLite file, the default of a store.
///
/// One row holds one batch, and one append is one `INSERT` and one `fsync` of the write-ahead log. The digests of the
/// batches form a chain, so damage is found and named when the batches are read.
///
/// ```swift
/// let journal = try SQLiteJournal(at: ".samovar/orders")
/// try journal.read(from: 1) { batch in … }
/// try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: record))
/// ```
///
/// A journal may be opened by one thread and handed to another. Calls from several threads at once are taken one after
/// the other. Values of up to 1 GB are stored.
public final class SQLiteJournal: Journal, Sendable {
    /// How a journal is opened.
    public enum Access: Sendable {
        /// Creates the journal if it is not there.
        case readWrite
        /// Never writes; the journal must be there. For commands that look at a journal while no store runs.
        case readOnly
    }

    struct State {
        var last: Int
        /// The digest of the last batch.
        var digest: [UInt8]
        /// Keeps the folder locked while the journal is open.
        var folder: DataFolder?
        /// About how many bytes the write-ahead log holds that are not yet in the database.
        var logged = 0
        /// The error after which nothing may be written any more.
        var failure: JournalError?
    }

    /// How many snapshots are kept: more than one, since a damaged one is only found when it is needed.
    static let snapshotLimit = 3
    /// The size of the write-ahead log at which an append does a checkpoint. Larger means longer waits, but fewer.
    static let logLimit = 16 << 20

    let connection: Connection
    let access: Access
    let state: Mutex<State>

    /// Opens the journal of a folder that is locked already; the journal keeps the lock until it is closed.
    ///
    /// A folder has one journal open at a time, and none while it is archived.
    ///
    /// - Throws: ``JournalError/Code/damaged`` when there was a journal and it is gone or not the one of this folder;
    ///   ``JournalError/Code/format`` for a file of another format; ``JournalError/Code/missing`` when a journal that is
    ///   only to be read was never begun; ``JournalError/Code/full``, ``JournalError/Code/inputOutput``.
    public init(in folder: DataFolder, access: Access = .readWrite) throws(JournalError) {
        try folder.requireOpen()
        let connection = try Connection.opening(in: folder, access: access)
        let (last, digest) = try connection.end()
        self.connection = connection
        self.access = access
        self.state = Mutex(State(last: last, digest: digest, folder: folder))
    }

    /// Opens the folder at `path`, waiting up to `wait` for its lock, and its journal.
    ///
    /// - Throws: As ``DataFolder/init(at:creating:wait:)`` and ``init(in:access:)``.
    public convenience init(
        at path: String, access: Access = .readWrite, wait: Duration = .seconds(5)
    ) throws(JournalError) {
        let folder = try DataFolder(at: path, creating: access == .readWrite, wait: wait)
        try self.init(in: folder, access: access)
    }

    public var last: Int { state.withLock(\.last) }

    public func append(_ batch: Batch) throws(JournalError) {
        try writing { state throws(JournalError) in
            try batch.requireFollowing(state.last)
            let digest = Digest.of(batch, after: state.digest)
            try connection.perform("\(batch.turns) cannot be written") { db in
                try db.cachedStatement(sql: "INSERT INTO batches (first, last, data, digest) VALUES (?, ?, ?, ?)")
                    .execute(arguments: [batch.first, batch.last, Data(batch.bytes), Data(digest)])
            }
            state.last = batch.last
            state.digest = digest
            try checkpointIfLarge(&state, added: batch.bytes.count)
        }
    }

    public func save(_ snapshot: Snapshot) throws(JournalError) {
        try writing { state throws(JournalError) in
            try snapshot.requireCovered(by: state.last)
            let digest = Digest.of(snapshot)
            try connection.perform("the snapshot of turn \(snapshot.turn.grouped) cannot be written") { db in
                try db.inTransaction(.immediate) {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO snapshots (turn, data, digest) VALUES (?, ?, ?)",
                        arguments: [snapshot.turn, Data(snapshot.bytes), Data(digest)])
                    CrashPoint.pass(.storeDuringSnapshot)
                    try db.execute(
                        sql: """
                            DELETE FROM snapshots
                            WHERE turn NOT IN (SELECT turn FROM snapshots ORDER BY turn DESC LIMIT ?)
                            """,
                        arguments: [Self.snapshotLimit])
                    return .commit
                }
            }
            try checkpointIfLarge(&state, added: snapshot.bytes.count)
        }
    }

    public func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try writing { state throws(JournalError) in
            try connection.perform("the fact \(name) cannot be written") { db in
                try db.execute(
                    sql: "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", arguments: [name, Data(value)])
            }
            try checkpointIfLarge(&state, added: value.count)
        }
    }

    public func snapshots() throws(JournalError) -> [Int] {
        try requireOpen()
        return try connection.perform("the snapshots cannot be listed") { db in
            try Int.fetchAll(db, sql: "SELECT turn FROM snapshots ORDER BY turn DESC")
        }
    }

    public func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try requireOpen()
        let name = "the snapshot of turn \(turn.grouped)"
        let found = try connection.perform("\(name) cannot be read") { db in
            try Row.fetchOne(db, sql: "SELECT data, digest FROM snapshots WHERE turn = ?", arguments: [turn])
                .map { row in (try row.bytes(at: 0), try row.bytes(at: 1)) }
        }
        guard let (bytes, digest) = found else {
            throw JournalError(.missing, "\(connection.path): there is no snapshot of turn \(turn.grouped).")
        }
        let snapshot = Snapshot(turn: turn, bytes: bytes)
        guard Digest.of(snapshot) == digest else {
            throw JournalError(.damaged, "\(connection.path): \(name) is damaged: digest differs.")
        }
        return snapshot
    }

    public func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try requireOpen()
        return try connection.fact(name)
    }

    /// Gives the file and the folder up. Moves what the write-ahead log still holds into the database.
    ///
    /// After an error that forbids writing it throws that error and leaves the rest to the end of the process: closing
    /// would write.
    public func close() throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            guard state.folder != nil else { return }
            if let failure = state.failure { throw failure }
            try connection.close()
            state.folder = nil
        }
    }
}

extension SQLiteJournal {
    /// Copies the write-ahead log into the database, so that it can be written from its beginning again. Call it when
    /// the store is idle; it costs nothing when nothing was written since the last time.
    ///
    /// - Throws: ``JournalError/Code/full`` when the database cannot grow; what was appended stays durable.
    public func checkpoint() throws(JournalError) {
        try writing { state throws(JournalError) in
            guard state.logged > 0 else { return }
            try checkpoint(&state)
        }
    }

    /// Counts what was written and does a checkpoint when that is due.
    private func checkpointIfLarge(_ state: inout State, added bytes: Int) throws(JournalError) {
        // The log holds whole pages: those of the row, and those on the way to it in the tree.
        let pages = bytes / 8192 + 3
        state.logged += pages * 8192
        guard state.logged >= Self.logLimit else { return }
        do {
            try checkpoint(&state)
        } catch  where error.code == .full {
            // What was written is durable all the same, and the log can be copied later.
            state.logged = 0
        }
    }

    private func checkpoint(_ state: inout State) throws(JournalError) {
        // Passive: truncating the log would add the cost of growing it again to the commits that follow.
        CrashPoint.passSoon(.storeDuringCheckpoint)
        try connection.perform("the write-ahead log cannot be copied") { db in _ = try db.checkpoint(.passive) }
        CrashPoint.pass(.storeAfterCheckpoint)
        state.logged = 0
    }

    func requireOpen() throws(JournalError) {
        try state.withLock { state throws(JournalError) in try requireOpen(state) }
    }

    private func requireOpen(_ state: borrowing State) throws(JournalError) {
        guard state.folder != nil else { throw JournalError(.misuse, "\(connection.path) is closed.") }
    }

    /// Runs `body` if the journal may be written, and remembers an error after which it may not.
    private func writing(_ body: (inout State) throws(JournalError) -> Void) throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            try requireOpen(state)
            guard access == .readWrite else {
                throw JournalError(.misuse, "\(connection.path) was opened for reading only.")
            }
            if let failure = state.failure { throw failure }
            do throws(JournalError) {
                try body(&state)
            } catch {
                if error.forbidsWriting { state.failure = error }
                throw error
            }
        }
    }
}
