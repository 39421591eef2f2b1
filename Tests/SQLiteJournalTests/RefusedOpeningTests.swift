import Foundation
import GRDB
import Journal
import JournalChain
import Testing

@testable import SQLiteJournal

/// An opening that refuses has changed nothing: what it could not believe is still there for a salvage.
@Suite struct RefusedOpeningTests {
    /// A killed journal of 30 turns in its log, whose log is then damaged in the frame of turn 10.
    private func damaged() throws -> Scratch {
        let scratch = try Scratch()
        try scratch.append(1...1)
        let copy = try scratch.killed(after: 2...30)
        let size = try #require(FileSystem.size(of: copy.data + "/journal.sqlite-wal"))
        try copy.flip(byte: size / 3, of: "journal.sqlite-wal", mask: 0x10)
        return copy
    }

    @Test(arguments: [SQLiteJournal.Access.readWrite, .readOnly])
    func `A flipped bit in the log is refused and every file stays`(access: SQLiteJournal.Access) throws {
        let copy = try damaged()
        let before = try copy.contents()
        expect(.damaged, "head says that turn 30 was on disk") { _ = try copy.journal(access: access) }
        #expect(try copy.contents() == before)
    }

    @Test func `An examination reads the sound frames behind the damage`() throws {
        let copy = try damaged()
        let before = try copy.contents()
        let journal = try copy.journal(access: .examination)
        var turns: [Int] = []
        #expect(try journal.examine { turns.append($0.last) } == nil)
        #expect(turns == Array(1...30))
        #expect(journal.findings.count == 1)
        #expect(journal.findings.first?.message.contains("journal.sqlite-wal is damaged at byte ") == true)
        try journal.close()
        #expect(try copy.contents() == before)
    }

