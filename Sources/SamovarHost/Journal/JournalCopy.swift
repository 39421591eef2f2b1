import Journal
import JournalChain
import SamovarCore
import SQLiteJournal

/// Copying a journal, or the beginning of it, into a folder of its own.
enum JournalCopy {
    /// How many bytes of batches become one transaction of the copy.
    private static let pieceSize = 1 << 20

    /// Makes a data folder on which everything works that works on the original. The copy is the same journal, with the same
    /// timeline: for reading, and for the day the original is lost.
    ///
    /// - Parameters:
    ///   - dataFolder: of the store. A copy in it might count as a part of its journal, such as what is to replace it.
    ///   - snapshot: one of the last turn, beside those that there are.
    ///   - progress: told how far it is, and may throw to give up. Nothing is left of the copy then.
    static func export(
        _ source: any StoredJournal, through turn: Int, to folder: String, outside dataFolder: String?,
        with snapshot: Snapshot? = nil, progress: (Int) throws(JournalError) -> Void
    ) throws {
        if let dataFolder, DataFolder.isIn(dataFolder, folder) {
            throw StoreError(
                .configuration, "\(folder) is in the data folder \(dataFolder) itself: name one elsewhere for the backup")
        }
        let draft = try JournalBuilder(at: folder, from: source, as: .same)
        try fill(draft, from: source, through: turn, with: snapshot, progress: progress)
    }

    /// Replaces a journal by whole batches of another one, or of itself, up to a turn, and a part of the next. The secret stays, for
    /// `turn.random` must give in a replay what it gave.
    ///
    /// - Parameters:
    ///   - begin: a snapshot that stands for the turns up to this one, as if they had been trimmed.
    ///   - isSame: whether nothing is lost at its end, and nobody goes on with the other. Then it is the same journal, and the same
    ///     timeline: all that peers remember of it holds.
    ///   - closing: called when all is copied, and before the copy is a journal. Nothing is left of that if it throws.
    /// - Returns: the timeline, and where the journal is that was there.
    static func replace(
        _ target: JournalTarget, by source: any StoredJournal, behind begin: Int? = nil, through turn: Int, and part: Batch? = nil,
        isSame: Bool = false, closing: () throws -> Void = {}
    ) throws -> (timeline: Timeline, archive: String?) {
        let old = try JournalSalvage.timeline(of: source)
        let timeline = isSame ? old : .random()
        let ancestor = "turn \(part?.last ?? turn) of timeline \(old)"
        // What is missing at the target was not trimmed.
        let draft = try StoreError.replacing { () throws(JournalError) in
            try target.draft(from: source, as: isSame ? .same : .new, behind: begin)
        }
        try fill(
            draft, from: source,
            facts: isSame
                ? [] : [(OpenedJournal.Fact.timeline, timeline.bytes), (OpenedJournal.Fact.ancestor, Array(ancestor.utf8))],
            behind: begin, through: turn, and: [part].compactMap(\.self), closing: closing)
        try source.close()
        return (timeline, try StoreError.replacing { () throws(JournalError) in try target.install(draft) })
    }

    /// Makes a data folder that goes on from a turn of a journal as another timeline.
    ///
    /// - Parameters:
    ///   - turn: the end of the whole batches that it has in common with the journal.
    ///   - parts: what follows there: of the next batch, and of itself.
    ///   - known: the last turn that is the same in both, and so the last of which a snapshot is.
    static func fork(
        _ source: any StoredJournal, through turn: Int, and parts: [Batch], snapshotsThrough known: Int, as timeline: Timeline,
        ancestor: String, to folder: String
    ) throws {
        let facts = [(OpenedJournal.Fact.timeline, timeline.bytes), (OpenedJournal.Fact.ancestor, Array(ancestor.utf8))]
        let draft = try JournalBuilder(at: folder, from: source, as: .new)
        try fill(draft, from: source, facts: facts, through: turn, and: parts, snapshotsThrough: known)
    }

