import CSQLite
import Foundation
import GRDB
import GRDBSQLite
import Journal
import SamovarCore
import Synchronization

/// The one connection to the file of a journal.
///
/// It must stay the only one: SQLite before 3.51.3 can corrupt a write-ahead log that two connections reset at once.
///
/// Opening changes no file but for its mode: SQLite reads the write-ahead log where it is, and leaves it there when the connection ends. Only
/// ``beginWriting()`` lets it copy the log into the database, and remove it at the end.
struct SQLiteConnection: Sendable {
    /// What errors call the database.
    let path: String
    private let handle: Handle

    private var queue: DatabaseQueue { handle.queue }

    /// What to do with a file that has nothing in it.
    enum EmptyFile {
        /// Lay it out as a new journal.
        case begin(identity: UniqueID)
        case refuse(JournalError)
    }

    enum Mode {
        /// Each transaction is on disk when it ends; none may be begun before ``beginWriting()``.
        case durable
        case readOnly
        /// Nothing is on disk before the file is made durable as a whole: for a copy that nobody sees before.
        case draft
    }

    /// Pages of this size hold a new journal; see docs/decisions.md for what was measured.
    static let pageSize = 8_192
    /// How many KiB of pages SQLite keeps in memory. A journal is written at its end and read from one end to the other, so of what was
    /// written or read only the way to the newest row is needed again. By itself SQLite keeps 2 MB, which a store never uses.
    static let cacheKibibytes = 512

    /// Opens a file and checks that it is a journal.
    ///
    /// - Parameter file: where it is, if errors shall call it by another name.
    init(path: String, file: String? = nil, mode: Mode, emptyFile: EmptyFile) throws(JournalError) {
        // SQLite looks for the log beside what a link leads to.
        let file = FileSystem.resolved(file ?? path)
        let log = file + Self.logSuffix
        // SQLite gives its log the mode of the file.
        if mode != .readOnly { for path in [file, log] { FileSystem.keepPrivate(path, creating: path == file) } }
        let hasLog = FileSystem.exists(log)
        var configuration = Configuration()
        configuration.label = "SQLiteJournal"
        configuration.prepareDatabase { db in
            Self.keepLog(true, db)
            // The locking mode comes before the first access: then the index of the log lives in this process's memory
            // and no shared-memory file is made. `mmap_size=0`, since an I/O error in a mapping is a signal.
            try db.execute(
                sql: """
                    PRAGMA page_size = \(Self.pageSize);
                    PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA mmap_size = 0;
                    PRAGMA cache_size = -\(Self.cacheKibibytes);
                    PRAGMA cell_size_check = ON;
                    PRAGMA trusted_schema = OFF;
                    PRAGMA temp_store = MEMORY;
                    """)
            let isEmpty = try Schema.check(db, at: path)
            if isEmpty, case .refuse(let error) = emptyFile { throw error }
            try Self.set(mode, db, path)
            if isEmpty, case .begin(let identity) = emptyFile {
                if mode == .durable { try Self.beginWriting(db, path) }
                try Schema.create(db, identity: identity, isDraft: mode == .draft)
            }
        }
        do {
            let queue = try DatabaseQueue(path: file, configuration: configuration)
            handle = Handle(queue, ownLog: hasLog ? nil : OwnLog(at: log))
        } catch {
            if !hasLog { OwnLog(at: log)?.removeIfEmpty() }
            throw JournalError(error, "\(path) cannot be opened")
        }
        self.path = path
    }

    static let logSuffix = "-wal"

    /// The size of the log. It does not shrink when it is copied into the database.
    var logBytes: Int { FileSystem.size(of: FileSystem.resolved(path) + Self.logSuffix) ?? 0 }

    private static func set(_ mode: Mode, _ db: Database, _ path: String) throws {
        switch mode {
        case .durable:
            // `fullfsync` is what macOS needs to write through; elsewhere it does nothing.
            try db.execute(
                sql: """
                    PRAGMA query_only = ON;
                    PRAGMA synchronous = FULL;
                    PRAGMA fullfsync = ON;
                    PRAGMA checkpoint_fullfsync = ON;
                    PRAGMA wal_autocheckpoint = 0;
                    """)
        case .readOnly: try db.execute(sql: "PRAGMA query_only = ON")
        case .draft: try db.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        }
    }

    /// From here on the files are written.
    func beginWriting() throws(JournalError) {
        try perform("writing cannot begin") { db in try Self.beginWriting(db, path) }
    }

