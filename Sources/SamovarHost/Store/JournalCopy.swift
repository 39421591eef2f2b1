import Journal
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
        let draft = try JournalDraft(at: folder, from: source, as: .same)
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

    /// Copies the whole batches up to a turn.
    static func copy(
        _ source: SQLiteJournal, through turn: Int, into draft: JournalDraft, progress: (Int) throws(JournalError) -> Void
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
            try source.read(from: source.first) { batch in
                guard batch.last <= turn else { throw Enough() }
                piece.append(batch)
                size += batch.bytes.count
                if size >= pieceSize { try flush() }
            }
        } catch is Enough {}
        try flush()
    }

    /// Damaged ones stay behind: a snapshot is a cache.
    static func copySnapshots(of source: SQLiteJournal, into draft: JournalDraft) throws {
        for turn in try source.snapshots() where turn <= draft.last {
            do throws(JournalError) {
                try draft.save(try source.snapshot(at: turn))
            } catch {
                guard error.code == .damaged || error.code == .missing else { throw error }
            }
        }
    }
}
