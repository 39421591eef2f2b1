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

    @Test func `One that cannot be asked for at present is not damaged`() throws {
        let away = JournalError(.unavailable, "The database is away.")
        #expect(throws: away) { _ = try JournalExamination(of: ChangingJournal(snapshots: [10], trouble: away)) }
    }
}
