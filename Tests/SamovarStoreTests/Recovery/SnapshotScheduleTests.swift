import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// When a snapshot is due, and who makes it.
@Suite struct SnapshotScheduleTests {
    private var settings: StoreSettings {
        var settings = StoreSettings()
        (settings.snapshotBytes, settings.snapshotTurns, settings.snapshotInlineBytes) = (100, 10, 20)
        return settings
    }

    @Test func `The first snapshot is made from the journal, once that is large enough`() {
        var snapshots = SnapshotSchedule()
        snapshots.journalGrew(by: 100)
        #expect(snapshots.due(at: 1, settings) == .no)
        snapshots.journalGrew(by: 1)
        #expect(snapshots.due(at: 1, settings) == .fromJournal)
        snapshots.asked(at: 1)
        #expect(snapshots.due(at: 11, settings) == .no && snapshots.turn == 1 && snapshots.journalBytes == 0)
    }

    @Test func `After so many turns a smaller journal will do`() {
        var snapshots = SnapshotSchedule()
        snapshots.journalGrew(by: 1)
        #expect(snapshots.due(at: 10, settings) == .no && snapshots.due(at: 11, settings) == .fromJournal)
        snapshots.asked(at: 11)
        snapshots.journalGrew(by: 1)
        #expect(snapshots.due(at: 21, settings) == .no && snapshots.due(at: 22, settings) == .fromJournal)
    }

    @Test func `A small state is encoded at once, and a large one is left to the host`() {
        for (bytes, due) in [(20, SnapshotSchedule.Due.atOnce), (21, .fromJournal)] {
            var snapshots = SnapshotSchedule()
            snapshots.restored(at: 5, time: at(0), bytes: bytes)
            snapshots.journalGrew(by: 101)
            #expect(snapshots.due(at: 6, settings) == due)
        }
        var snapshots = SnapshotSchedule()
        snapshots.size = 20
        snapshots.journalGrew(by: 101)
        #expect(snapshots.due(at: 1, settings) == .atOnce)
    }

    @Test func `The journal has to be more than twice as large as the snapshot`() {
        var snapshots = SnapshotSchedule()
        snapshots.restored(at: 0, time: at(0), bytes: 60)
        snapshots.journalGrew(by: 120)
        #expect(snapshots.due(at: 1, settings) == .no)
        snapshots.journalGrew(by: 1)
        #expect(snapshots.due(at: 1, settings) == .fromJournal)
    }

    @Test func `While the host makes one, no other is due; one that failed leaves the size as it was`() {
        var snapshots = SnapshotSchedule()
        snapshots.restored(at: 0, time: at(0), bytes: 20)
        snapshots.isUnderWay = true
        snapshots.journalGrew(by: 1_000)
        #expect(snapshots.due(at: 99, settings) == .no)
        snapshots.ended(bytes: nil)
        #expect(snapshots.due(at: 99, settings) == .atOnce)
        snapshots.ended(bytes: 499)
        #expect(snapshots.due(at: 99, settings) == .fromJournal)
        snapshots.ended(bytes: 500)
        #expect(snapshots.due(at: 99, settings) == .no)
    }

    @Test func `After one that was made at once the journal has to be more than twice as large as that`() throws {
        var snapshots = SnapshotSchedule()
        var bench = try PartBench()
        snapshots.save(&bench.turns, &bench.out)
        bench.commit()
        let sizes = bench.out.takeActions().compactMap { action in
            if case .save(_, let bytes) = action { bytes.count } else { nil }
        }
        let size = try #require(sizes.first)
        snapshots.ended(bytes: size)
        snapshots.journalGrew(by: 2 * size)
        let head = bench.turns.head
        #expect(size > 50 && snapshots.due(at: head, settings) == .no)
        snapshots.journalGrew(by: 1)
        #expect(snapshots.due(at: head, settings) != .no)
    }

    @Test func `While the host keeps one that was made at once, no other is due, however much comes`() throws {
        var snapshots = SnapshotSchedule()
        var bench = try PartBench()
        snapshots.save(&bench.turns, &bench.out)
        snapshots.journalGrew(by: 1 << 20)
        let head = bench.turns.head
        #expect(snapshots.due(at: head, settings) == .no)
        snapshots.ended(bytes: nil)
        #expect(snapshots.due(at: head, settings) != .no)
    }

    @Test func `A state that turned out to be large is left to the host from then on, though its snapshot was not kept`() throws {
        var snapshots = SnapshotSchedule()
        var bench = try PartBench()
        snapshots.restored(at: 0, time: at(0), bytes: 20)
        snapshots.save(&bench.turns, &bench.out)
        snapshots.ended(bytes: nil)
        let size = snapshots.size
        snapshots.journalGrew(by: 2 * size + 101)
        let head = bench.turns.head
        #expect(size > 20 && snapshots.due(at: head, settings) == .fromJournal)
    }

    @Test func `The newest snapshot is the one that was restored, until another is kept`() {
        var snapshots = SnapshotSchedule()
        #expect(snapshots.newest?.turn == nil)
        snapshots.restored(at: 5, time: at(3), bytes: 20)
        #expect(snapshots.newest?.turn == 5 && snapshots.newest?.time == at(3))
        snapshots.asked(at: 9, time: at(4))
        #expect(snapshots.newest?.turn == 5)
        snapshots.ended(bytes: 20)
        #expect(snapshots.newest?.turn == 9 && snapshots.newest?.time == at(4))
    }
}
