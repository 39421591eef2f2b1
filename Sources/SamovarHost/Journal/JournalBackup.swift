import Journal
import SQLiteJournal

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
