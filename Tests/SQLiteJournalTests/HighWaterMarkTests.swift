import Foundation
import Journal
import JournalChain
import ProcessSupport
import Testing

@testable import SQLiteJournal

/// `head`, the witness beside the journal: what SQLite ends in silence, the journal does not.
@Suite struct HighWaterMarkTests {
    @Test func `A truncated log is noticed and both turns are named`() throws {
        let scratch = try Scratch()
        try scratch.append(1...1)
        let copy = try scratch.killed(after: 2...3)
        try copy.truncate("journal.sqlite-wal", to: 0)
        expect(.damaged, "ends at turn 1, but \(copy.data)/head says that turn 3 was on disk") { _ = try copy.journal() }
        expect(.damaged, "ends at turn 1") { _ = try copy.journal(access: .readOnly) }
    }

    @Test func `An older copy of the file is noticed`() throws {
        let scratch = try Scratch()
        try scratch.append(1...1)
        let old = try Data(contentsOf: URL(filePath: scratch.database))
        try scratch.append(2...3)
        try old.write(to: URL(filePath: scratch.database))
        expect(.damaged, "ends at turn 1, but \(scratch.data)/head says that turn 3 was on disk") { _ = try scratch.journal() }
        #expect(try Data(contentsOf: URL(filePath: scratch.database)) == old, "it is left as it was found")
    }

    /// As after the death of the machine: `head` was not synced, and the log is there.
    @Test func `A journal ahead of its witness is fine`() throws {
        let original = try Scratch()
        try original.append(1...1)
        let old = try Data(contentsOf: URL(filePath: original.data + "/head"))
        let scratch = try original.killed(after: 2...3)
        try old.write(to: URL(filePath: scratch.data + "/head"))
        try FileManager.default.removeItem(atPath: scratch.data + "/marker")
        let journal = try scratch.journal()
        #expect(journal.last == 3)
        #expect(journal.warnings == [])
    }

    /// Where the log is asked about the end, no file is closed on which SQLite has its lock.
    @Test(.enabled("there is no python3 with sqlite3") { await pythonHas("sqlite3") })
    func `A journal whose end no witness names is locked against other programs while it is open`() async throws {
        let original = try Scratch()
        try original.append(1...1)
        let scratch = try original.killed(after: 2...3)
        for name in ["head", "marker"] { try FileManager.default.removeItem(atPath: scratch.data + "/" + name) }
        let journal = try scratch.journal()
        let look = """
            import sqlite3, sys
            print(sqlite3.connect(sys.argv[1], timeout=0).execute("SELECT count(*) FROM batches").fetchall())
            """
        for turn in 4...5 {
            let other = try await Child.run("python3", ["-c", look, scratch.database])
            #expect(other.errors.contains("database is locked"), "\(other.output)\(other.errors)")
            #expect(try scratch.files().contains("journal.sqlite-wal"))
            try journal.append(Batch(first: turn, last: turn, bytes: [7]))
        }
        try journal.close()
        #expect(try scratch.journal().last == 5)
    }

    @Test(arguments: [2...2, 2...4])
    func `Another history at the same turn is noticed`(turns: ClosedRange<Int>) throws {
        let scratch = try Scratch()
        let other = try Scratch()
        try scratch.append(1...1)
        try FileManager.default.copyItem(atPath: scratch.data, toPath: other.data)
        try scratch.append(2...2)
        try other.append(turns, byte: 99)
        try FileManager.default.removeItem(atPath: scratch.database)
        try FileManager.default.copyItem(atPath: other.database, toPath: scratch.database)
        expect(.damaged, "has another turn 2 than the one that \(scratch.data)/head names") { _ = try scratch.journal() }
    }

    @Test func `A witness of another journal is noticed`() throws {
        let scratch = try Scratch()
        let other = try Scratch()
        try scratch.append(1...2)
        try other.append(1...2)
        try FileManager.default.removeItem(atPath: scratch.data + "/head")
        try FileManager.default.copyItem(atPath: other.data + "/head", toPath: scratch.data + "/head")
        expect(.damaged, "head belongs to another journal") { _ = try scratch.journal() }
    }

