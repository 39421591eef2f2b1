import Foundation
import GRDB
import Journal
import JournalChain
import ProcessSupport
import Testing

@testable import SQLiteJournal

@Suite struct FullDiskTests {
    @Test func `A full disk changes nothing and the same batch is appended once there is space`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        let large = Batch(first: 2, last: 500, bytes: [UInt8](repeating: 3, count: 1 << 20))

        try journal.limitSize(pages: 20)
        for _ in 1...3 {
            expect(.full, "journal.sqlite: turns 2 to 500 cannot be written: no space is left.") {
                try journal.append(large)
            }
            expect(.full, "the fact seed cannot be written: no space is left.") {
                try journal.record(large.bytes, as: "seed")
            }
        }
        #expect(journal.last == 1)
        #expect(try journal.batches().count == 1)
        #expect(try journal.fact("seed") == nil)

        try journal.limitSize(pages: 1_000_000)
        try journal.append(large)
        try journal.close()
        #expect(try scratch.journal().batches(from: 2) == [large])
    }

    @Test(.enabled("a small file system is mounted for it, which needs root and Linux") { SmallDisk.isAvailable })
    func `A folder that nobody has locked before is read and locked on a full disk, too`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let disk = try SmallDisk(at: scratch.path + "/disk", megabytes: 1)
        let data = disk.path + "/data"
        try FileManager.default.copyItem(atPath: scratch.data, toPath: data)
        try FileManager.default.removeItem(atPath: data + "/lock")
        try disk.fill()
        let journal = try SQLiteJournal(at: data, access: .readOnly)
        #expect(try journal.batches().count == 3)
        expect(.busy, "is in use by another process") { _ = try DataFolder(at: data, wait: .zero) }
        try journal.close()
        try disk.free()
    }

    @Test(arguments: [
        (ResultCode.SQLITE_IOERR_WRITE, EDQUOT, ResultCode.SQLITE_FULL), (.SQLITE_IOERR_WRITE, EIO, .SQLITE_IOERR_WRITE),
        (.SQLITE_IOERR_FSYNC, EDQUOT, .SQLITE_IOERR_FSYNC), (.SQLITE_CORRUPT, EDQUOT, .SQLITE_CORRUPT),
    ])
    func `A quota that is used up is a full disk unless a sync failed`(_ code: ResultCode, _ system: CInt, _ expected: ResultCode)
        throws
    {
        let error = SQLiteConnection.withQuota(DatabaseError(resultCode: code), systemError: system)
        #expect((error as? DatabaseError)?.extendedResultCode == expected)
    }

    @Test func `Small batches go on while a large one does not fit`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.limitSize(pages: 20)
        expect(.full, "no space is left") {
            try journal.append(Batch(first: 1, last: 9, bytes: [UInt8](repeating: 0, count: 1 << 20)))
        }
        try journal.append(Batch(first: 1, last: 9, bytes: [1]))
        #expect(journal.last == 9)
    }
}

extension SQLiteJournal {
    /// Lets the journal be as full as a disk.
    fileprivate func limitSize(pages: Int) throws {
        try connection.perform("the size cannot be limited") { db in
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
    }
}
