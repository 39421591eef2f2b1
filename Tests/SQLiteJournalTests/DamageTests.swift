import Foundation
import Journal
import JournalChain
import Testing

@testable import SQLiteJournal

/// Whatever happened to the file, the journal names it and never begins anew.
@Suite struct DamageTests {
    @Test(arguments: [
        "UPDATE batches SET data = x'040507' WHERE first = 1000",
        "UPDATE batches SET data = x'' WHERE first = 1000",
        "UPDATE batches SET digest = x'00' WHERE first = 1000",
        "UPDATE batches SET digest = (SELECT digest FROM batches WHERE first = 1) WHERE first = 1000",
    ])
    func `An altered batch is named`(sql: String) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter(sql)
        let journal = try scratch.journal()

        var first: [Int] = []
        expect(.damaged, "journal.sqlite: batch 2 (turns 1,000 to 1,999): digest differs.") {
            try journal.read(from: 1) { first.append($0.first) }
        }
        // The page with the damaged batch is not handed over in part.
        #expect(first.isEmpty || first == [1])
        expect(.damaged, "batch 2 (turns 1,000 to 1,999)") { _ = try journal.batches(from: 1500) }
    }

    @Test func `A byte flipped in the file is found`() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        let pattern = [UInt8]("a pattern that is nowhere else in the file".utf8)
        try journal.append(Batch(first: 1, last: 9, bytes: [0]))
        try journal.append(Batch(first: 10, last: 11, bytes: pattern))
        try journal.close()

        var file = try Data(contentsOf: URL(filePath: scratch.database))
        let range = try #require(file.range(of: Data(pattern)))
        file[range.lowerBound] ^= 1
        try file.write(to: URL(filePath: scratch.database))

        expect(.damaged, "batch 2 (turns 10 to 11): digest differs") { _ = try scratch.journal().batches() }
    }

    @Test func `A missing batch is a hole that names its turns`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter("DELETE FROM batches WHERE first = 1000")
        // Even if a newer snapshot spares the store the look at it.
        expect(.damaged, "batch 2 (turn 2,000): a hole in the numbering before it, turns 1,000 to 1,999 missing") {
            _ = try scratch.journal()
        }
    }

    @Test func `Numbers that no journal has end no process`() {
        let chain = BatchChain()
        #expect(chain.problem(ofNext: Batch(first: .min, last: .min, bytes: [])) == "it overlaps the batch before it")
        #expect(chain.problem(ofNext: Batch(first: .max, last: .max, bytes: []))?.hasPrefix("a hole in the numbering") == true)
    }

    @Test func `A missing first batch is a hole`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter("DELETE FROM batches WHERE first = 1")
        expect(.damaged, "turns 1 to 999 missing") { _ = try scratch.journal() }
    }

    @Test func `A batch with other turns is named`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter("UPDATE batches SET last = 1998 WHERE first = 1000")
        expect(.damaged, "batch 3 (turn 2,000): a hole in the numbering before it, turn 1,999 missing") {
            _ = try scratch.journal()
        }
    }

    @Test func `A batch that ends before it begins is named`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter("UPDATE batches SET last = -5 WHERE first = 1000")
        expect(.damaged, "batch 2 (turns 1,000 to -5): it ends before it begins") { _ = try scratch.journal() }
    }

    @Test func `A journal that ends before a snapshot has lost its tail`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter("DELETE FROM batches WHERE first = 2000")
        expect(.damaged, "ends at turn 1,999, but has a snapshot of turn 2,000") { _ = try scratch.journal() }
        expect(.damaged, "ends at turn 1,999") { _ = try scratch.journal(access: .readOnly) }
    }

    @Test func `A damaged snapshot is named and an older one helps`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.flip(byte: -1, of: "snapshots/2000")
        let journal = try scratch.journal()
        expect(.damaged, "the snapshot of turn 2,000 is damaged") { _ = try journal.snapshot(at: 2000) }
        #expect(try journal.snapshot(at: 999).bytes == [10, 11])
    }

    @Test func `A newer format is refused and names both versions`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.alter("PRAGMA user_version = 7")
        expect(.format, "has journal format 7, and this build knows the formats up to 2 only") { _ = try scratch.journal() }
        expect(.format, "has journal format 7") { _ = try scratch.journal(access: .readOnly) }
    }

    @Test func `Another database is refused and left alone`() throws {
        let scratch = try Scratch()
        try DataFolder(at: scratch.data).close()
        try scratch.alter("CREATE TABLE notes (text)")
        let before = try Data(contentsOf: URL(filePath: scratch.database))
        expect(.format, "not a Samovar journal") { _ = try scratch.journal() }
        #expect(try Data(contentsOf: URL(filePath: scratch.database)) == before)
    }

    @Test func `A file that is no database is refused`() throws {
        let scratch = try Scratch()
        try DataFolder(at: scratch.data).close()
        try Data(repeating: 65, count: 10_000).write(to: URL(filePath: scratch.database))
        expect(.lost, "it is not a database: put a backup back") { _ = try scratch.journal() }
    }

    @Test func `A journal that is gone is not replaced by an empty one`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try FileManager.default.removeItem(atPath: scratch.database)
        expect(.lost, "journal.sqlite is gone") { _ = try scratch.journal() }
        expect(.lost, "journal.sqlite is gone") { _ = try scratch.journal(access: .readOnly) }
        #expect(!FileManager.default.fileExists(atPath: scratch.database))
    }

    @Test(arguments: [SQLiteJournal.Access.readWrite, .readOnly])
    func `A journal that was emptied is refused every time`(access: SQLiteJournal.Access) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try Data().write(to: URL(filePath: scratch.database))
        for _ in 1...2 {
            expect(.lost, "journal.sqlite is empty, but journal.id says") { _ = try scratch.journal(access: access) }
        }
    }

    @Test func `The journal of another folder is refused`() throws {
        let scratch = try Scratch()
        let other = try Scratch()
        try scratch.fill()
        try other.fill()
        try FileManager.default.removeItem(atPath: scratch.database)
        try FileManager.default.copyItem(atPath: other.database, toPath: scratch.database)
        expect(.damaged, "is not the journal that journal.id") { _ = try scratch.journal() }
    }

    @Test func `A crash before the identity file was written is harmless`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try FileManager.default.removeItem(atPath: scratch.data + "/journal.id")
        let journal = try scratch.journal()
        #expect(journal.last == 2000)
        try journal.beginWriting()
        #expect(try scratch.files().contains("journal.id"))
    }
}
