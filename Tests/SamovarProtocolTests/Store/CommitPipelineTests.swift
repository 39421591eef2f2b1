import SamovarCore
import Testing

@testable import SamovarProtocol

/// One batch with the journal.
@Suite struct CommitPipelineTests {
    @Test func `Numbers of what is on disk follow the commit and not the batch`() {
        var commits = CommitPipeline(facts: StoreFacts(turn: 4, openEffects: 1))
        #expect(!commits.isCommitting)
        commits.begin(StoreFacts(turn: 6, openEffects: 3))
        #expect(commits.isCommitting)
        #expect(commits.durableFacts == StoreFacts(turn: 4, openEffects: 1))
        commits.committed()
        #expect(commits.durableFacts == StoreFacts(turn: 6, openEffects: 3) && !commits.isCommitting)
    }

    @Test func `A full disk is full since it was told first`() {
        var commits = CommitPipeline()
        #expect(!commits.isFull)
        commits.setFull(true, now: at(3))
        commits.setFull(true, now: at(5))
        #expect(commits.isFull && commits.fullSince == at(3))
        commits.setFull(false, now: at(6))
        #expect(!commits.isFull && commits.fullSince == nil)
    }
}
