import Journal
import SamovarCore

/// The disk of the store: what a process that starts next would find. It also is the store's journal, and keeps its contract.
///
/// Of an append that is under way when the process dies, the disk may hold all, nothing, or a torn piece, which is nothing: the next start
/// drops it, as SQLite does with the end of its log. What was confirmed stays; a bit that rots is noticed by the digest.
final class Disk {
    private(set) var timeline: Timeline
    private(set) var secret: Secret
    private var journal = MemoryJournal()

    // Faults.
    var isFull = false
    /// The next append fails; whether its batch is stored all the same.
    var failure: (error: JournalError, isKept: Bool)?
    /// The first turns of damaged batches.
    private var rottenBatches: Set<Int> = []
    /// The turns of damaged snapshots.
    private var rottenSnapshots: Set<Int> = []
    /// What was saved, where something else is now.
    private var originals: [Int: Snapshot] = [:]

    init(timeline: Timeline, secret: Secret) {
        self.timeline = timeline
        self.secret = secret
    }

    // MARK: Between processes

    /// The next process opens the journal.
    func reopen() {
        journal = journal.reopened()
        failure = nil
    }

    /// The old data folder is archived, and another begins.
    func begin(timeline: Timeline, secret: Secret) {
        self.timeline = timeline
        self.secret = secret
        journal = MemoryJournal()
        rottenBatches = []
        dropSnapshots()
        reopen()
    }

    // MARK: Damage

    var batchCount: Int { journal.batches.count }
    var snapshotCount: Int { journal.savedSnapshots.count }
    var hasDamagedSnapshots: Bool {
        journal.savedSnapshots.contains { rottenSnapshots.contains($0.turn) || originals[$0.turn] != nil }
    }

    func rot(batch index: Int) { rottenBatches.insert(journal.batches[index].first) }
    func rot(snapshot index: Int) { rottenSnapshots.insert(journal.savedSnapshots[index].turn) }

    /// A snapshot whose digest is right and whose content is not: written by a build with a fault, say.
    func garble(snapshot index: Int) {
        let old = journal.savedSnapshots[index]
        originals[old.turn] = originals[old.turn] ?? old
        journal.savedSnapshots[index] = Snapshot(turn: old.turn, bytes: Array(old.bytes.prefix(old.bytes.count / 2)))
    }

    /// An operator brings the damaged blocks back from the mirror.
    func repair() {
        rottenBatches = []
        rottenSnapshots = []
        journal.savedSnapshots = journal.savedSnapshots.map { originals[$0.turn] ?? $0 }
        originals = [:]
    }

    func dropSnapshots() {
        journal.savedSnapshots = []
        rottenSnapshots = []
        originals = [:]
    }
}

extension Disk: Journal {
    var first: Int { journal.first }
    var last: Int { journal.last }

    func append(_ batch: Batch) throws(JournalError) {
        try requireSpace()
        if let failure = failure.take() { journal.failNextAppend(with: failure.error, keepingBatch: failure.isKept) }
        try journal.append(batch)
    }

    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try journal.read(from: turn) { batch in
            guard !rottenBatches.contains(batch.first) else {
                throw JournalError(.damaged, "The batch of turns \(batch.first) to \(batch.last) is damaged.")
            }
            try body(batch)
        }
    }
    func save(_ snapshot: Snapshot) throws(JournalError) {
        try requireSpace()
        try journal.save(snapshot)
        rottenSnapshots.remove(snapshot.turn)
        originals[snapshot.turn] = nil
    }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        let snapshot = try journal.snapshot(at: turn)
        guard !rottenSnapshots.contains(turn) else { throw JournalError(.damaged, "The snapshot of turn \(turn) is damaged.") }
        return snapshot
    }

    func snapshots() throws(JournalError) -> [Int] { try journal.snapshots() }
    func fact(_ name: String) throws(JournalError) -> [UInt8]? { try journal.fact(name) }
    func record(_ value: [UInt8], as name: String) throws(JournalError) { try journal.record(value, as: name) }

    func trim(through turn: Int) throws(JournalError) -> Bool {
        try requireSnapshot(behind: turn)
        return try journal.trim(through: turn)
    }

    func close() { journal.close() }

    private func requireSpace() throws(JournalError) {
        if isFull { throw JournalError(.full, "No space is left on the simulated disk.") }
    }
}

extension JournalMaintenance.Work {
    var description: String {
        switch self {
        case .save(let snapshot): "save a snapshot of turn \(snapshot.turn)"
        case .snapshot(let turn): "make a snapshot of turn \(turn)"
        }
    }
}
