import Journal
import JournalChain
import SamovarCore
import SQLiteJournal

/// A journal that is about to be replaced by a copy of another one; what was there is archived.
enum JournalTarget {
    case folder(DataFolder)
    case place(any FencedJournalPlace)

    /// Waits for the lock of the folder, which is made if it is not there.
    init(_ location: JournalLocation, creating: Bool) throws(JournalError) {
        self =
            if let place = location.place {
                .place(place)
            } else {
                .folder(try DataFolder(at: location.dataFolder, creating: creating, waiting: sayOnStandardError))
            }
    }

    func close() {
        if case .folder(let folder) = self { folder.close() }
    }

    /// Opens the journal that is there, whatever is wrong with it.
    func examined() throws(JournalError) -> any StoredJournal {
        switch self {
        case .folder(let folder): try SQLiteJournal(in: folder, access: .examination)
        case .place(let place): try place.open(.examination)
        }
    }

    /// - Throws: ``JournalError/Code/busy`` if a store has the journal. No store has that of a folder which is locked.
    func requireIdle() throws(JournalError) {
        guard case .place(let place) = self else { return }
        do throws(JournalError) {
            try place.requireIdle()
        } catch {
            guard error.code == .missing else { throw error }
        }
    }

    /// Ends a replacement that was cut short.
    ///
    /// - Returns: nil if there is none.
    func resumed() throws(JournalError) -> (journal: any StoredJournal, archive: String?)? {
        guard case .folder(let folder) = self, folder.hasReplacement else { return nil }
        let archive = try folder.installReplacement()
        return (try SQLiteJournal(in: folder, access: .readOnly), archive)
    }

    func draft(
        from source: any StoredJournal, as identity: DraftIdentity, behind turn: Int?
    ) throws(JournalError) -> any JournalDraft {
        switch self {
        case .folder(let folder): try JournalBuilder(at: folder.replacement, from: source, as: identity, behind: turn)
        case .place(let place): try place.draft(from: source, as: identity, behind: turn)
        }
    }

    /// Puts a draft that is finished in its place.
    ///
    /// - Returns: where the journal is that was there; nil if there was none.
    func install(_ draft: any JournalDraft) throws(JournalError) -> String? {
        switch self {
        case .folder(let folder): try folder.installReplacement()
        case .place: try draft.install()
        }
    }
}
