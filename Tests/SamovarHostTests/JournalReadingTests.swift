import Foundation
import Journal
import ProcessSupport
import Synchronization
import Testing

@testable import SamovarHost

/// What is read of a journal whose store trims it meanwhile.
@Suite struct JournalReadingTests {
    private static let trimmed = "the journal was trimmed (`--retain`) each time that it was read: do it again"

    @Test func `A journal that is trimmed before its list has begun is read again, a few times`() async throws {
        func list(trims: Int) async throws -> JournalListing.Extent {
            try await JournalListing.batches(in: FollowedPlace(FollowedJournal(trims: trims)).location, .turns(1...9)) { _ in }
        }
        #expect(try await list(trims: JournalReading.attempts - 1).last == 0)
        let error = await #expect(throws: StoreError.self) { _ = try await list(trims: JournalReading.attempts) }
        #expect(error?.code == .again && error?.description == Self.trimmed)
    }

    @Test func `A list whose next turns are trimmed ends, and has no turn twice and no hole`() async throws {
        let journal = FollowedJournal(
            trouble: JournalError(.missing, "What follows turn 2 was trimmed."), last: 9,
            beginning: Batch(first: 1, last: 2, bytes: []))
        let listed = Mutex<[Int]>([])
        let error = await #expect(throws: StoreError.self) {
            _ = try await JournalListing.batches(in: FollowedPlace(journal).location, .turns(1...9)) { batch in
                listed.withLock { $0.append(batch.last) }
            }
        }
        #expect(listed.withLock(\.self) == [2])
        #expect(error?.code == .again)
        #expect(error?.description == "the list is not whole: What follows turn 2 was trimmed. Do it again.")
    }

    @Test func `A journal that is trimmed while it is imported is read again, a few times`() async throws {
        let scratch = try Scratch()
        func restore(trims: Int, to folder: String) async throws -> JournalImport {
            let source = try FollowedPlace(FollowedJournal(last: 5, trims: trims)).location
            return try await JournalImport.run(source, into: JournalLocation(dataFolder: scratch.folder(folder)))
        }
        #expect(try await restore(trims: JournalReading.attempts - 1, to: "whole").last == 5)
        let error = await #expect(throws: StoreError.self) { _ = try await restore(trims: JournalReading.attempts, to: "none") }
        #expect(error?.code == .again && error?.description == Self.trimmed)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["whole"])
    }

    @Test func `What is missing at the target of an import was not trimmed, and is told`() async throws {
        let source = try FollowedPlace(FollowedJournal(last: 5)).location
        let target = try FollowedPlace(nil, trouble: JournalError(.missing, "There is a schema without a journal.")).location
        let error = await #expect(throws: StoreError.self) { _ = try await JournalImport.run(source, into: target) }
        #expect(error?.code == .configuration && error?.description == "There is a schema without a journal.")
    }
}
