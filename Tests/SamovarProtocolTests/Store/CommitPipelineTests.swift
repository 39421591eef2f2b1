import SamovarCore
import Testing

@testable import SamovarProtocol

/// One batch with the journal, and what waits for it.
@Suite struct CommitPipelineTests {
    private func note(_ text: String) -> StoreAction { .note(Note(.info, text)) }

    @Test func `What tells of a turn leaves with its commit, in order`() {
        var commits = CommitPipeline(durable: 4)
        #expect(commits.pass(note("old"), floor: 4) == note("old") && !commits.isCommitting)
        commits.begin(StoreFacts(turn: 6))
        #expect(commits.isCommitting && commits.pass(note("a"), floor: 5) == nil)
        #expect(commits.pass(note("b"), floor: 6) == nil && commits.pass(note("c"), floor: 7) == nil)
        #expect(commits.committed(through: 6) == [note("a"), note("b")] && commits.durable == 6 && !commits.isCommitting)
        #expect(commits.committed(through: 7) == [note("c")])
    }

    @Test func `Numbers of what is on disk follow the commit and not the batch`() {
        var commits = CommitPipeline(durable: 4, facts: StoreFacts(turn: 4, openEffects: 1))
        commits.begin(StoreFacts(turn: 6, openEffects: 3))
        #expect(commits.durableFacts == StoreFacts(turn: 4, openEffects: 1))
        _ = commits.committed(through: 6)
        #expect(commits.durableFacts == StoreFacts(turn: 6, openEffects: 3))
    }

    @Test func `A full disk is full since it was told first`() {
        var commits = CommitPipeline(durable: 0)
        #expect(!commits.isFull)
        commits.setFull(true, now: at(3))
        commits.setFull(true, now: at(5))
        #expect(commits.isFull && commits.fullSince == at(3))
        commits.setFull(false, now: at(6))
        #expect(!commits.isFull && commits.fullSince == nil)
    }
}
