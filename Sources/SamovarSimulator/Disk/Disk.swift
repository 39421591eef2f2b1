import Journal
import SamovarCore

/// The disk of the store: what a process that starts next would find. It also is the store's journal, and keeps its contract.
///
/// Of an append that is under way when the process dies, the disk may hold all, nothing, or a torn piece, which the next start
/// drops, as SQLite does with the end of its log. What was confirmed stays; a bit that rots is noticed by the digest.
final class Disk {
    struct StoredBatch {
        let batch: Batch
        var isRotten = false
    }

    struct StoredSnapshot {
        var snapshot: Snapshot
        var isRotten = false
        /// What was saved, if something else is there now.
        var original: Snapshot?
    }

    private(set) var timeline: Timeline
    private(set) var secret: Secret
    private var batches: [StoredBatch] = []
    private var kept: [StoredSnapshot] = []
    private var facts: [String: [UInt8]] = [:]
    /// The last turn that was trimmed.
    private var trimmed = 0
    /// The end of a write that never finished.
    private(set) var isTorn = false

    // Faults.
    var isFull = false
    /// The next append fails; whether its batch is stored all the same.
    var failure: (error: JournalError, isKept: Bool)?

    private var isOpen = true
    private var hasFailed: JournalError?

    init(timeline: Timeline, secret: Secret) {
        self.timeline = timeline
        self.secret = secret
    }

    // MARK: Between processes

    /// The next process opens the journal.
    func reopen() {
        isOpen = true
        hasFailed = nil
        failure = nil
        isTorn = false
    }

    /// The process died in the middle of a write.
    func tear() { isTorn = true }

    /// The old data folder is archived, and another begins.
    func begin(timeline: Timeline, secret: Secret) {
        self.timeline = timeline
        self.secret = secret
        batches.removeAll()
        kept.removeAll()
        facts.removeAll()
        trimmed = 0
        reopen()
    }

    // MARK: Damage

    var isEmpty: Bool { batches.isEmpty }
    var batchCount: Int { batches.count }
    var snapshotCount: Int { kept.count }
    var hasDamagedSnapshots: Bool { kept.contains { $0.isRotten || $0.original != nil } }

    func rot(batch index: Int) { batches[index].isRotten = true }
    func rot(snapshot index: Int) { kept[index].isRotten = true }

    /// A snapshot whose digest is right and whose content is not: written by a build with a fault, say.
    func garble(snapshot index: Int) {
        let old = kept[index].snapshot
        kept[index].original = kept[index].original ?? old
        kept[index].snapshot = Snapshot(turn: old.turn, bytes: Array(old.bytes.prefix(old.bytes.count / 2)))
    }

    /// An operator brings the damaged blocks back from the mirror.
    func repair() {
        for index in batches.indices { batches[index].isRotten = false }
        for index in kept.indices {
            kept[index].isRotten = false
            if let original = kept[index].original.take() { kept[index].snapshot = original }
        }
    }

    func dropSnapshots() { kept.removeAll() }
}

extension Disk: Journal {
    var first: Int { trimmed + 1 }
    var last: Int { batches.last?.batch.last ?? trimmed }

    func append(_ batch: Batch) throws(JournalError) {
        try requireWritable()
        try batch.requireFollowing(last)
        if isFull { throw JournalError(.full, "No space is left on the simulated disk.") }
        if let failure {
            self.failure = nil
            if failure.error.code == .inputOutput { hasFailed = failure.error }
            if failure.isKept { batches.append(StoredBatch(batch: batch)) }
            throw failure.error
        }
        batches.append(StoredBatch(batch: batch))
    }

    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireOpen()
        try requireKept(turn)
        for stored in batches[firstIndex(holding: turn)...] {
            guard !stored.isRotten else {
                throw JournalError(.damaged, "The batch of turns \(stored.batch.first) to \(stored.batch.last) is damaged.")
            }
            try body(stored.batch)
        }
    }

    func save(_ snapshot: Snapshot) throws(JournalError) {
        try requireWritable()
        try snapshot.requireCovered(by: last)
        if isFull { throw JournalError(.full, "No space is left on the simulated disk.") }
        kept.removeAll { $0.snapshot.turn == snapshot.turn }
        kept.append(StoredSnapshot(snapshot: snapshot))
        kept.sort { $0.snapshot.turn < $1.snapshot.turn }
        kept = kept.suffix(3)
    }

    func snapshots() throws(JournalError) -> [Int] {
        try requireOpen()
        return kept.reversed().map(\.snapshot.turn)
    }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try requireOpen()
        guard let stored = kept.first(where: { $0.snapshot.turn == turn }) else {
            throw JournalError(.missing, "There is no snapshot of turn \(turn).")
        }
        guard !stored.isRotten else { throw JournalError(.damaged, "The snapshot of turn \(turn) is damaged.") }
        return stored.snapshot
    }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try requireOpen()
        return facts[name]
    }

    func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try requireWritable()
        facts[name] = value
    }

    func trim(through turn: Int) throws(JournalError) -> Bool {
        try requireSnapshot(behind: turn)
        try requireWritable()
        while let batch = batches.first?.batch, batch.last <= turn {
            trimmed = batch.last
            batches.removeFirst()
        }
        return false
    }

    func close() { isOpen = false }

    private func requireOpen() throws(JournalError) {
        guard isOpen else { throw JournalError(.misuse, "The journal is closed.") }
    }

    private func requireWritable() throws(JournalError) {
        try requireOpen()
        if let hasFailed { throw hasFailed }
    }

    private func firstIndex(holding turn: Int) -> Int {
        var low = 0
        var high = batches.count
        while low < high {
            let middle = (low + high) / 2
            if batches[middle].batch.last < turn { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
