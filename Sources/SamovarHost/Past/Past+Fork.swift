import Journal
import JournalChain
import Logging
public import SamovarCore
import SamovarStore
import SamovarWire

/// A data folder that has been made of the past of a journal.
public struct JournalFork: Sendable {
    /// The last turn that it has in common with the journal.
    public let turn: Int
    /// Its own one.
    public let timeline: Timeline
    /// Effects that were open at that turn.
    public let effects: Int
    /// Sessions that went on at that turn, and are over in the fork.
    public let sessions: Int
}

extension Past {
    /// Makes a new data folder, whose store goes on from a turn as another timeline.
    ///
    /// - Parameters:
    ///   - turn: with what follows from it: a group is not taken apart.
    ///   - folder: is not there yet.
    ///   - holdsEffects: whether effects that are open there wait for an operator.
    /// - Throws: `StoreError`, also for a turn that is not known; the folder is not made then.
    public func fork(at turn: Int, to folder: String, holdsEffects: Bool) throws -> JournalFork {
        try require(turn)
        let journal = opened.journal
        let (end, part, whole) = try cut(at: turn)
        let machine = try opened.recover(through: end, accepting: &accepted, storeMachine) { logger.warning("\($0)") }
        warn(ofOlder: machine.replayed.uncompared > 0)
        let fork = machine.fork(from: timeline, holdsEffects: holdsEffects)
        let next = Timeline.random()
        do {
            let held = fork.batches.map { Batch(first: $0.first, last: $0.last, bytes: $0.bytes) }
            let parts = [part].compactMap(\.self) + held
            try JournalCopy.fork(
                journal, through: whole, and: parts, snapshotsThrough: end, as: next,
                ancestor: "turn \(end) of timeline \(timeline)", to: folder)
        } catch {
            throw opened.failure(error)
        }
        return JournalFork(turn: end, timeline: next, effects: fork.effects, sessions: fork.sessions)
    }

    /// The end of the group of a turn, the beginning of the batch in which it is unless that is whole, and the last turn of those before.
    private func cut(at turn: Int) throws -> (end: Int, part: Batch?, whole: Int) {
        var (end, whole) = (turn, opened.journal.first - 1)
        var last: Batch?
        do {
            try opened.journal.read(from: max(turn, opened.journal.first)) { batch in
                if batch.first <= end { last = batch }
                try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                    guard record.turn > turn else { return }
                    guard record.continuesGroup else { throw Enough() }
                    end = record.turn
                    last = batch
                }
            }
        } catch is Enough {
        } catch {
            throw opened.failure(error)
        }
        guard let last else { return (turn, nil, turn) }
        guard last.last > end else { return (end, nil, end) }
        whole = last.first - 1
        let part = try RecordBatch.groups(through: end, first: last.first, last: last.last, bytes: last.bytes)
        return (end, Batch(first: part.first, last: part.last, bytes: part.bytes), whole)
    }
}
