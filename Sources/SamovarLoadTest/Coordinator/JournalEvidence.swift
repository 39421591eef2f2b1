import Journal
import SamovarHost
import SamovarLoad
import SamovarWire

/// What the journal of a store that is not running, or a copy of it, says of a load test.
enum JournalEvidence {
    struct Reading: Sendable {
        let findings: Judge.Findings
        let turns: Int
        /// Of their batches.
        let bytes: Int
    }

    /// Reads all turns after one, on a thread of its own.
    ///
    /// - Throws: `StoreError` if the journal cannot be read; `LoadError` if turns of the test were trimmed.
    static func read(_ location: JournalLocation, after turn: Int, for judge: Judge) async throws -> Reading {
        try await onJournalThread {
            do {
                var judge = judge
                var turns = 0
                var bytes = 0
                let journal = try location.open()
                guard journal.first <= turn + 1 else {
                    throw LoadError("the journal in \(location) begins at turn \(journal.first): turns of the test were trimmed")
                }
                try journal.read(from: turn + 1) { batch in
                    bytes += batch.bytes.count
                    try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                        guard record.turn > turn else { return }
                        turns += 1
                        judge.read(record)
                    }
                }
                return Reading(findings: judge.verdict(), turns: turns, bytes: bytes)
            } catch let error as ReplayError {
                let code: StoreError.Code = error.isOfNewerBuild ? .configuration : .damaged
                throw StoreError(code, "the journal in \(location) cannot be read: \(error)")
            }
        }
    }
}
