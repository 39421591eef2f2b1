import Foundation
import Journal
import JournalChain
import Testing

@testable import SQLiteJournal

/// Copies of a journal, and putting one in the place of another.
@Suite struct ReplacementTests {
    private func draft(of scratch: Scratch, at path: String, as identity: DraftIdentity) throws {
        let journal = try scratch.journal(access: .readOnly)
        let draft = try JournalBuilder(at: path, from: journal, as: identity)
        try draft.append(try journal.batches(from: journal.first))
        for turn in try journal.snapshots() { try draft.save(try journal.snapshot(at: turn)) }
        for (name, value) in try journal.facts() { try draft.record(value, as: name) }
        try draft.finish()
    }

    @Test func `A copy is the same journal and answers for its whole folder`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try draft(of: scratch, at: scratch.path + "/copy", as: .same)
        let copy = try SQLiteJournal(at: scratch.path + "/copy")
        let original = try scratch.journal()
        #expect(try copy.batches() == original.batches())
        #expect(try copy.snapshots() == [2000, 999])
        #expect(try copy.snapshot(at: 999).bytes == [10, 11])
        #expect(copy.identity == original.identity)
        #expect(copy.warnings == [])
        try copy.append(Batch(first: 2001, last: 2001, bytes: [1]))
    }

    @Test func `A copy of a trimmed journal begins where it begins`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let journal = try scratch.journal()
        #expect(try !journal.trim(through: 999))
        try journal.close()
        try draft(of: scratch, at: scratch.path + "/copy", as: .new)
        let copy = try SQLiteJournal(at: scratch.path + "/copy")
        #expect(copy.first == 1000 && copy.last == 2000)
        #expect(try copy.batches(from: 1000).map(\.first) == [1000, 2000])
        #expect(try copy.identity != scratch.journal().identity)
    }

    @Test(arguments: ["/", "//"])
    func `Slashes behind the name of a copy are no part of it`(slashes: String) throws {
        let scratch = try Scratch()
        try scratch.fill()
        try draft(of: scratch, at: scratch.path + "/copy" + slashes, as: .same)
        #expect(try SQLiteJournal(at: scratch.path + "/copy", access: .readOnly).last == 2000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["copy", "data"])
    }

    @Test func `Nothing is left of a copy that cannot be begun`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let journal = try scratch.journal(access: .readOnly)
        try journal.close()
        let path = scratch.path + "/copy"
        #expect(throws: JournalError.self) { try JournalBuilder(at: path, from: journal, as: .same) }
        #expect(!FileManager.default.fileExists(atPath: path + ".building"))
    }

    @Test func `A copy that is not finished has no name and is begun anew`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let path = scratch.path + "/copy"
        let journal = try scratch.journal(access: .readOnly)
        let first = try JournalBuilder(at: path, from: journal, as: .same)
        try first.append([Batch(first: 1, last: 1, bytes: [])])
        #expect(!FileManager.default.fileExists(atPath: path))
        try journal.close()
        try draft(of: scratch, at: path, as: .same)
        expect(.misuse, "copy exists already") { try draft(of: scratch, at: path, as: .same) }
        #expect(!FileManager.default.fileExists(atPath: path + ".building"))
    }

    /// Cuts the installation after each of its steps, and ends it by calling it again.
    @Test(arguments: 0...4)
    func `An installation that is cut short is refused and then ended`(moved: Int) throws {
        let scratch = try Scratch()
        try scratch.fill()
        let folder = try DataFolder(at: scratch.data)
        try draft(in: folder)
        let new = try Data(contentsOf: URL(filePath: folder.replacement + "/journal.id"))
        // As far as a process came before it died.
        let steps: [(String, String)] = [
            ("journal.sqlite", "archive/then/journal.sqlite"), ("head", "archive/then/head"),
            ("snapshots", "archive/then/snapshots"), ("replacement/journal.sqlite", "journal.sqlite"),
        ]
        try FileManager.default.createDirectory(atPath: scratch.data + "/archive/then", withIntermediateDirectories: true)
        for (from, to) in steps.prefix(moved) {
            try FileManager.default.moveItem(atPath: scratch.data + "/" + from, toPath: scratch.data + "/" + to)
        }
        for access in [SQLiteJournal.Access.readWrite, .readOnly, .examination] {
            expect(.damaged, "was about to be replaced by \(folder.replacement)") {
                _ = try SQLiteJournal(in: folder, access: access)
            }
        }
        _ = try folder.installReplacement()
        #expect(!folder.hasReplacement)
        #expect(try Data(contentsOf: URL(filePath: scratch.data + "/journal.id")) == new)
        let journal = try SQLiteJournal(in: folder)
        #expect(journal.last == 999 && journal.warnings == [])
        #expect(try journal.snapshots() == [999])
    }

    /// After a kill, when the last turns are in the log alone.
    @Test func `Half an archive is refused, and the next attempt moves the rest to it`() throws {
        let scratch = try Scratch()
        try scratch.append(1...3)
        let killed = try scratch.killed(after: 4...6)
        let folder = try DataFolder(at: killed.data)
        let journal = try SQLiteJournal(in: folder, access: .readOnly)
        let draft = try JournalBuilder(at: folder.replacement, from: journal, as: .new)
        try draft.append(try journal.batches())
        try draft.finish()
        try journal.close()
        let log = try Data(contentsOf: URL(filePath: killed.data + "/journal.sqlite-wal"))

        // As far as a process came before it died.
        let begun = try folder.beginArchive()
        try FileManager.default.moveItem(atPath: killed.database, toPath: begun + "/journal.sqlite")
        for access in [SQLiteJournal.Access.readWrite, .readOnly] {
            expect(.damaged, "head says that turn 6 was on disk") { _ = try SQLiteJournal(at: begun, access: access) }
        }

        #expect(try folder.installReplacement() == begun)
        #expect(try killed.files(in: "archive").count == 1)
        #expect(try Data(contentsOf: URL(filePath: begun + "/journal.sqlite-wal")) == log)
        let old = try SQLiteJournal(at: begun, access: .readOnly)
        #expect(old.last == 6 && old.warnings == [])
    }

    @Test func `A whole archive of the same journal gets no files of a later one`() throws {
        let scratch = try Scratch()
        let folder = try DataFolder(at: scratch.data)
        func append(_ turn: Int) throws {
            let journal = try SQLiteJournal(in: folder)
            try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)]))
            try journal.close()
        }
        try append(1)
        let whole = try #require(try folder.archive())
        for name in try FileManager.default.contentsOfDirectory(atPath: whole) {
            try FileManager.default.copyItem(atPath: whole + "/" + name, toPath: scratch.data + "/" + name)
        }
        try append(2)
        // Lost, and begun anew with --fresh.
        try FileManager.default.removeItem(atPath: scratch.database)
        #expect(try folder.archive() != whole)
        #expect(try SQLiteJournal(at: whole, access: .readOnly).last == 1)
    }

    /// The first batch and the first snapshot of the journal in a folder.
    private func draft(in folder: DataFolder) throws {
        let journal = try SQLiteJournal(in: folder, access: .readOnly)
        let draft = try JournalBuilder(at: folder.replacement, from: journal, as: .new)
        try draft.append([try #require(try journal.batches().first)])
        try draft.save(try journal.snapshot(at: 999))
        try draft.finish()
        try journal.close()
    }
}
