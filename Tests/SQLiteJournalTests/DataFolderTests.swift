import Foundation
import Journal
import JournalChain
import ProcessSupport
import Testing

@testable import SQLiteJournal

@Suite struct DataFolderTests {
    @Test func `A folder is created for its owner alone with the folders above it`() throws {
        let scratch = try Scratch()
        let path = scratch.path + "/a/b/c"
        let folder = try DataFolder(at: path)
        let permissions = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
        #expect(permissions == 0o700)
    }

    @Test(arguments: [EACCES, EPERM, EROFS])
    func `What the system forbids at the door is no failure of the disk, and behind it is one`(_ number: CInt) {
        #expect(JournalError(errno: number, "data/lock cannot be opened.", isDoor: true).code == .forbidden)
        #expect(JournalError(errno: number, "data/head cannot be written.").code == .inputOutput)
    }

    @Test func `A second opener is told which process has the folder`() throws {
        let scratch = try Scratch()
        let folder = try DataFolder(at: scratch.data)
        let text = "/data is in use by process \(ProcessInfo.processInfo.processIdentifier)."
        expect(.busy, text) { _ = try DataFolder(at: scratch.data, wait: .zero) }
        expect(.busy, text) { _ = try scratch.journal(wait: .zero) }
        expect(.busy, text) { _ = try scratch.journal(access: .readOnly, wait: .zero) }
        folder.close()
        try DataFolder(at: scratch.data).close()
    }

    @Test func `A folder is waited for`() throws {
        let scratch = try Scratch()
        let holder = try DataFolder(at: scratch.data)
        var waits = 0
        let folder = try DataFolder(at: scratch.data) { _ in
            waits += 1
            holder.close()
        }
        #expect(waits == 1)
        folder.close()
    }

    @Test func `Waiting ends with the given time`() throws {
        let scratch = try Scratch()
        let holder = try DataFolder(at: scratch.data)
        let start = ContinuousClock.now
        expect(.busy, "in use") { _ = try DataFolder(at: scratch.data, wait: .milliseconds(50)) }
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        holder.close()
    }

    @Test func `Who has to wait for a folder is told once, at once, for whom`() throws {
        let scratch = try Scratch()
        let holder = try DataFolder(at: scratch.data)
        var told: [String] = []
        expect(.busy, "in use") { _ = try DataFolder(at: scratch.data, wait: .milliseconds(100)) { told.append($0) } }
        let process = ProcessInfo.processInfo.processIdentifier
        #expect(told == ["\(scratch.data) is in use by process \(process): waiting for it for at most 0.1 seconds"])
        holder.close()
        let free = try DataFolder(at: scratch.data) { told.append($0) }
        #expect(told.count == 1)
        free.close()
    }

