import Journal
import JournalChain
public import SamovarCore
import SQLiteJournal

/// Copying a journal, or the beginning of it, into a folder of its own.
enum JournalCopy {
    /// How many bytes of batches become one transaction of the copy.
    private static let pieceSize = 1 << 20

    /// Makes a data folder on which everything works that works on the original. The copy is the same journal, with the same
    /// timeline: for reading, and for the day the original is lost.
    ///
    /// - Parameters:
    ///   - snapshot: one of the last turn, beside those that there are.
    ///   - progress: told how far it is, and may throw to give up. Nothing is left of the copy then.
    static func export(
        _ source: SQLiteJournal, through turn: Int, to folder: String, with snapshot: Snapshot? = nil,
        progress: (Int) throws(JournalError) -> Void
    ) throws {
        try build(at: folder, from: source, as: .same, through: turn, with: snapshot, progress: progress)
    }

    /// Builds the replacement of a folder's journal: the whole batches up to a turn and a part of the next. The secret stays, for
    /// `turn.random` must give in a replay what it gave.
    ///
    /// - Parameters:
    ///   - begin: a snapshot that stands for the turns up to this one, as if they had been trimmed.
    ///   - isWhole: whether nothing is lost at its end. Then it is the same journal, and the same timeline: all that peers
    ///     remember of it holds.
    static func replacement(
        of source: SQLiteJournal, behind begin: Int? = nil, through turn: Int, and part: Batch? = nil, isWhole: Bool = false,
        in folder: DataFolder
    ) throws -> Timeline {
        let old = try JournalSalvage.timeline(of: source)
        let timeline = isWhole ? old : .random()
        let ancestor = "turn \(part?.last ?? turn) of timeline \(old)"
        try build(
            at: folder.replacement, from: source, as: isWhole ? .same : .new,
            facts: isWhole
                ? [] : [(OpenedJournal.Fact.timeline, timeline.bytes), (OpenedJournal.Fact.ancestor, Array(ancestor.utf8))],
            behind: begin, through: turn, and: part)
        return timeline
    }

    /// - Parameter facts: recorded in place of those of the source.
    private static func build(
        at folder: String, from source: SQLiteJournal, as identity: JournalBuilder.Identity,
        facts: [(name: String, value: [UInt8])] = [], behind begin: Int? = nil, through turn: Int, and part: Batch? = nil,
        with snapshot: Snapshot? = nil, progress: (Int) throws(JournalError) -> Void = { _ throws(JournalError) in }
    ) throws {
        let draft = try JournalBuilder(at: folder, from: source, as: identity, behind: begin)
        do {
            for (name, value) in try source.facts() + facts { try draft.record(value, as: name) }
            try copy(source, behind: begin, through: turn, into: draft, progress: progress)
            if let part { try draft.append([part]) }
            try copySnapshots(of: source, from: begin ?? 0, into: draft)
            if let snapshot { try draft.save(snapshot) }
            try draft.finish()
        } catch {
            try draft.discard()
            throw error
        }
    }

    /// Copies the whole batches up to a turn.
    private static func copy(
        _ source: SQLiteJournal, behind begin: Int?, through turn: Int, into draft: JournalBuilder,
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
    private static func copySnapshots(of source: SQLiteJournal, from begin: Int, into draft: JournalBuilder) throws {
        for turn in try source.snapshots() where turn >= begin && turn <= draft.last {
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
    /// - Returns: the last turn of the copy; nil if a store runs on the folder, which then has to be asked.
    /// - Throws: `StoreError` if the journal is not sound, or the copy cannot be written.
    public static func run(_ dataFolder: String, to copy: String) async throws -> Int? {
        try await onJournalThread {
            let folder: DataFolder
            do throws(JournalError) {
                folder = try DataFolder(at: dataFolder, creating: false, wait: .zero)
            } catch {
                guard error.code == .busy else { throw error }
                return nil
            }
            defer { folder.close() }
            let journal = try SQLiteJournal(in: folder, access: .readOnly)
            try JournalCopy.export(journal, through: journal.last, to: copy) { _ in }
            return journal.last
        }
    }
}

/// Putting a backup in the place of a journal, as a new timeline: what happened after the backup is unknown to it, so its next
/// turns must not be taken for those that peers remember.
public struct JournalImport: Sendable {
    /// The last turn of the backup.
    public let last: Int
    /// The new one.
    public let timeline: Timeline
    /// The folder in which the journal is that was there before; nil if there was none.
    public let archive: String?

    /// - Parameter backup: the data folder of the backup; it stays as it is.
    /// - Throws: `StoreError` if the backup is not sound; nothing was changed then.
    public static func run(_ backup: String, into dataFolder: String) async throws -> JournalImport {
        try await onJournalThread {
            let folder = try DataFolder(at: dataFolder, waiting: sayOnStandardError)
            defer { folder.close() }
            if folder.hasReplacement {
                let archive = try folder.installReplacement()
                let journal = try SQLiteJournal(in: folder, access: .readOnly)
                return JournalImport(last: journal.last, timeline: try JournalSalvage.timeline(of: journal), archive: archive)
            }
            let source = try SQLiteJournal(at: backup, access: .examination, waiting: sayOnStandardError)
            let examination = try JournalExamination(of: source)
            if let problem = examination.problems.first {
                throw StoreError(.damaged, "the backup in \(backup) is damaged: \(problem)")
            }
            guard source.last > 0 else { throw StoreError(.configuration, "the backup in \(backup) has no turns") }
            let timeline = try JournalCopy.replacement(of: source, through: source.last, in: folder)
            return JournalImport(last: source.last, timeline: timeline, archive: try folder.installReplacement())
        }
    }
}
