import Foundation
import GRDB
import GRDBSQLite
import Journal
import JournalChain
import SamovarTesting
import Synchronization
import Testing

@testable import SQLiteJournal

@Suite struct SQLiteJournalTests {
    @Test(arguments: JournalContract.Rule.allCases)
    func `Keeps the contract`(_ rule: JournalContract.Rule) throws {
        let scratch = try Scratch()
        let contract = JournalContract(
            make: { try scratch.journal() },
            reopen: { journal in
                var journal = journal
                try journal.close()
                return try scratch.journal()
            })
        try contract.verify(rule)
    }

    @Test func `A journal that was not closed has everything that was appended`() throws {
        let scratch = try Scratch()
        let copy = scratch.path + "/copy"
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 3, bytes: [1]))
        try journal.append(Batch(first: 4, last: 4, bytes: [2]))
        // What a kill would leave behind: the files as they are while the journal is open.
        try FileManager.default.copyItem(atPath: scratch.data, toPath: copy)

        let revived = try SQLiteJournal(at: copy)
        #expect(revived.last == 4)
        #expect(try revived.batches() == journal.batches())
    }

    @Test func `The connection is set up for durability`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.beginWriting()
        let settings = try journal.connection.perform("settings") { db in
            try [
                "journal_mode", "locking_mode", "synchronous", "mmap_size", "page_size", "cache_size", "wal_autocheckpoint",
                "trusted_schema",
            ]
            .map { try String.fetchOne(db, sql: "PRAGMA \($0)") ?? "none" }
        }
        #expect(settings == ["wal", "exclusive", "2", "0", "8192", "-512", "0", "0"])
        #expect(try scratch.files() == ["head", "journal.id", "journal.sqlite", "journal.sqlite-wal", "lock"])
    }

    @Test func `What is kept of a journal in memory does not grow with it`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        func cached() throws -> Int {
            try journal.connection.perform("the cache cannot be asked") { db in
                var (bytes, highest): (CInt, CInt) = (0, 0)
                #expect(sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_USED, &bytes, &highest, 0) == SQLITE_OK)
                return Int(bytes)
            }
        }
        let data = [UInt8](repeating: 7, count: 1 << 20)
        for turn in 1...8 { try journal.append(Batch(first: turn, last: turn, bytes: data)) }
        // What SQLite notes beside each page counts, too.
        #expect(try cached() < 600 << 10)
        #expect(try journal.batches().count == 8)
        #expect(try cached() < 600 << 10)
    }

    @Test func `What it outlives is told by the database and the file system, in one word first`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        if FileSystem.isInMemory(scratch.data) {
            #expect("\(journal.durability)".hasPrefix("process: the data folder is on a file system in memory"))
        } else {
            #expect("\(journal.durability)".hasPrefix("disk: "))
            #expect("\(journal.durability)".hasSuffix(" of the write-ahead log before anything is visible"))
            try journal.connection.perform("the level cannot be set") { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
            let weaker = try journal.connection.durability()
            #expect(weaker == .process(why: "the database does not sync each transaction"))
        }
        #expect(Durability.none.description == "none: the journal is in the memory of its process")
    }

    /// What Linux says of each mount: its place stands before its type.
    private static let hasMemoryMount =
        (try? String(contentsOfFile: "/proc/mounts", encoding: .utf8))?.contains(" /dev/shm tmpfs ") ?? false

    @Test(.enabled(if: hasMemoryMount))
    func `A journal in memory does not claim to outlive the machine`() throws {
        let path = "/dev/shm/journal-\(UUID().uuidString)"
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: path) } }
        #expect(!FileSystem.isInMemory("/proc") && !FileSystem.isInMemory("/dev/shm/nothing"))
        let journal = try SQLiteJournal(at: path)
        #expect(journal.durability == .process(why: "the data folder is on a file system in memory"))
        try journal.close()
    }

    @Test func `A process that dies between two steps of trimming leaves a journal that reads, and is trimmed on`() throws {
        let scratch = try Scratch()
        let copy = scratch.path + "/copy"
        let journal = try scratch.journal()
        let batches = (1...6).map { Batch(first: $0, last: $0, bytes: [UInt8](repeating: UInt8($0), count: 1 << 20)) }
        for batch in batches { try journal.append(batch) }
        try journal.save(Snapshot(turn: 5, bytes: [5]))
        #expect(try journal.trim(through: 4), "one step is too small for four mebibytes")
        try FileManager.default.copyItem(atPath: scratch.data, toPath: copy)

        let revived = try SQLiteJournal(at: copy)
        #expect(revived.first == 2 && revived.last == 6)
        #expect(try revived.batches(from: 2) == Array(batches.dropFirst()))
        while try revived.trim(through: 4) {}
        #expect(revived.first == 5)
        #expect(try revived.batches(from: 5) == Array(batches.suffix(2)))
    }

    /// A page that is in the middle of a batch of these bytes.
    private static func page(of byte: UInt8, in file: Data) throws -> Int {
        let size = SQLiteConnection.pageSize
        return try #require((1..<file.count / size).first { file[$0 * size + 4..<($0 + 1) * size].allSatisfy { $0 == byte } })
    }

    /// As a page that was zeroed, and as one that claims pages of the batch that follows.
    @Test(arguments: [false, true])
    func `Damage in a batch that is to be trimmed forbids nothing else, and takes nothing with it`(claimsOthers: Bool) throws {
        let scratch = try Scratch()
        var journal = try scratch.journal()
        let batches = (1...4).map { Batch(first: $0, last: $0, bytes: [UInt8](repeating: 0xa0 + UInt8($0), count: 60_000)) }
        for batch in batches.prefix(3) { try journal.append(batch) }
        for turn in 1...3 { try journal.save(Snapshot(turn: turn, bytes: [UInt8(turn)])) }
        try journal.close()
        var file = try Data(contentsOf: URL(filePath: scratch.database))
        let page = try Self.page(of: 0xa1, in: file) * SQLiteConnection.pageSize
        if claimsOthers {
            let number = UInt32(try Self.page(of: 0xa3, in: file) + 1)
            file.replaceSubrange(page..<page + 4, with: withUnsafeBytes(of: number.bigEndian) { Data($0) })
        } else {
            file.replaceSubrange(page..<page + SQLiteConnection.pageSize, with: Data(count: SQLiteConnection.pageSize))
        }
        try file.write(to: URL(filePath: scratch.database))
        journal = try scratch.journal()
        #expect { try journal.trim(through: 1) } throws: { ($0 as? JournalError)?.code == .damaged }
        try journal.append(batches[3])
        #expect(try journal.batches(from: 3) == Array(batches.suffix(2)))
        #expect(journal.first == 1)
    }

    @Test func `A trim reads what it removes and nothing behind it`() throws {
        let journal = try Scratch().journal()
        let plan = try journal.connection.perform("plan") { db in
            let rows = try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + SQLiteJournal.oldest, arguments: [1, 1])
            return rows.map { $0["detail"] as String }
        }
        #expect(plan.count == 1 && plan.first?.contains("USING INTEGER PRIMARY KEY (rowid<?)") == true, "\(plan)")
    }

    @Test func `All files are for their owner alone, also in a folder that others may enter`() throws {
        let scratch = try Scratch()
        let manager = FileManager.default
        try manager.createDirectory(atPath: scratch.data, withIntermediateDirectories: false)
        try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.data)
        func modes() throws -> Set<Int> {
            Set(
                try scratch.files().map {
                    let attributes = try manager.attributesOfItem(atPath: scratch.data + "/" + $0)
                    return (attributes[.posixPermissions] as? Int ?? 0) & 0o077
                })
        }
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        #expect(try modes() == [0] && scratch.files().contains("journal.sqlite-wal"))
        try journal.close()
        // As a former build has left it.
        try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch.database)
        try scratch.journal().close()
        #expect(try modes() == [0])
    }

    @Test func `What is trimmed while it is read is missing, and no damage`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        // Of which two are a page.
        for turn in 1...6 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8](repeating: 7, count: 300 << 10))) }
        try journal.save(Snapshot(turn: 6, bytes: [1]))
        var turns: [Int] = []
        let error = #expect(throws: JournalError.self) {
            try journal.read(from: 1) { batch in
                turns.append(batch.first)
                while try journal.trim(through: 4) {}
            }
        }
        #expect(error?.code == .missing && turns == [1, 2])
        turns = []
        try journal.read(from: 5) { turns.append($0.first) }
        #expect(turns == [5, 6])
    }

    @Test func `What trimming removes counts to the log, which is copied when it is large`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        for turn in 1...20 { try journal.append(Batch(first: turn, last: turn, bytes: bytes)) }
        try journal.save(Snapshot(turn: 20, bytes: [20]))
        try journal.checkpoint()
        #expect(try journal.trim(through: 20))
        #expect(journal.state.withLock(\.logged) >= 1 << 20)
        while try journal.trim(through: 20) {}
        #expect(journal.state.withLock(\.logged) < 16 << 20, "it was copied on the way")
        #expect(journal.first == 21)
    }

    @Test func `The log stays near its limit however much is appended`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        let bytes = [UInt8](repeating: 7, count: 4 << 20)
        for turn in 1...12 { try journal.append(Batch(first: turn, last: turn, bytes: bytes)) }

        let size = try FileManager.default.attributesOfItem(atPath: scratch.database + "-wal")[.size] as? Int
        #expect(try #require(size) < SQLiteJournal.logLimit + 6 << 20)
        #expect(try journal.batches(from: 7).map(\.first) == Array(7...12))
    }

    @Test func `The log stays near its limit however often its store is killed`() throws {
        var scratch = try Scratch()
        let bytes = [UInt8](repeating: 7, count: 2 << 20)
        for _ in 1...8 {
            let journal = try scratch.journal()
            for _ in 1...3 {
                let turn = journal.last + 1
                try journal.append(Batch(first: turn, last: turn, bytes: bytes))
            }
            // What a kill would leave behind.
            let killed = try scratch.copy()
            try journal.close()
            scratch = killed
            #expect(try #require(FileSystem.size(of: scratch.database + "-wal")) < SQLiteJournal.logLimit + 6 << 20)
        }
        let journal = try scratch.journal()
        for turn in 25...26 { try journal.append(Batch(first: turn, last: turn, bytes: [1])) }
        #expect(journal.state.withLock(\.logged) < 1 << 20, "it is not copied again with each append")
        #expect(try journal.batches().map(\.last) == Array(1...26))
    }

    @Test func `A checkpoint with nothing to do and one with something keep the journal as it is`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        for _ in 1...2 { try journal.checkpoint() }
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        try journal.checkpoint()
        try journal.append(Batch(first: 2, last: 2, bytes: [2]))
        #expect(try journal.batches().map(\.bytes) == [[1], [2]])
    }

    @Test func `A journal for reading reads and refuses to write`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let journal = try scratch.journal(access: .readOnly)
        #expect(try journal.batches().count == 3)
        #expect(try journal.snapshot(at: 999).bytes == [10, 11])
        expect(.misuse, "was opened for reading only") { try journal.append(Batch(first: 2001, last: 2001, bytes: [])) }
        expect(.misuse, "was opened for reading only") { try journal.record([], as: "seed") }
        try journal.close()
    }

    @Test func `A journal for reading sees what a crashed store left in the log`() throws {
        let scratch = try Scratch()
        let copy = scratch.path + "/copy"
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 3, bytes: [1]))
        try FileManager.default.copyItem(atPath: scratch.data, toPath: copy)
        #expect(try SQLiteJournal(at: copy, access: .readOnly).last == 3)
    }

    @Test func `A journal for reading is never created`() throws {
        let scratch = try Scratch()
        expect(.missing, "There is no data folder") { _ = try scratch.journal(access: .readOnly) }
        try DataFolder(at: scratch.data).close()
        expect(.missing, "There is no journal in") { _ = try scratch.journal(access: .readOnly) }
        #expect(try scratch.files() == ["lock"])
    }
}

/// Expects an error of `code` whose sentence contains `text`.
func expect(
    _ code: JournalError.Code, _ text: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
    let error = #expect(throws: JournalError.self, sourceLocation: sourceLocation, performing: body)
    #expect(error?.code == code, sourceLocation: sourceLocation)
    #expect(error?.description.contains(text) == true, "\(error?.description ?? "no error")", sourceLocation: sourceLocation)
}