    @Test func `A folder that cannot be made is an error that says why`() throws {
        let scratch = try Scratch()
        #if os(Linux)
        for path in ["/proc/x", "/proc/x/y/z"] {
            expect(.inputOutput, "The folder /proc/x cannot be created: /proc takes no folders") { _ = try DataFolder(at: path) }
        }
        #endif
        let link = scratch.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scratch.path + "/gone/away")
        let nowhere = "The folder \(link) cannot be created: \(link) is a symbolic link to nowhere"
        for path in [link, link + "/a", link + "/a/b/"] { expect(.inputOutput, nowhere) { _ = try DataFolder(at: path) } }
        let file = scratch.path + "/file"
        try Data().write(to: URL(filePath: file))
        expect(.inputOutput, "The folder \(file) cannot be created: \(file) is a file") { _ = try DataFolder(at: file) }
        expect(.inputOutput, "The folder \(file)/a cannot be created. (Not a directory)") { _ = try DataFolder(at: file + "/a") }
        let good = scratch.path + "/good"
        try FileManager.default.createDirectory(atPath: scratch.path + "/target", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: good, withDestinationPath: scratch.path + "/target")
        try DataFolder(at: good + "/a/b").close()
        #expect(FileManager.default.fileExists(atPath: scratch.path + "/target/a/b/lock"))
    }

    @Test func `An open journal keeps the lock and a closed one lets it go`() throws {
        let scratch = try Scratch()
        let journal = try SQLiteJournal(in: DataFolder(at: scratch.data))
        expect(.busy, "in use") { _ = try DataFolder(at: scratch.data, wait: .zero) }
        try journal.close()
        try DataFolder(at: scratch.data).close()
    }

    @Test func `The lock ends with the last reference`() throws {
        let scratch = try Scratch()
        for _ in 1...3 { _ = try scratch.journal() }
    }

    @Test func `A child process does not inherit the lock`() throws {
        let scratch = try Scratch()
        let folder = try DataFolder(at: scratch.data)
        let child = try Child("sleep", ["60"], in: ProcessSupport.Scratch())
        folder.close()
        try DataFolder(at: scratch.data).close()
        #expect(child.end == nil)
    }

    @Test func `Archiving keeps everything and the next journal begins anew`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let folder = try DataFolder(at: scratch.data)
        let archive = try #require(try folder.archive())
        let fresh = try SQLiteJournal(in: folder)
        #expect(fresh.last == 0)
        try fresh.beginWriting()
        #expect(try scratch.files() == ["archive", "head", "journal.id", "journal.sqlite", "journal.sqlite-wal", "lock"])

        let old = try SQLiteJournal(at: archive, access: .readOnly)
        #expect(old.last == 2000)
        #expect(try old.batches().count == 3)
        #expect(try old.snapshots() == [2000, 999])
    }

    @Test func `Archiving twice in one second keeps both`() throws {
        let scratch = try Scratch()
        let folder = try DataFolder(at: scratch.data)
        for turn in 1...3 {
            let journal = try SQLiteJournal(in: folder)
            try journal.append(Batch(first: 1, last: turn, bytes: []))
            try journal.close()
            try folder.archive()
        }
        let lasts = try scratch.files(in: "archive").map {
            try SQLiteJournal(at: scratch.data + "/archive/" + $0, access: .readOnly).last
        }
        #expect(lasts.sorted() == [1, 2, 3])
    }

    @Test func `There is nothing to archive in a new folder`() throws {
        let scratch = try Scratch()
        #expect(try DataFolder(at: scratch.data).archive() == nil)
        #expect(try scratch.files() == ["lock"])
    }

    @Test func `After an error that forbids writing the log stays, however the journal is let go`() throws {
        let scratch = try Scratch()
        func fail() throws {
            let journal = try scratch.journal()
            try journal.append(Batch(first: 1, last: 1, bytes: [1]))
            // In the place of the folder.
            try Data().write(to: URL(filePath: scratch.data + "/snapshots"))
            expect(.inputOutput, "snapshots is a file") { try journal.save(Snapshot(turn: 1, bytes: [1])) }
        }
        try fail()
        #expect(try scratch.files().contains("journal.sqlite-wal"))
        try FileManager.default.removeItem(atPath: scratch.data + "/snapshots")
        #expect(try scratch.journal().last == 1)
    }

    @Test func `Nothing is written where a folder has been that was moved, or is another one now`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        try journal.save(Snapshot(turn: 1, bytes: [1]))
        let moved = scratch.path + "/moved"
        try FileManager.default.moveItem(atPath: scratch.data, toPath: moved)
        for isReplaced in [false, true] {
            if isReplaced { try DataFolder(at: scratch.data).close() }
            // Of a folder that is not there nothing is listed.
            func names() -> [String]? { try? FileManager.default.contentsOfDirectory(atPath: scratch.data) }
            let before = names()
            expect(.unavailable, "was moved or replaced, or has lost its file lock") {
                try journal.save(Snapshot(turn: 1, bytes: [2]))
            }
            #expect(names() == before)
        }
        try journal.append(Batch(first: 2, last: 2, bytes: [2]))
        try journal.close()
        #expect(try SQLiteJournal(in: DataFolder(at: moved)).last == 2, "the journal itself has gone with its folder")
    }

    @Test(arguments: [SQLiteJournal.Access.readWrite, .readOnly])
    func `The end of a journal whose folder was moved leaves the log of the one that is there now`(access: SQLiteJournal.Access)
        throws
    {
        let scratch = try Scratch()
        try scratch.append(1...1)
        let stopped = try scratch.copy()
        let moved = try scratch.journal(access: access)
        if access == .readWrite { try moved.append(Batch(first: 2, last: 2, bytes: [2])) }
        try FileManager.default.moveItem(atPath: scratch.data, toPath: scratch.path + "/moved")
        try FileManager.default.moveItem(atPath: stopped.data, toPath: scratch.data)
        let other = try scratch.journal()
        try other.beginWriting()
        #expect(FileSystem.size(of: scratch.database + "-wal") == 0)
        try moved.close()
        try other.append(Batch(first: 2, last: 2, bytes: [3]))
        // What a kill would leave behind.
        let killed = try scratch.copy()
        try other.close()
        #expect(try killed.journal().last == 2)
    }

    @Test func `An archiving that was cut short is refused until it is done`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try FileManager.default.moveItem(atPath: scratch.database, toPath: scratch.path + "/moved")
        expect(.lost, "is gone") { _ = try scratch.journal() }
        let folder = try DataFolder(at: scratch.data)
        try folder.archive()
        #expect(try SQLiteJournal(in: folder).last == 0)
    }

    @Test func `A closed folder cannot be used`() throws {
        let scratch = try Scratch()
        let folder = try DataFolder(at: scratch.data)
        folder.close()
        folder.close()
        expect(.misuse, "is closed") { try folder.archive() }
        expect(.misuse, "is closed") { _ = try SQLiteJournal(in: folder) }
    }
}