    /// - Parameters:
    ///   - facts: recorded in place of those of the source.
    ///   - known: the last turn of which a snapshot of the source is one of the copy.
    private static func fill(
        _ draft: any JournalDraft, from source: any StoredJournal, facts: [(name: String, value: [UInt8])] = [],
        behind begin: Int? = nil, through turn: Int, and parts: [Batch] = [], snapshotsThrough known: Int = .max,
        with snapshot: Snapshot? = nil, progress: (Int) throws(JournalError) -> Void = { _ throws(JournalError) in },
        closing: () throws -> Void = {}
    ) throws {
        do {
            for (name, value) in try source.facts() + facts where name != OpenedJournal.Fact.moved {
                try draft.record(value, as: name)
            }
            let last = min(known, parts.last?.last ?? turn)
            let beginning = try snapshot ?? readBeginning(of: source, behind: begin, through: last)
            try copy(source, behind: begin, through: turn, into: draft, progress: progress)
            for part in parts { try draft.append([part]) }
            if let beginning { try draft.save(beginning) }
            try copySnapshots(of: source, from: begin ?? 0, through: known, but: beginning?.turn, into: draft)
            try closing()
            try draft.finish()
        } catch {
            // What has failed is what counts. A draft that is left is no journal.
            try? draft.discard()
            throw error
        }
    }

    /// The newest snapshot that stands for the turns that are not copied since they were trimmed. It is read before the batches, which take
    /// long: a store that serves takes older snapshots away as it makes newer ones.
    ///
    /// - Returns: nil if the copy begins with turn 1, and needs none.
    /// - Throws: without such a snapshot, for nobody could start with the copy.
    private static func readBeginning(
        of source: any StoredJournal, behind begin: Int?, through end: Int
    ) throws -> Snapshot? {
        let trimmed = try source.chain(behind: begin).last
        guard trimmed > 0 else { return nil }
        var damage: JournalError?
        for turn in try source.snapshots() where turn >= max(trimmed, begin ?? 0) && turn <= end {
            do throws(JournalError) {
                return try source.snapshot(at: turn)
            } catch {
                guard error.code == .damaged || error.code == .missing else { throw error }
                if error.code == .damaged { damage = damage ?? error }
            }
        }
        if let damage { throw damage }
        throw StoreError(
            .again,
            "no snapshot up to turn \(end) is left that stands for the turns up to \(trimmed), which were trimmed (`--retain`): if a store serves, it has made newer ones meanwhile; do it again"
        )
    }

    /// Copies the whole batches up to a turn.
    private static func copy(
        _ source: any StoredJournal, behind begin: Int?, through turn: Int, into draft: any JournalDraft,
        progress: (Int) throws(JournalError) -> Void
    ) throws {
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
    private static func copySnapshots(
        of source: any StoredJournal, from begin: Int, through end: Int, but known: Int?, into draft: any JournalDraft
    ) throws {
        for turn in try source.snapshots() where turn >= begin && turn <= min(end, draft.last) && turn != known {
            do throws(JournalError) {
                try draft.save(try source.snapshot(at: turn))
            } catch {
                guard error.code == .damaged || error.code == .missing else { throw error }
            }
        }
    }
}

/// A backup of a journal on which no store runs. A running store makes its own: see `export` of the admin socket.
public enum JournalBackup {
    /// - Parameter copy: a folder that is not there yet.
    /// - Returns: the last turn of the copy; nil if a store runs on the data folder, which then has to be asked. A journal at a place is
    ///   read while its store runs.
    /// - Throws: `StoreError` if the journal is not sound, or the copy cannot be written.
    public static func run(_ location: JournalLocation, to copy: String) async throws -> Int? {
        try await onJournalThread {
            try JournalReading.run { () throws -> Int? in
                let journal: any StoredJournal
                do throws(JournalError) {
                    journal = try location.open(wait: .zero)
                } catch {
                    guard error.code == .busy else { throw StoreError(error) }
                    return nil
                }
                try JournalCopy.export(journal, through: journal.last, to: copy, outside: location.dataFolder) { _ in }
                try journal.close()
                return journal.last
            }
        }
    }
}
