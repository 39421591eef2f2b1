import DequeModule
import Journal
import SamovarCore
import SamovarStore

/// The threads of a store process beside its loop: that of its journal, and that of the maintenance.
extension StoreProcess {
    /// Begins service on a journal that it has taken.
    func serve(_ ready: consuming StoreMachine, start: Int, on journal: DatabaseJournal) throws(Violation) {
        var machine = ready
        clerk = JournalWriter(journal)
        maintenance = makeMaintenance()
        // While this one was stopped another may have taken it: then there are turns that this one lacks, and it ends when it hears of them.
        if let database = world.database, !database.hasUnconfirmed, database.contents.row.epoch == start {
            try world.checker.recovered(machine)
        }
        prepare(machine)
        former = (keys, time)
        (heard, hears) = (machine.head, machine.head)
        do {
            let seed = packed(ModelProgram.Seed(viewBytes: world.swarm.viewBytes))
            try machine.start(seed: seed, now: localNow, number: start)
        } catch {
            return try world.checker.require(false, .i4, expected: "a store that starts", seen: "\(error)")
        }
        self.start = start
        self.machine = consume machine
        wake(at: world.now)
    }

    // MARK: The journal's thread

    func append(_ batch: Batch) {
        batches.append(batch)
        startWriting()
    }

    private func startWriting() {
        guard !isWriting, !batches.isEmpty else { return }
        isWriting = true
        world.plan(for: self, at: world.now + world.syncTime(), diskDone)
    }

    private func diskDone() throws(Violation) {
        guard !isPaused else { return world.plan(for: self, at: world.now + 20 * milliseconds, diskDone) }
        guard let batch = batches.first else { return }
        guard try perform(batch, waiting: true) else {
            return world.plan(for: self, at: world.now + JournalWriter.pause.microseconds, diskDone)
        }
        batches.removeFirst()
        isWriting = false
        startWriting()
    }

    /// False if the disk is full, and the same is to be tried again.
    func perform(_ batch: Batch, waiting: Bool) throws(Violation) -> Bool {
        let last = journal.last
        var reports: [JournalWriter.Event] = []
        let isDone = clerk?.append(batch, waiting: waiting) { reports.append($0) } ?? true
        events += reports.map { .journal($0) }
        world.note("disk: append \(batch.first) to \(batch.last)\(isDone ? "" : ", full"), it ends at turn \(journal.last)")
        if succession == nil, world.disk.last > last { try world.checker.durable(batch) }
        wake(at: world.now)
        return isDone
    }

    /// The write that was under way when the process died may have reached the disk.
    func writeUnconfirmed() throws(Violation) {
        guard isWriting, let batch = batches.first else { return }
        _ = try perform(batch, waiting: false)
    }

    var journal: any Journal { succession?.journal ?? world.disk }

    /// The batch of the write that is under way.
    var appending: Batch? { isWriting ? batches.first : nil }

    var isAppending: Bool { isWriting && !batches.isEmpty }

    // MARK: The maintenance's thread

    func post(_ item: JournalMaintenance.Work) {
        maintenanceWork.append(item)
        startMaintaining()
    }

    private func startMaintaining() {
        guard !isMaintaining, !maintenanceWork.isEmpty else { return }
        isMaintaining = true
        world.plan(for: self, at: world.now + 2 * world.syncTime(), maintenanceDone)
    }

    private func maintenanceDone() {
        guard !isPaused else { return world.plan(for: self, at: world.now + 20 * milliseconds, maintenanceDone) }
        maintainNext()
        isMaintaining = false
        startMaintaining()
    }

    func maintainNext() {
        guard let item = maintenanceWork.popFirst() else { return }
        world.note("disk: \(item.description)")
        if var journal = succession?.journal {
            maintenance?.perform(item, on: &journal)
            wake(at: world.now)
        } else {
            maintain { $0.perform(item, on: &$1) }
        }
    }

    func maintain(_ body: (inout JournalMaintenance, inout Disk) -> Void) {
        guard var taken = maintenance else { return }
        var disk = world.disk
        body(&taken, &disk)
        maintenance = taken
        wake(at: world.now)
    }
}