    @Test func `Without it a journal opens with a warning and has one again`() throws {
        let scratch = try Scratch()
        try scratch.append(1...2)
        for (damage, word) in [("", "missing"), ("rubbish", "damaged")] {
            try FileManager.default.removeItem(atPath: scratch.data + "/head")
            if damage != "" { try Data(damage.utf8).write(to: URL(filePath: scratch.data + "/head")) }
            let journal = try scratch.journal()
            #expect(journal.warnings == ["\(scratch.data)/head is \(word): a lost end of the journal would not have been noticed"])
            try journal.beginWriting()
            try journal.close()
            #expect(try scratch.journal().warnings == [])
        }
        #expect(try Scratch().journal().warnings == [], "a new journal has lost nothing")
    }

    /// The older slot is true as well, if behind.
    @Test(arguments: 0..<HighWaterMark.size)
    func `A torn write leaves the older witness`(byte: Int) throws {
        let scratch = try Scratch()
        try scratch.append(1...2)
        let newest = try #require(HeadFile.reading(scratch.data + "/head").witness)
        #expect(newest.end.last == 2)
        // The opening wrote one slot, the first append the other, and so on: find the newest by its turn.
        let file = try Data(contentsOf: URL(filePath: scratch.data + "/head"))
        let offset = HighWaterMark(Array(file.prefix(HighWaterMark.size)))?.end.last == 2 ? 0 : 512
        try scratch.flip(byte: offset + byte, of: "head", mask: 0x40)
        #expect(try HeadFile.reading(scratch.data + "/head").witness?.end.last == 1)
        #expect(try scratch.journal().last == 2)
    }

    @Test func `Damaged facts are noticed`() throws {
        for name in ["timeline", "journal.id", "digest"] {
            let scratch = try Scratch()
            let journal = try scratch.journal()
            try journal.record([1, 2, 3], as: "timeline")
            try journal.close()
            let value = name == "journal.id" ? "x'3030303030303030303030303030303030303030303030303030303030303030'" : "x'010204'"
            try scratch.alter("UPDATE facts SET value = \(value) WHERE name = '\(name)'")
            let text =
                name == "journal.id"
                ? "is not the journal that journal.id" : "the facts (timeline, secret, program, seed) are damaged"
            expect(.damaged, text) { _ = try scratch.journal() }
        }
    }
}

extension HeadFile.Reading {
    fileprivate var witness: HighWaterMark? { if case .witness(let witness, _, _) = self { witness } else { nil } }
}

extension Scratch {
    /// Opens, appends one batch for each turn, and closes.
    func append(_ turns: ClosedRange<Int>, byte: UInt8 = 7) throws {
        let journal = try journal()
        for turn in turns { try journal.append(Batch(first: turn, last: turn, bytes: [byte, UInt8(turn)])) }
        try journal.close()
    }

    /// What a kill after so many batches leaves behind: the files as they are while the journal is open.
    func killed(after turns: ClosedRange<Int>) throws -> Scratch {
        let journal = try journal()
        return try killed(journal) {
            for turn in turns { try journal.append(Batch(first: turn, last: turn, bytes: [7, UInt8(turn)])) }
        }
    }

    /// The files as they are while the journal is open, with the page that its host has mapped.
    func killed(_ journal: SQLiteJournal, after body: () throws -> Void) throws -> Scratch {
        let copy = try Scratch()
        let page = UnsafeMutableRawPointer.allocate(byteCount: 4_096, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: 4_096)
        journal.mark(in: page)
        defer { journal.mark(in: nil) }
        try body()
        try FileManager.default.copyItem(atPath: data, toPath: copy.data)
        try Data(bytes: page, count: 4_096).write(to: URL(filePath: copy.data + "/marker"))
        return copy
    }

    func truncate(_ name: String, to size: Int) throws {
        let file = URL(filePath: data + "/" + name)
        try Data(contentsOf: file).prefix(size).write(to: file)
    }
}
