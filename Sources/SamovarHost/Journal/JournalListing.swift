import Journal
public import SamovarProtocol

/// Reading the records of a journal without its program, also beside its store.
public enum JournalListing {
    /// One row of the journal: the unit in which turns become durable.
    public struct BatchEntry: Sendable {
        /// Its first turn.
        public let first: Int
        /// Its last turn.
        public let last: Int
        /// What its records take.
        public let bytes: Int
    }

    /// Hands over the records of some turns, in order, on a thread of its own.
    ///
    /// - Parameter body: what it throws ends the listing and is passed on.
    /// - Throws: `StoreError` if the journal cannot be read.
    public static func records(
        in location: JournalLocation, _ turns: ClosedRange<Int>, _ body: @escaping @Sendable (Record) throws -> Void
    ) async throws {
        try await read(location, turns) { batch in
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if turns.contains(record.turn) { try body(record) }
            }
        }
    }

    /// Likewise the batches that hold some turns.
    public static func batches(
        in location: JournalLocation, _ turns: ClosedRange<Int>, _ body: @escaping @Sendable (BatchEntry) throws -> Void
    ) async throws {
        try await read(location, turns) { batch in
            try body(BatchEntry(first: batch.first, last: batch.last, bytes: batch.bytes.count))
        }
    }

    private static func read(
        _ location: JournalLocation, _ turns: ClosedRange<Int>, _ body: @escaping @Sendable (Batch) throws -> Void
    ) async throws {
        struct Enough: Error {}
        try await onJournalThread {
            do {
                let journal = try location.openBesideStore()
                try journal.read(from: max(turns.lowerBound, journal.first)) { batch in
                    guard batch.first <= turns.upperBound else { throw Enough() }
                    try body(batch)
                }
            } catch is Enough {
            } catch let error as ReplayError {
                throw StoreError(.damaged, "the journal in \(location) cannot be read: \(error)")
            }
        }
    }
}
