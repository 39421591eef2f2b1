import Journal
public import SamovarCore
import SQLiteJournal

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
