import CrashPoints
import Foundation
import GRDB
public import Journal
public import JournalChain
package import SamovarCore
import Synchronization

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
    public typealias Access = JournalAccess

    struct State {
        var anchor: BatchChain
        var end: BatchChain
        /// Keeps the folder locked while the journal is open.
        var folder: DataFolder?
        /// The witness of the end; nil before the journal is written.
        var head: HeadFile?
        /// The second one, in memory.
        var mark: MarkedEnd?
        /// About how many bytes the write-ahead log holds that are not yet in the database.
        var logged = 0
        /// The newest snapshot behind which trimming has been found safe.
        var verifiedSnapshot = -1
        /// The error after which nothing may be written any more.
        var failure: JournalError?
    }

    /// How many snapshots are kept: more than one, since a damaged one is only found when it is needed.
    static let snapshotLimit = 3
    /// The size of the write-ahead log at which an append does a checkpoint. Larger means longer waits, but fewer.
    static let logLimit = 16 << 20

    let connection: SQLiteConnection
    private let mended: MendedLog?
    private let missingIdentity: String?
    let access: Access
    package let identity: UniqueID
    let snapshotFolder: SnapshotFolder
    let state: Mutex<State>
    /// Held while a snapshot is written. Appends go on meanwhile.
    private let saving = Mutex(())
    /// What is wrong with a journal that is open for examination, by what can be told without reading it all.
    public let findings: [JournalError]
    /// The last turn that anything in the folder told of when the journal was opened: later than ``last`` if its end is lost.
    public let witnessed: Int
    /// Whether something beside the journal named its end when it was opened, so that nothing after it is lost.
    public let isWitnessed: Bool
    /// Whether timeline, secret and the other facts are what was written.
    public let hasSoundFacts: Bool
    /// As the database and its file system say, not as it was asked for.
    public let durability: Durability
    /// What a person should know about the journal as it was found, in sentences.
    public let warnings: [String]

    /// Opens the journal of a folder that is locked already; the journal keeps the lock until it is closed.
    ///
    /// A folder has one journal open at a time, and none while it is archived. When it throws, no file has changed but for its mode.
    ///
    /// - Throws: ``JournalError/Code/lost`` when there was a journal and it is gone or no database; ``JournalError/Code/damaged`` when it
    ///   has lost its end, or is not the one of this folder; ``JournalError/Code/format`` for a file of another format;
    ///   ``JournalError/Code/missing`` when a journal that is only to be read was never begun; ``JournalError/Code/full``,
    ///   ``JournalError/Code/inputOutput``.
    public init(in folder: DataFolder, access: Access = .readWrite) throws(JournalError) {
        let opening = try JournalOpening(folder, access)
        connection = opening.connection
        mended = opening.mended
        missingIdentity = opening.missingIdentity
        identity = opening.identity
        snapshotFolder = SnapshotFolder(of: opening.identity, in: folder.path)
        findings = opening.findings
        witnessed = opening.witnessed
        isWitnessed = opening.isWitnessed
        hasSoundFacts = opening.hasSoundFacts
        warnings = opening.warnings
        durability = try opening.connection.durability()
        self.access = access
        state = Mutex(State(anchor: try opening.anchor(), end: opening.end, folder: folder))
    }

    /// Opens the folder at `path`, waiting up to `wait` for its lock, and its journal.
    ///
    /// - Throws: As ``DataFolder/init(at:creating:wait:waiting:)`` and ``init(in:access:)``.
    public convenience init(
        at path: String, access: Access = .readWrite, wait: Duration = .seconds(5), waiting: (String) -> Void = { _ in }
    ) throws(JournalError) {
        let folder = try DataFolder(at: path, creating: access == .readWrite, wait: wait, waiting: waiting)
        try self.init(in: folder, access: access)
    }

    var anchor: BatchChain { state.withLock(\.anchor) }
    public var first: Int { anchor.last + 1 }
    public var last: Int { state.withLock(\.end.last) }

    public func append(_ batch: Batch) throws(JournalError) {
        try writing { state throws(JournalError) in
            let end = state.end
            state.end = try connection.perform("\(batch.turns) cannot be written") { db in try end.append(batch, to: db) }
            try state.head?.write(state.end, of: identity)
            state.mark?.write(batch.last)
            try checkpointIfLarge(&state, added: batch.bytes.count)
        }
    }

    /// Saves a snapshot from any thread, while another one appends.
    public func save(_ snapshot: Snapshot) throws(JournalError) {
        try writing { state throws(JournalError) in
            try snapshot.requireCovered(by: state.end.last)
            try state.folder?.requireInPlace()
        }
        do throws(JournalError) {
            try saving.withLock { _ throws(JournalError) in
                try snapshotFolder.save(snapshot)
                try snapshotFolder.removeAll(but: Self.snapshotLimit)
            }
        } catch {
            if error.forbidsWriting { state.withLock { fail(&$0, error) } }
            throw error
        }
    }

    public func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try writing { state throws(JournalError) in
            try connection.record(value, as: name)
            try checkpointIfLarge(&state, added: value.count)
        }
    }

    public func snapshots() throws(JournalError) -> [Int] {
        try requireOpen()
        return try snapshotFolder.turns()
    }

    public func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try requireOpen()
        return try snapshotFolder.read(turn)
    }

    public func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try requireOpen()
        return try connection.fact(name)
    }

    /// Every fact that was recorded, by name; not what the journal keeps for itself.
    public func facts() throws(JournalError) -> [(name: String, value: [UInt8])] {
        try requireOpen()
        let own = [DataFolder.identity, Facts.anchor]
        return try connection.perform("the facts cannot be read") { db in
            try Facts.all(in: db).filter { !own.contains($0.name) }
        }
    }

    /// Gives the file and the folder up. Moves what the write-ahead log still holds into the database.
    ///
    /// After an error that forbids writing it throws that error and leaves the files as they are.
    public func close() throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            guard state.folder != nil else { return }
            if let failure = state.failure { throw failure }
            // While there is no log, the witness has to name the end.
            try state.head?.synchronize()
            try connection.close()
            try mended?.remove()
            state.head = nil
            state.mark = nil
            state.folder = nil
        }
    }
}

