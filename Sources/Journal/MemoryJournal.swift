import Synchronization

/// A journal that lives in memory: for tests, simulations and stores that need not survive their process.
///
/// It may be used from any thread. A test keeps a second reference to the journal it gives away, to let an append fail
/// and to look at what was written:
///
/// ```swift
/// let journal = MemoryJournal()
/// journal.failNextAppend(with: JournalError(.full, "No space is left."))
/// ```
public final class MemoryJournal: Journal, Sendable {
    fileprivate struct Contents {
        var batches: [Batch] = []
        var snapshots: [Snapshot] = []  // in the order of their turns
        var facts: [String: [UInt8]] = [:]
        var isOpen = true
        var planned: (error: JournalError, keepsBatch: Bool)?
        var failure: JournalError?

        /// The last turn that was trimmed.
        var trimmed = 0

        var last: Int { batches.last?.last ?? trimmed }
    }

    private let contents: Mutex<Contents>

    public init() {
        contents = Mutex(Contents())
    }

    private init(_ contents: sending Contents) {
        self.contents = Mutex(contents)
    }

    public var first: Int { contents.withLock(\.trimmed) + 1 }
    public var last: Int { contents.withLock(\.last) }
    public var durability: Durability { .none }

    public func append(_ batch: Batch) throws(JournalError) {
        try contents.withLock { contents throws(JournalError) in
            try contents.requireWritable()
            try batch.requireFollowing(contents.last)
            let planned = contents.planned.take()
            if planned?.keepsBatch ?? true { contents.batches.append(batch) }
            guard let error = planned?.error else { return }
            if error.forbidsWriting { contents.failure = error }
            throw error
        }
    }

    public func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireKept(turn)
        let batches = try contents.withLock { contents throws(JournalError) in
            try contents.requireOpen()
            return contents.batches.drop { $0.last < turn }
        }
        for batch in batches { try body(batch) }
    }

    public func save(_ snapshot: Snapshot) throws(JournalError) {
        try contents.withLock { contents throws(JournalError) in
            try contents.requireWritable()
            try snapshot.requireCovered(by: contents.last)
            contents.snapshots.removeAll { $0.turn == snapshot.turn }
            let index = contents.snapshots.firstIndex { $0.turn > snapshot.turn } ?? contents.snapshots.endIndex
            contents.snapshots.insert(snapshot, at: index)
            contents.snapshots = contents.snapshots.suffix(3)
        }
    }

    public func snapshots() throws(JournalError) -> [Int] {
        try contents.withLock { contents throws(JournalError) in
            try contents.requireOpen()
            return contents.snapshots.reversed().map(\.turn)
        }
    }

    public func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        try contents.withLock { contents throws(JournalError) in
            try contents.requireOpen()
            guard let snapshot = contents.snapshots.first(where: { $0.turn == turn }) else {
                throw JournalError(.missing, "There is no snapshot of turn \(turn.grouped).")
            }
            return snapshot
        }
    }

    public func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        try contents.withLock { contents throws(JournalError) in
            try contents.requireOpen()
            return contents.facts[name]
        }
    }

    public func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try contents.withLock { contents throws(JournalError) in
            try contents.requireWritable()
            contents.facts[name] = value
        }
    }

    public func trim(through turn: Int) throws(JournalError) -> Bool {
        try requireSnapshot(behind: turn)
        return try contents.withLock { contents throws(JournalError) in
            try contents.requireWritable()
            while let batch = contents.batches.first, batch.last <= turn {
                contents.trimmed = batch.last
                contents.batches.removeFirst()
            }
            return false
        }
    }

    public func close() {
        contents.withLock { $0.isOpen = false }
    }
}

extension MemoryJournal {
    /// Lets the next valid append throw `error`.
    ///
    /// - Parameter keepingBatch: Whether the batch is stored all the same, as when a machine dies after the disk has
    ///   written and before it has answered.
    public func failNextAppend(with error: JournalError, keepingBatch: Bool = false) {
        contents.withLock { $0.planned = (error, keepingBatch) }
    }

    /// What was written, for those who look at it or damage it.
    package var batches: [Batch] { contents.withLock(\.batches) }

    /// The snapshots that are kept, oldest first.
    package var savedSnapshots: [Snapshot] {
        get { contents.withLock(\.snapshots) }
        set { contents.withLock { $0.snapshots = newValue } }
    }

    /// What the next process would find: an open journal with the same contents, free of planned and past failures.
    /// This journal is closed, as a process that is gone cannot write.
    public func reopened() -> MemoryJournal {
        let image = contents.withLock { contents in
            contents.isOpen = false
            return (contents.batches, contents.snapshots, contents.facts, contents.trimmed)
        }
        return MemoryJournal(Contents(batches: image.0, snapshots: image.1, facts: image.2, trimmed: image.3))
    }
}

extension MemoryJournal.Contents {
    fileprivate func requireOpen() throws(JournalError) {
        guard isOpen else { throw JournalError(.misuse, "The journal is closed.") }
    }

    fileprivate func requireWritable() throws(JournalError) {
        try requireOpen()
        if let failure { throw failure }
    }
}
