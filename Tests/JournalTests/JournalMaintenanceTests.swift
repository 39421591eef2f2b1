import Journal
import Testing

@Suite struct JournalMaintenanceTests {
    private static let full = JournalError(.full, "No space is left.")

    /// A journal of ten turns, and what maintenance says of it.
    private final class Ground {
        var journal = MemoryJournal()
        var reports: [String] = []
        var isStopping = false
        /// Turns of snapshots that the program does not understand.
        var foreign: Set<Int> = []

        init() throws {
            for turn in 1...10 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        }

        func maintenance(retain: Int?) -> JournalMaintenance {
            JournalMaintenance(retain: retain) { turn in
                Snapshot(turn: turn, bytes: [0])
            } check: { [unowned self] snapshot in
                if foreign.contains(snapshot.turn) { throw JournalMaintenanceTests.full }
            } isStopping: { [unowned self] in
                isStopping
            } report: { [unowned self] in
                reports.append("\($0)")
            }
        }
    }

    @Test func `A snapshot that was handed over and one that has to be made are kept alike`() throws {
        let ground = try Ground()
        var maintenance = ground.maintenance(retain: nil)
        maintenance.perform(.save(Snapshot(turn: 3, bytes: [1, 2])), on: &ground.journal)
        maintenance.perform(.snapshot(through: 5), on: &ground.journal)
        #expect(ground.reports == ["saved(bytes: 2)", "saved(bytes: 1)"])
        #expect(try ground.journal.snapshots() == [5, 3])
        #expect(ground.journal.first == 1, "all turns are kept")
    }

    @Test func `Turns go behind the second newest snapshot that can be read, and never those that are retained`() throws {
        let ground = try Ground()
        var maintenance = ground.maintenance(retain: 2)
        maintenance.perform(.snapshot(through: 4), on: &ground.journal)
        #expect(ground.journal.first == 1, "one snapshot may turn out to be damaged")
        maintenance.perform(.snapshot(through: 6), on: &ground.journal)
        #expect(ground.journal.first == 5)
        maintenance.perform(.snapshot(through: 9), on: &ground.journal)
        maintenance.perform(.snapshot(through: 10), on: &ground.journal)
        #expect(ground.journal.first == 9, "two turns are retained")
        #expect(
            ground.reports.filter { $0.hasPrefix("trimmed") } == [
                "trimmed(through: 4)", "trimmed(through: 6)", "trimmed(through: 8)",
            ])
    }

    @Test func `A snapshot that the program does not understand stands for nothing`() throws {
        let ground = try Ground()
        ground.foreign = [6]
        var maintenance = ground.maintenance(retain: 0)
        maintenance.perform(.snapshot(through: 4), on: &ground.journal)
        maintenance.perform(.snapshot(through: 6), on: &ground.journal)
        #expect(ground.journal.first == 1)
        #expect(ground.reports.last?.contains("the snapshot of turn 6 cannot be used") == true)
        maintenance.perform(.snapshot(through: 8), on: &ground.journal)
        #expect(ground.journal.first == 5)
    }

    @Test func `Snapshots that the program cannot read do not take the place of those that it can, once turns are gone`() throws {
        let ground = try Ground()
        var maintenance = ground.maintenance(retain: 0)
        for turn in [2, 4] { maintenance.perform(.snapshot(through: turn), on: &ground.journal) }
        #expect(ground.journal.first == 3)
        ground.foreign = [5, 6, 7, 8]
        for turn in 5...9 { maintenance.perform(.snapshot(through: turn), on: &ground.journal) }
        #expect(try ground.journal.snapshots() == [9, 5, 4])
        #expect(ground.reports.count { $0.hasPrefix("notSaved") } == 3)
        #expect(ground.journal.first == 5)
    }

    @Test func `Snapshots of earlier starts are looked at when it begins`() throws {
        let ground = try Ground()
        for turn in [3, 7] { try ground.journal.save(Snapshot(turn: turn, bytes: [])) }
        var maintenance = ground.maintenance(retain: 1)
        maintenance.trim(&ground.journal)
        #expect(ground.journal.first == 4)
    }

    @Test func `Nothing is begun at the end, and what waits is kept`() throws {
        let ground = try Ground()
        var maintenance = ground.maintenance(retain: 1)
        ground.isStopping = true
        maintenance.perform(.snapshot(through: 4), on: &ground.journal)
        maintenance.perform(.save(Snapshot(turn: 10, bytes: [])), on: &ground.journal)
        #expect(try ground.journal.snapshots() == [10])
        #expect(ground.journal.first == 1)
        #expect(ground.reports == ["saved(bytes: 0)"])
    }

    @Test func `A snapshot ahead of the journal is not kept, and a disk that failed ends the store`() throws {
        let ground = try Ground()
        var maintenance = ground.maintenance(retain: nil)
        maintenance.perform(.save(Snapshot(turn: 11, bytes: [])), on: &ground.journal)
        #expect(ground.reports.count == 1 && ground.reports[0].hasPrefix("notSaved"))
        ground.journal.failNextAppend(with: JournalError(.inputOutput, "The disk failed."))
        #expect(throws: JournalError.self) { try ground.journal.append(Batch(first: 11, last: 11, bytes: [])) }
        maintenance.perform(.save(Snapshot(turn: 10, bytes: [])), on: &ground.journal)
        #expect(ground.reports.count == 2 && ground.reports[1].hasPrefix("failed"))
    }

    // MARK: What may go

    @Test func `Nothing goes before two snapshots were verified`() {
        #expect(JournalMaintenance.limit(last: 1_000, keeping: 10, verified: []) == nil)
        #expect(JournalMaintenance.limit(last: 1_000, keeping: 10, verified: [900]) == nil)
    }

    @Test func `What is behind the older of two snapshots goes unless it is to be kept`() {
        #expect(JournalMaintenance.limit(last: 1_000, keeping: 10, verified: [900, 600, 300]) == 600)
        #expect(JournalMaintenance.limit(last: 1_000, keeping: 500, verified: [900, 600, 300]) == 500)
        #expect(JournalMaintenance.limit(last: 1_000, keeping: 1_000, verified: [900, 600]) == nil)
        #expect(JournalMaintenance.limit(last: 1_000, keeping: 5_000, verified: [900, 600]) == nil)
    }
}