    /// Each frame in turn: whatever is behind it and still makes sense is found.
    @Test func `Whichever frame is hit an examination reads at least what SQLite reads`() throws {
        let scratch = try Scratch()
        try scratch.append(1...1)
        let killed = try scratch.killed(after: 2...12)
        let size = try #require(FileSystem.size(of: killed.data + "/journal.sqlite-wal"))
        let step = WriteAheadLog.frameHeaderSize + SQLiteConnection.pageSize
        for byte in stride(from: WriteAheadLog.headerSize + 40, to: size, by: step) {
            for field in [0, -28, -20] where byte + field >= 0 {
                let copy = try killed.copy()
                try copy.flip(byte: byte + field, of: "journal.sqlite-wal", mask: 2)
                let journal = try copy.journal(access: .examination)
                var found: [Int] = []
                _ = try journal.examine { found.append($0.last) }
                #expect(found == Array(1...max(1, found.count)))
                // All commits write the same page: only the newest frame of it is needed.
                let frame = (byte + field - WriteAheadLog.headerSize) / step
                let frames = (size - WriteAheadLog.headerSize) / step
                if frame < frames - 2 { #expect(found.last == 12, "frame \(frame) of \(frames), field \(field)") }
            }
        }
    }

    /// The facts have pages of their own.
    @Test func `When the facts cannot be read an examination reads all batches`() throws {
        let scratch = try Scratch()
        try scratch.fill()
        try scratch.clearFacts()
        let journal = try scratch.journal(access: .examination)
        var turns: [Int] = []
        #expect(try journal.examine { turns.append($0.last) } == nil)
        #expect(turns == [999, 1999, 2000])
        #expect(journal.findings.contains { $0.message.contains("the facts cannot be read") }, "\(journal.findings)")
    }

    @Test func `The log goes to the archive`() throws {
        let copy = try damaged()
        let log = try Data(contentsOf: URL(filePath: copy.data + "/journal.sqlite-wal"))
        let folder = try DataFolder(at: copy.data)
        let journal = try SQLiteJournal(in: folder, access: .examination)
        let draft = try JournalBuilder(at: folder.replacement, from: journal, as: .new)
        _ = try journal.examine { try draft.append([$0]) }
        try draft.finish()
        try journal.close()
        let archive = try #require(try folder.installReplacement())
        #expect(try Data(contentsOf: URL(filePath: archive + "/journal.sqlite-wal")) == log)
    }

    @Test func `A journal that is only looked at leaves no log behind`() throws {
        for access in [SQLiteJournal.Access.readWrite, .readOnly, .examination] {
            let scratch = try Scratch()
            try scratch.append(1...3)
            let before = try scratch.contents()
            try scratch.journal(access: access).close()
            _ = try scratch.journal(access: access)
            #expect(try scratch.contents() == before)
        }
    }

    // MARK: What is lost, and what tells of it

    @Test func `An older head with a lost log is refused`() throws {
        let scratch = try Scratch()
        try scratch.append(1...2)
        let old = try Data(contentsOf: URL(filePath: scratch.data + "/head"))
        try scratch.append(3...4)
        // The log is gone already: the journal was closed in order. So `head` should name turn 4.
        try old.write(to: URL(filePath: scratch.data + "/head"))
        let before = try scratch.contents()
        expect(.damaged, "whether later turns are lost cannot be told") { _ = try scratch.journal() }
        #expect(try scratch.contents() == before)
        try FileManager.default.removeItem(atPath: scratch.data + "/head")
        #expect(try scratch.journal().warnings.count == 1, "an operator may know better")
    }

    /// As after the death of the machine: nothing names the end. But a power failure damages only the newest transaction.
    @Test func `Without any witness damage before whole transactions is refused`() throws {
        let copy = try damaged()
        for name in ["head", "marker"] { try FileManager.default.removeItem(atPath: copy.data + "/" + name) }
        let before = try copy.contents()
        expect(.damaged, "SQLite does not read what was committed behind it") { _ = try copy.journal() }
        #expect(try copy.contents() == before)
    }

    /// Log and witnesses agree, and the database has grown since.
    @Test func `An older log with its witnesses is no match for a newer database`() throws {
        func batches(_ turns: ClosedRange<Int>) -> [Batch] {
            turns.map { Batch(first: $0, last: $0, bytes: [UInt8](repeating: UInt8($0), count: 9_000)) }
        }
        let source = try Scratch()
        let journal = try source.journal()
        let older = try source.killed(journal) { for batch in batches(1...10) { try journal.append(batch) } }
        let copy = try source.killed(journal) {
            for batch in batches(11...40) { try journal.append(batch) }
            try journal.checkpoint()
            for batch in batches(41...42) { try journal.append(batch) }
        }
        for name in ["journal.sqlite-wal", "head", "marker"] {
            try Data(contentsOf: URL(filePath: older.data + "/" + name)).write(to: URL(filePath: copy.data + "/" + name))
        }
        let before = try copy.contents()
        expect(.damaged, "has more pages than the log knows of") { _ = try copy.journal() }
        #expect(try copy.contents() == before)
        var turns: [Int] = []
        _ = try copy.journal(access: .examination).examine { turns.append($0.last) }
        #expect(turns == Array(1...40), "without the log, the database has them")
    }

    @Test func `The marker tells of turns that an older head does not know`() throws {
        let scratch = try Scratch()
        try scratch.append(1...2)
        let old = try Data(contentsOf: URL(filePath: scratch.data + "/head"))
        let copy = try scratch.killed(after: 3...5)
        try old.write(to: URL(filePath: copy.data + "/head"))
        try FileManager.default.removeItem(atPath: copy.data + "/journal.sqlite-wal")
        let before = try copy.contents()
        expect(.damaged, "ends at turn 2, but \(copy.data)/marker says that turn 5 was on disk") { _ = try copy.journal() }
        #expect(try copy.contents() == before)
    }

    @Test func `The words of the marker are where the host leaves them alone`() {
        // docs/journal.md. The 32 suspects that a store keeps end before them.
        #expect(MarkedEnd.offset == 4_048 && MarkedEnd.byteCount == 24)
    }

    @Test func `The marker of another journal tells nothing`() throws {
        let (scratch, other) = (try Scratch(), try Scratch())
        try scratch.append(1...2)
        try other.append(1...1)
        let killed = try other.killed(after: 2...9)
        try FileManager.default.copyItem(atPath: killed.data + "/marker", toPath: scratch.data + "/marker")
        #expect(try scratch.journal().last == 2)
    }

    @Test func `A folder in which a store has served is no new one`() throws {
        let scratch = try Scratch()
        try scratch.append(1...2)
        let killed = try scratch.killed(after: 3...5)
        let cases: [(kept: [String], text: String)] = [
            (["marker", "lock"], "marker says that turn 5 was on disk"), (["head"], "head says that turn 5 was on disk"),
            (["journal.sqlite-wal"], "its log is there"), (["journal.id"], "journal.id says that there was a journal"),
        ]
        for (kept, text) in cases {
            let copy = try killed.copy()
            for name in try copy.files() where !kept.contains(name) {
                try FileManager.default.removeItem(atPath: copy.data + "/" + name)
            }
            let before = try copy.contents()
            for access in [SQLiteJournal.Access.readWrite, .readOnly] {
                expect(.lost, text) { _ = try copy.journal(access: access) }
            }
            #expect(try copy.contents().filter { $0.key != "lock" } == before.filter { $0.key != "lock" })
            let folder = try DataFolder(at: copy.data)
            let archive = try #require(try folder.archive())
            #expect(try SQLiteJournal(in: folder).last == 0, "with --fresh it is begun anew")
            #expect(try FileManager.default.contentsOfDirectory(atPath: archive) == kept.filter { $0 != "lock" })
        }
    }

    @Test func `A journal of which all is behind damage in its log is damaged, and can be examined`() throws {
        let copy = try Scratch().killed(after: 1...3)
        // In its second frame, before the first commit.
        try copy.flip(byte: 32 + 24 + SQLiteConnection.pageSize + 200, of: "journal.sqlite-wal")
        for access in [SQLiteJournal.Access.readWrite, .readOnly] {
            expect(.damaged, "journal.sqlite shows nothing of the journal that it had.") { _ = try copy.journal(access: access) }
        }
        let journal = try copy.journal(access: .examination)
        #expect(!journal.findings.isEmpty)
        try journal.close()
    }

    @Test func `A log that is began anew and torn is no loss`() throws {
        let scratch = try Scratch()
        try scratch.append(1...1)
        let copy = try scratch.killed(after: 2...3)
        // The newest transaction is in pieces, and the witnesses are behind, as after the death of the machine.
        let size = try #require(FileSystem.size(of: copy.data + "/journal.sqlite-wal"))
        try copy.flip(byte: size - 100, of: "journal.sqlite-wal")
        try FileManager.default.removeItem(atPath: copy.data + "/marker")
        try FileManager.default.removeItem(atPath: copy.data + "/head")
        let journal = try copy.journal()
        #expect(journal.last == 2)
        #expect(journal.warnings.contains { $0.contains("ends with a commit that is not whole") }, "\(journal.warnings)")
    }
}

extension Scratch {
    /// Overwrites the page of the table of facts.
    fileprivate func clearFacts() throws {
        let queue = try DatabaseQueue(path: database)
        let page = try queue.read { try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'facts'") }
        try queue.close()
        var bytes = try Data(contentsOf: URL(filePath: database))
        let begin = (try #require(page) - 1) * SQLiteConnection.pageSize
        bytes.replaceSubrange(begin..<begin + SQLiteConnection.pageSize, with: Data(count: SQLiteConnection.pageSize))
        try bytes.write(to: URL(filePath: database))
    }

    func copy() throws -> Scratch {
        let copy = try Scratch()
        try FileManager.default.copyItem(atPath: data, toPath: copy.data)
        return copy
    }

    /// Every file and folder by its name, with what is in it.
    func contents() throws -> [String: Data?] {
        var contents: [String: Data?] = [:]
        let manager = FileManager.default
        for name in try manager.subpathsOfDirectory(atPath: data) {
            let path = data + "/" + name
            if let target = try? manager.destinationOfSymbolicLink(atPath: path) {
                contents[name] = Data("-> \(target)".utf8)
            } else {
                // Nil for a folder.
                contents[name] = .some(manager.contents(atPath: path))
            }
        }
        return contents
    }
}
