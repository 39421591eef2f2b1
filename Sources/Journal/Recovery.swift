extension Journal {
    /// Brings a reader to the last turn: the newest snapshot that it can use, then the later batches.
    ///
    /// A snapshot is a cache, so one that cannot be used is passed over with a note: an older one or the whole journal will do.
    /// A batch that cannot be read is an error, because without it there would be another history. So is a journal that is not reached, which
    /// says nothing of its snapshots.
    ///
    /// - Parameters:
    ///   - last: The last turn to read.
    ///   - make: Makes a reader that has read nothing. A reader whose snapshot failed is not used any more.
    /// - Throws: ``MissingBeginning``; what reading the journal and `replay` throw.
    public func recover<Reader: ~Copyable>(
        through last: Int = .max, _ make: () -> Reader, restore: (inout Reader, Snapshot) throws -> Void,
        replay: (inout Reader, Batch) throws -> Void, note: (String) -> Void
    ) throws -> Reader {
        for turn in try snapshots() where turn <= last && turn + 1 >= first {
            var reader = make()
            do {
                try restore(&reader, try snapshot(at: turn))
            } catch let error as any UnmendableError {
                throw error
            } catch let error as JournalError where error.isAway {
                throw error
            } catch {
                note("the snapshot of turn \(turn) cannot be used, an older one or the whole journal will do: \(error)")
                continue
            }
            try read(from: turn + 1, through: last) { try replay(&reader, $0) }
            return reader
        }
        guard first <= 1 else { throw MissingBeginning() }
        var reader = make()
        try read(from: 1, through: last) { try replay(&reader, $0) }
        return reader
    }

    /// Reads the batches that begin with these turns, and none behind them.
    public func read(from turn: Int, through last: Int, _ body: (Batch) throws -> Void) throws {
        do {
            try read(from: turn) { batch in
                guard batch.first <= last else { throw Enough() }
                try body(batch)
                if batch.last >= last { throw Enough() }
            }
        } catch is Enough {}
    }
}

/// No snapshot can be used, and the journal was trimmed: what it keeps does not begin at the beginning.
public struct MissingBeginning: Error, Equatable, Sendable {
    public init() {}
}

/// An error of a reader that no other snapshot would mend.
public protocol UnmendableError: Error {}

/// Ends a reading that has come far enough.
struct Enough: Error {}
