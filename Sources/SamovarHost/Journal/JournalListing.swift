import Journal
public import SamovarWire

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

    /// What there is to be listed.
    public struct Extent: Sendable {
        /// The first turn that is kept.
        public let first: Int
        /// The last turn; less than the first if there are none.
        public let last: Int
        /// Where the journal has gone, if it is closed for good.
        public let moved: String?
    }

    /// Which turns are listed.
    public enum Selection: Sendable {
        case turns(ClosedRange<Int>)
        /// So many up to the last one.
        case newest(Int)

        func turns(of journal: any Journal) -> ClosedRange<Int>? {
            let wanted =
                switch self {
                case .turns(let turns): turns
                case .newest(let count): max(1, journal.last - count + 1)...max(1, journal.last)
                }
            let first = max(wanted.lowerBound, journal.first)
            return first <= wanted.upperBound ? first...wanted.upperBound : nil
        }
    }

    /// Hands over the records of some turns, in order, on a thread of its own.
    ///
    /// - Parameter body: what it throws ends the listing and is passed on.
    /// - Throws: `StoreError` if the journal cannot be read, or if what was to be handed over next was trimmed.
    @discardableResult
    public static func records(
        in location: JournalLocation, _ selection: Selection, _ body: @escaping @Sendable (Record) throws -> Void
    ) async throws -> Extent {
        try await read(location, selection) { batch, turns in
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if turns.contains(record.turn) { try body(record) }
            }
        }
    }

    /// Likewise the batches that hold some turns.
    @discardableResult
    public static func batches(
        in location: JournalLocation, _ selection: Selection, _ body: @escaping @Sendable (BatchEntry) throws -> Void
    ) async throws -> Extent {
        try await read(location, selection) { batch, _ in
            try body(BatchEntry(first: batch.first, last: batch.last, bytes: batch.bytes.count))
        }
    }

    private static func read(
        _ location: JournalLocation, _ selection: Selection,
        _ body: @escaping @Sendable (Batch, ClosedRange<Int>) throws -> Void
    ) async throws -> Extent {
        try await onJournalThread {
            var hasBegun = false
            return try JournalReading.run { () throws -> Extent in
                let journal = try StoreError.replacing { () throws(JournalError) in try location.openBesideStore() }
                let extent = Extent(first: journal.first, last: journal.last, moved: try OpenedJournal.place(ofMoved: journal))
                guard let turns = selection.turns(of: journal) else { return extent }
                do {
                    try journal.read(from: turns.lowerBound, through: turns.upperBound) { batch in
                        hasBegun = true
                        try body(batch, turns)
                    }
                } catch let error as ReplayError {
                    let code: StoreError.Code = error.isOfNewerBuild ? .configuration : .damaged
                    throw StoreError(code, "the journal in \(location) cannot be read: \(error)")
                } catch let error as JournalError where error.code == .missing && hasBegun {
                    // Another beginning would leave a hole in the list.
                    throw StoreError(.again, "the list is not whole: \(error) Do it again.")
                }
                return extent
            }
        }
    }
}
