import SamovarCore

extension Record {
    /// Whether it belongs to the group of the record before it, as far as it can be told without the program: a follow-up, or a
    /// further message of one answer.
    ///
    /// A record that begins a group may be taken for one that does not, never the other way round.
    package var continuesGroup: Bool {
        if case .streamed = event { return false }
        return switch origin {
        case .followUp: true
        case .effect(_, _, let index): index > 0
        case .store, .client, .failure, .operator, .subscription: false
        }
    }
}

extension RecordBatch {
    /// The whole groups at the beginning of a stored batch, up to a turn; empty if the first group ends later.
    ///
    /// A journal may be cut there: a part of a group would be a state that the program was never in.
    ///
    /// - Throws: `ReplayError` naming the turn that could not be read.
    public static func groups(through turn: Int, first: Int, last: Int, bytes: [UInt8]) throws -> RecordBatch {
        var records: [Record] = []
        var end = turn >= last ? last : first - 1
        try read(first: first, last: last, bytes: bytes) { record in
            if !record.continuesGroup, record.turn <= turn + 1 { end = max(end, record.turn - 1) }
            records.append(record)
        }
        var batch = RecordBatch(after: first - 1)
        for record in records.prefix(end - first + 1) { batch.append(record) }
        return batch
    }
}
