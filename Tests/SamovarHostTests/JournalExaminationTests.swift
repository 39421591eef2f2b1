import Journal
import Testing

@testable import SamovarHost

/// What is told of a journal while its store goes on.
@Suite struct JournalExaminationTests {
    @Test func `A snapshot that was taken away since it was listed is not damaged`() throws {
        let examination = try JournalExamination(of: ChangingJournal(snapshots: [10, 8], gone: [8]))
        #expect(examination.snapshots.map(\.turn) == [10])
        #expect(examination.snapshots.allSatisfy { $0.problem == nil }, "\(examination.snapshots)")
        #expect(examination.isSound, "\(examination.problems)")
    }

    @Test func `Snapshots that are taken away while the batches are read were looked at before`() throws {
        let examination = try JournalExamination(of: ChangingJournal(snapshots: [10, 8]))
        #expect(examination.snapshots.map(\.turn) == [10, 8])
        #expect(examination.isSound, "\(examination.problems)")
    }

    @Test func `A journal that is trimmed while it is read is read again, a few times`() async throws {
        let journal = try FollowedPlace(FollowedJournal(trims: JournalReading.attempts - 1)).location
        #expect(try await JournalExamination.run(journal).isSound)
        let trimmed = try FollowedPlace(FollowedJournal(trims: JournalReading.attempts)).location
        let error = await #expect(throws: StoreError.self) { _ = try await JournalExamination.run(trimmed) }
        #expect(error?.code == .again)
        #expect(error?.description == "the journal was trimmed (`--retain`) each time that it was read: do it again")
    }

    @Test func `One that cannot be asked for at present is not damaged`() throws {
        let away = JournalError(.unavailable, "The database is away.")
        #expect(throws: away) { _ = try JournalExamination(of: ChangingJournal(snapshots: [10], trouble: away)) }
    }
}
