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
