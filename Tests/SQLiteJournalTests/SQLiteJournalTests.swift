import Foundation
import GRDB
import Journal
import SamovarTesting
import Testing

@testable import SQLiteJournal

@Suite struct SQLiteJournalTests {
    @Test(arguments: JournalContract.Rule.allCases)
    func keepsTheContract(_ rule: JournalContract.Rule) throws {
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

    @Test func aJournalThatWasNotClosedHasEverythingThatWasAppended() throws {
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

    @Test func theConnectionIsSetUpForDurability() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        let settings = try journal.connection.perform("settings") { db in
            try ["journal_mode", "locking_mode", "synchronous", "mmap_size", "page_size", "wal_autocheckpoint", "trusted_schema"]
                .map { try String.fetchOne(db, sql: "PRAGMA \($0)") ?? "none" }
        }
        #expect(settings == ["wal", "exclusive", "2", "0", "8192", "0", "0"])
        #expect(try scratch.files() == ["head", "journal.id", "journal.sqlite", "journal.sqlite-wal", "lock"])
    }

    @Test func theLogStaysNearItsLimitHoweverMuchIsAppended() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        let bytes = [UInt8](repeating: 7, count: 4 << 20)
        for turn in 1...12 { try journal.append(Batch(first: turn, last: turn, bytes: bytes)) }

        let size = try FileManager.default.attributesOfItem(atPath: scratch.database + "-wal")[.size] as? Int
        #expect(try #require(size) < SQLiteJournal.logLimit + 6 << 20)
        #expect(try journal.batches(from: 7).map(\.first) == Array(7...12))
    }

    @Test func aCheckpointWithNothingToDoAndOneWithSomethingKeepTheJournalAsItIs() throws {
        let scratch = try Scratch()
        let journal = try scratch.journal()
        try journal.checkpoint()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        try journal.checkpoint()
        try journal.append(Batch(first: 2, last: 2, bytes: [2]))
        #expect(try journal.batches().map(\.bytes) == [[1], [2]])
    }

    @Test func aJournalForReadingReadsAndRefusesToWrite() throws {
        let scratch = try Scratch()
        try scratch.fill()
        let journal = try scratch.journal(access: .readOnly)
        #expect(try journal.batches().count == 3)
        #expect(try journal.snapshot(at: 999).bytes == [10, 11])
        expect(.misuse, "was opened for reading only") { try journal.append(Batch(first: 2001, last: 2001, bytes: [])) }
        expect(.misuse, "was opened for reading only") { try journal.record([], as: "seed") }
        try journal.close()
    }

    @Test func aJournalForReadingSeesWhatACrashedStoreLeftInTheLog() throws {
        let scratch = try Scratch()
        let copy = scratch.path + "/copy"
        let journal = try scratch.journal()
        try journal.append(Batch(first: 1, last: 3, bytes: [1]))
        try FileManager.default.copyItem(atPath: scratch.data, toPath: copy)
        #expect(try SQLiteJournal(at: copy, access: .readOnly).last == 3)
    }

    @Test func aJournalForReadingIsNeverCreated() throws {
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
