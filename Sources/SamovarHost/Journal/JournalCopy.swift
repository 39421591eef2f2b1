import Journal
import SamovarCore
import SQLiteJournal

/// Copying a journal, or the beginning of it, into a folder of its own.
enum JournalCopy {
    /// How many bytes of batches become one transaction of the copy.
    private static let pieceSize = 1 << 20

    /// Makes a data folder on which everything works that works on the original. The copy is the same journal, with the same
    /// timeline: for reading, and for the day the original is lost.
    ///
    /// - Parameter progress: told how far it is, and may throw to give up. Nothing is left of the copy then.
    static func export(
        _ source: SQLiteJournal, through turn: Int, to folder: String, progress: (Int) throws(JournalError) -> Void
    ) throws {
        let draft = try JournalBuilder(at: folder, from: source, as: .same)
        do {
            for (name, value) in try source.facts() { try draft.record(value, as: name) }
            try copy(source, through: turn, into: draft, progress: progress)
            try copySnapshots(of: source, into: draft)
            try draft.finish()
        } catch {
            try draft.discard()
            throw error
        }
    }

    /// Builds the replacement of a folder's journal: the whole batches up to a turn and a part of the next, as a timeline of its
    /// own. The secret stays, for `turn.random` must give in a replay what it gave.
    static func newTimeline(
        of source: SQLiteJournal, through turn: Int, and part: Batch?, in folder: DataFolder
    ) throws -> Timeline {
        let timeline = Timeline(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        let draft = try JournalBuilder(at: folder.replacement, from: source, as: .new)
        do {
            let old = try JournalSalvage.timeline(of: source)
            for (name, value) in try source.facts() { try draft.record(value, as: name) }
            try draft.record(timeline.factBytes, as: OpenedJournal.Fact.timeline)
            try draft.record(Array("turn \(part?.last ?? turn) of timeline \(old)".utf8), as: OpenedJournal.Fact.ancestor)
            try copy(source, through: turn, into: draft) { _ in }
            if let part { try draft.append([part]) }
            try copySnapshots(of: source, into: draft)
            try draft.finish()
        } catch {
            try draft.discard()
            throw error
        }
        return timeline
    }

    /// Builds the replacement of a folder's journal from a snapshot and what follows it, as if the turns before had been trimmed.
    ///
    /// - Parameter isWhole: whether nothing is lost at its end. Then it is the same journal, and the same timeline: all that peers
    ///   remember of it holds.
    static func rest(
        of source: SQLiteJournal, _ rest: JournalExamination.Rest, isWhole: Bool, in folder: DataFolder
    ) throws -> Timeline {
        let old = try JournalSalvage.timeline(of: source)
        let timeline = isWhole ? old : Timeline(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        let draft = try JournalBuilder(at: folder.replacement, from: source, as: isWhole ? .same : .new, behind: rest.snapshot)
        do {
            for (name, value) in try source.facts() { try draft.record(value, as: name) }
            if !isWhole {
                try draft.record(timeline.factBytes, as: OpenedJournal.Fact.timeline)
                try draft.record(Array("turn \(rest.last) of timeline \(old)".utf8), as: OpenedJournal.Fact.ancestor)
            }
            try copy(source, behind: rest.snapshot, through: rest.last, into: draft) { _ in }
            try copySnapshots(of: source, from: rest.snapshot, into: draft)
            try draft.finish()
        } catch {
            try draft.discard()
            throw error
        }
        return timeline
    }

    /// Copies the whole batches up to a turn.
    static func copy(
        _ source: SQLiteJournal, behind begin: Int? = nil, through turn: Int, into draft: JournalBuilder,
        progress: (Int) throws(JournalError) -> Void
    ) throws {
        struct Enough: Error {}
        var piece: [Batch] = []
        var size = 0
        func flush() throws {
            try draft.append(piece)
            piece.removeAll()
            size = 0
            try progress(draft.last)
        }
        do {
            // Read one by one: what comes after the last of them may be damaged.
            let problem = try source.examine(behind: begin) { batch in
                guard batch.last <= turn else { throw Enough() }
                piece.append(batch)
                size += batch.bytes.count
                if size >= pieceSize { try flush() }
            }
            if let problem, piece.last?.last ?? draft.last < turn { throw problem }
        } catch is Enough {}
        try flush()
    }

    /// Damaged ones stay behind: a snapshot is a cache.
    static func copySnapshots(of source: SQLiteJournal, from begin: Int = 0, into draft: JournalBuilder) throws {
        for turn in try source.snapshots() where turn >= begin && turn <= draft.last {
            do throws(JournalError) {
                try draft.save(try source.snapshot(at: turn))
            } catch {
                guard error.code == .damaged || error.code == .missing else { throw error }
            }
        }
    }
}
