import Foundation
import Journal
import Testing

@testable import SQLiteJournal

/// Snapshots are files beside the database.
@Suite struct SnapshotFileTests {
    @Test(arguments: [0, 8, 24, 31, 32, 63, 64, -1])
    func aFlippedByteAnywhereIsNoticedAndAnOlderOneHelps(byte: Int) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.flip(byte: byte, of: "snapshots/2000")
        let journal = try scratch.journal()
        expect(.damaged, "the snapshot of turn 2,000 is damaged") { _ = try journal.snapshot(at: 2000) }
        #expect(try journal.snapshot(at: 999).bytes == [10, 11])
    }

    @Test(arguments: [0, 63, 65])
    func aTruncatedOneIsDamaged(size: Int) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.truncate("snapshots/2000", to: size)
        expect(.damaged, "the snapshot of turn 2,000 is damaged") { _ = try scratch.journal().snapshot(at: 2000) }
    }

    @Test func oneOfAnotherTurnOrJournalIsDamaged() throws {
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

    @Test func whatAKilledProcessWasWritingIsNoSnapshotAndIsRemoved() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try Data([1, 2]).write(to: URL(filePath: scratch.data + "/snapshots/2000.new"))
        #expect(try scratch.journal(access: .readOnly).snapshots() == [2000, 999])
        #expect(try scratch.files(in: "snapshots").count == 3)
        #expect(try scratch.journal().snapshots() == [2000, 999])
        #expect(try scratch.files(in: "snapshots").count == 2)
    }

    @Test func oneThatIsGivenUpLeavesNothing() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: []))
        var pieces = 0
        expect(.misuse, "enough") {
            try journal.save(Snapshot(turn: 1, bytes: [UInt8](repeating: 0, count: 9 << 20))) { () throws(JournalError) in
                pieces += 1
                if pieces == 3 { throw JournalError(.misuse, "enough") }
            }
        }
        #expect(try scratch.files(in: "snapshots") == [])
        #expect(try journal.snapshots() == [])
    }

    @Test func commitsGoOnWhileOneIsWritten() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: []))
        try journal.save(Snapshot(turn: 1, bytes: [UInt8](repeating: 0, count: 9 << 20))) { () throws(JournalError) in
            try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: []))
        }
        #expect(journal.last > 3)
    }
}
