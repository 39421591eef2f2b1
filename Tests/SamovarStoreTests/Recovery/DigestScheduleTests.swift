import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// When the store writes what its state is.
@Suite struct DigestScheduleTests {
    private let settings = StoreSettings()

    private func due(_ digests: DigestSchedule, at head: Int, snapshotBytes: Int = 0) -> Timestamp? {
        digests.dueTime(head: head, snapshotBytes: snapshotBytes, settings)
    }

    /// One that has told of turn 4 at second 10.
    private func written(cost: Duration) -> DigestSchedule {
        var digests = DigestSchedule()
        digests.saw(4, now: at(9))
        digests.wrote(4, now: at(10))
        digests.took(cost)
        return digests
    }

    @Test func `The first is due with the first turn, and none of a journal without one`() throws {
        let digests = DigestSchedule()
        #expect(due(digests, at: 0) == nil)
        #expect(try #require(due(digests, at: 1)) <= at(0))
    }

    @Test func `The first turn is one, behind which a state that is dear waits for a second`() {
        var digests = DigestSchedule()
        digests.saw(1, now: at(9))
        #expect(due(digests, at: 1, snapshotBytes: settings.snapshotInlineBytes + 1) == at(10))
    }

    @Test func `Its own turn is nothing new`() {
        let digests = written(cost: .zero)
        #expect(due(digests, at: 5) == nil && !digests.isBehind(5))
        #expect(due(digests, at: 6) == at(11) && digests.isBehind(6))
    }

    @Test(arguments: [
        (Duration.milliseconds(5), 11.0), (.milliseconds(10), 11), (.milliseconds(15), 11.5), (.milliseconds(20), 12),
    ])
    func `It takes at most one part in a hundred of the time`(_ cost: Duration, _ next: Double) {
        #expect(due(written(cost: cost), at: 6) == at(0) + .seconds(next))
    }

    @Test func `A state that is dear waits until there was no turn for a second`() {
        var digests = written(cost: .milliseconds(21))
        digests.saw(6, now: at(20))
        #expect(due(digests, at: 6) == at(21))
        digests.saw(7, now: at(20.5))
        #expect(due(digests, at: 7) == at(21.5))
        digests.saw(7, now: at(21))
        #expect(due(digests, at: 7) == at(21.5))
        // And no earlier than it may cost.
        digests.took(.milliseconds(500))
        #expect(due(digests, at: 7) == at(60))
    }

    @Test func `A state that costs as much as a digest may is not dear, and does not wait`() {
        var digests = written(cost: settings.digestCost)
        digests.saw(6, now: at(20))
        #expect(due(digests, at: 6) == at(12))
    }

    @Test func `Before the first one the size of the snapshot tells whether it is dear`() {
        var digests = DigestSchedule()
        digests.saw(3, now: at(2))
        #expect(due(digests, at: 3, snapshotBytes: settings.snapshotInlineBytes + 1) == at(3))
        #expect(due(digests, at: 3, snapshotBytes: settings.snapshotInlineBytes)! < at(2))
    }

    @Test func `After one that could not be made there are none`() {
        var digests = written(cost: .zero)
        digests.failed()
        #expect(due(digests, at: 6) == nil && !digests.isBehind(6))
    }
}