    private static func beginWriting(_ db: Database, _ path: String) throws {
        try db.execute(sql: "PRAGMA query_only = OFF")
        guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw JournalError(.inputOutput, "\(path) cannot have a write-ahead log on this file system.")
        }
        keepLog(false, db)
    }

    /// The log stays as it is when the connection ends.
    func keepLog() throws(JournalError) {
        try perform("the log cannot be kept") { db in Self.keepLog(true, db) }
    }

    private static func keepLog(_ isKept: Bool, _ db: Database) {
        _ = samovar_sqlite_keep_log_on_close(db.sqliteConnection, isKept ? 1 : 0)
    }

    /// The log that SQLite made where there was none: it leaves an empty one if it may not remove a log.
    private struct OwnLog: Sendable {
        let path: String
        /// By the end the folder may have been moved, and the path lead to the log of another journal.
        private let file: FileSystem.Identity

        /// - Returns: nil if there is none.
        init?(at path: String) {
            guard let file = FileSystem.identity(of: path) else { return nil }
            (self.path, self.file) = (path, file)
        }

        func removeIfEmpty() {
            // If it cannot be removed, it stays: an empty log says as much as none.
            if FileSystem.size(of: path) == 0, FileSystem.identity(of: path) == file { unlink(path) }
        }
    }

    /// The end of the connection, however it is let go.
    private final class Handle: Sendable {
        let queue: DatabaseQueue
        /// Nil once the connection has ended, because then the log is another's.
        private let ownLog: Mutex<OwnLog?>

        init(_ queue: DatabaseQueue, ownLog: OwnLog?) {
            self.queue = queue
            self.ownLog = Mutex(ownLog)
        }

        func close() throws {
            try queue.close()
            ownLog.withLock { $0.take() }?.removeIfEmpty()
        }

        deinit {
            // Who wants to know of an error calls `close()` before.
            try? close()
        }
    }

    /// Runs `work` on the connection. Statements outside of a transaction are one each.
    ///
    /// - Parameter failure: The beginning of the sentence that tells what did not happen.
    func perform<Result>(
        _ failure: @autoclosure () -> String, _ work: (Database) throws -> Result
    ) throws(JournalError) -> Result {
        do {
            return try queue.writeWithoutTransaction { db in
                do {
                    return try work(db)
                } catch {
                    let error = Self.withQuota(error, systemError: sqlite3_system_errno(db.sqliteConnection))
                    // SQLite rolls back by itself after most errors, but a full disk may leave the transaction open.
                    if db.isInsideTransaction { try db.rollback() }
                    throw error
                }
            }
        } catch {
            throw JournalError(error, "\(path): \(failure())")
        }
    }

    /// SQLite calls a disk full only if the system says ENOSPC. A quota that is used up is the same to a store: a page was not
    /// written, so nothing has changed. A sync that failed is another matter, for whatever reason.
    static func withQuota(_ error: any Error, systemError: CInt) -> any Error {
        guard let failure = error as? DatabaseError, failure.extendedResultCode == .SQLITE_IOERR_WRITE, systemError == EDQUOT
        else { return error }
        return DatabaseError(resultCode: .SQLITE_FULL, message: failure.message)
    }

    /// What a transaction outlives, by what is set, and where the file is.
    func durability() throws(JournalError) -> Durability {
        if FileSystem.isInMemory(path) { return .process(why: "the data folder is on a file system in memory") }
        let (log, level, isWaiting) = try perform("what is synced cannot be read") { db in
            (
                try String.fetchOne(db, sql: "PRAGMA journal_mode"), try Int.fetchOne(db, sql: "PRAGMA synchronous"),
                try Bool.fetchOne(db, sql: "PRAGMA query_only") == true
            )
        }
        // 2 is FULL: the log is synced by each transaction, and not only by checkpoints. A copy
        // gets its log when writing begins.
        guard log == "wal" || isWaiting, let level, level >= 2 else {
            return .process(why: "the database does not sync each transaction")
        }
        return .disk(how: Self.sync)
    }

    #if canImport(Darwin)
    private static let sync = "F_FULLFSYNC of the write-ahead log"
    #else
    private static let sync = "fdatasync of the write-ahead log"
    #endif

    func close() throws(JournalError) {
        do {
            try handle.close()
        } catch {
            throw JournalError(error, "\(path) cannot be closed")
        }
    }
}

extension JournalError {
    /// Tells what an error of SQLite means for the journal. Whatever is not known to be harmless ends the process.
    fileprivate init(_ error: any Error, _ failure: String) {
        switch error {
        case let error as JournalError:
            self = error
        case let error as DatabaseError:
            let (code, reason) = Self.meaning(of: error.resultCode)
            self.init(code, "\(failure): \(reason).", underlying: error.message)
        default:
            self.init(.damaged, "\(failure): a stored value is not of its type.", underlying: "\(error)")
        }
    }

    private static func meaning(of code: ResultCode) -> (Code, String) {
        switch code {
        case .SQLITE_FULL: (.full, "no space is left")
        case .SQLITE_BUSY, .SQLITE_LOCKED: (.busy, "another process uses it")
        case .SQLITE_CORRUPT: (.damaged, "the file is damaged")
        case .SQLITE_NOTADB: (.lost, "it is not a database: put a backup back, or begin anew with --fresh")
        case .SQLITE_CONSTRAINT: (.damaged, "the file holds what was never written by this journal")
        case .SQLITE_TOOBIG: (.misuse, "the value is larger than a journal can hold")
        default: (.inputOutput, "input or output failed")
        }
    }
}