extension SQLiteJournal {
    /// Nothing is written any more, however the connection ends.
    private func fail(_ state: inout State, _ error: JournalError) {
        state.failure = state.failure ?? error
        // The first error is the one that tells.
        try? connection.keepLog()
    }

    /// From here on the files of the journal are written. Nothing happens if they are already.
    ///
    /// - Throws: ``JournalError/Code/inputOutput``, ``JournalError/Code/full``.
    public func beginWriting() throws(JournalError) {
        try writing { _ throws(JournalError) in }
    }

    private func begin(_ state: inout State) throws(JournalError) {
        guard state.head == nil, let folder = state.folder else { return }
        folder.beginWriting()
        try connection.beginWriting()
        // How much of what the stores before have left is in the database nobody knows; one checkpoint too many does no harm.
        state.logged = connection.logBytes
        if let missingIdentity {
            // The database comes first: a crash in between leaves a journal without an identity file, which is harmless.
            try FileSystem.synchronizeFolder(folder.path)
            try FileSystem.replace(folder.file(DataFolder.identity), with: missingIdentity)
        }
        let head = try HeadFile(at: folder.file(DataFolder.head))
        try head.write(state.end, of: identity)
        try snapshotFolder.removeDrafts()
        state.head = head
    }

    /// Writes the end of the journal into memory, too, from now on: a witness that outlives the process.
    ///
    /// - Parameter page: what is mapped from the file `marker` of the folder; nil before it is gone.
    public func mark(in page: UnsafeMutableRawPointer?) {
        state.withLock { $0.mark = MarkedEnd(page, of: identity, at: $0.end.last) }
    }

    /// Copies the write-ahead log into the database, so that it can be written from its beginning again. For tests: a store
    /// has that done when the log is large.
    func checkpoint() throws(JournalError) {
        try writing { state throws(JournalError) in
            guard state.logged > 0 else { return }
            try checkpoint(&state)
        }
    }

    /// Counts what was written and does a checkpoint when that is due.
    func checkpointIfLarge(_ state: inout State, added bytes: Int) throws(JournalError) {
        // The log holds whole pages: those of the row, and those on the way to it in the tree.
        let pages = bytes / SQLiteConnection.pageSize + 3
        state.logged += pages * SQLiteConnection.pageSize
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
        // A log may be begun anew from here on, and while there is none, the witness has to name the end.
        try state.head?.synchronize()
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
    func writing<Result: Sendable>(_ body: (inout State) throws(JournalError) -> Result) throws(JournalError) -> Result {
        try state.withLock { state throws(JournalError) in
            try requireOpen(state)
            guard access == .readWrite else {
                throw JournalError(.misuse, "\(connection.path) was opened for reading only.")
            }
            if let failure = state.failure { throw failure }
            do throws(JournalError) {
                try begin(&state)
                return try body(&state)
            } catch {
                if error.forbidsWriting { fail(&state, error) }
                throw error
            }
        }
    }
}
