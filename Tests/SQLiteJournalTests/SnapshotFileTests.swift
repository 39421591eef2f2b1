import Foundation
import Journal
import JournalChain
import Synchronization
import Testing

@testable import SQLiteJournal

/// Snapshots are files beside the database.
@Suite struct SnapshotFileTests {
    @Test(arguments: [0, 8, 24, 31, 32, 63, 64, -1])
    func `A flipped byte anywhere is noticed and an older one helps`(byte: Int) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.flip(byte: byte, of: "snapshots/2000")
        let journal = try scratch.journal()
        expect(.damaged, "the snapshot of turn 2,000 is damaged") { _ = try journal.snapshot(at: 2000) }
        #expect(try journal.snapshot(at: 999).bytes == [10, 11])
    }

    @Test(arguments: [0, 63, 65])
    func `A truncated one is damaged`(size: Int) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.truncate("snapshots/2000", to: size)
        expect(.damaged, "the snapshot of turn 2,000 is damaged") { _ = try scratch.journal().snapshot(at: 2000) }
    }

    @Test func `One of another turn or journal is damaged`() throws {
        let scratch = try Scratch()
        let other = try Scratch()
        for each in [scratch, other] { try each.fill() }
        let folder = scratch.data + "/snapshots/"
        try FileManager.default.copyItem(atPath: folder + "999", toPath: folder + "1000")
        try FileManager.default.removeItem(atPath: folder + "2000")
        try FileManager.default.copyItem(atPath: other.data + "/snapshots/2000", toPath: folder + "2000")
        let journal = try scratch.journal()
        expect(.damaged, "the snapshot of turn 2,000 is damaged: it belongs to another journal") {
            _ = try journal.snapshot(at: 2000)
        }
        expect(.damaged, "the snapshot of turn 1,000 is damaged: digest differs") { _ = try journal.snapshot(at: 1000) }
    }

    @Test func `What a killed process was writing is no snapshot and is removed`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try Data([1, 2]).write(to: URL(filePath: scratch.data + "/snapshots/2000.new"))
        #expect(try scratch.journal(access: .readOnly).snapshots() == [2000, 999])
        #expect(try scratch.files(in: "snapshots").count == 3)
        let journal = try scratch.journal()
        try journal.beginWriting()
        #expect(try journal.snapshots() == [2000, 999])
        #expect(try scratch.files(in: "snapshots").count == 2)
    }

    /// A draft that is a link to `/dev/full` fails to be written as on a full disk.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func `One that does not fit changes nothing, leaves no part, and fits later`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let journal = try scratch.journal()
        try journal.beginWriting()
        let snapshot = Snapshot(turn: 2000, bytes: [UInt8](repeating: 7, count: 9 << 20))
        for _ in 1...3 {
            try FileManager.default.createSymbolicLink(
                atPath: scratch.data + "/snapshots/2000.new", withDestinationPath: "/dev/full")
            expect(.full, "2000.new cannot be written. (No space left on device)") { try journal.save(snapshot) }
            #expect(try scratch.files(in: "snapshots") == ["2000", "999"])
            // The one of this turn is still there, and the journal can be written.
            #expect(try journal.snapshot(at: 2000).bytes == [12, 13])
            try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: [1]))
        }
        try journal.save(snapshot)
        #expect(try journal.snapshot(at: 2000) == snapshot)
    }

    @Test(arguments: [(ENOSPC, true), (EDQUOT, true), (EIO, false)])
    func `A quota that is used up is a full disk, and an error of the disk is none`(_ system: CInt, _ isFull: Bool) {
        let error = JournalError(errno: system, "2000.new cannot be written.")
        #expect((error.code == .full) == isFull && error.forbidsWriting == !isFull)
    }

    @Test func `What a process lacks to begin is no error of the disk`() {
        for system in [EMFILE, ENFILE, ENOMEM] {
            #expect(JournalError(errno: system, "2000.new cannot be created.", isBegun: false).code == .unavailable)
            #expect(JournalError(errno: system, "2000.new cannot be written.").code == .inputOutput)
        }
    }

    @Test func `Commits go on while one is written`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: []))
        let isOver = Mutex(false)
        Thread.detachNewThread {
            do { try journal.save(Snapshot(turn: 1, bytes: [UInt8](repeating: 0, count: 64 << 20))) } catch { Issue.record(error) }
            isOver.withLock { $0 = true }
        }
        let draft = scratch.data + "/snapshots/1.new"
        var count = 0
        while !isOver.withLock({ $0 }) {
            let isBegun = FileManager.default.fileExists(atPath: draft)
            try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: []))
            if isBegun, FileManager.default.fileExists(atPath: draft) { count += 1 }
        }
        #expect(count > 0)
        #expect(try journal.snapshots() == [1])
    }
}
