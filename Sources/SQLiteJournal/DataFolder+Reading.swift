package import Journal
package import SamovarCore

extension DataFolder {
    /// A snapshot of a journal whose folder another process may have: snapshots are files of their own, put in place whole, so that they can be
    /// read beside it.
    ///
    /// - Throws: ``JournalError/Code/missing``, also if it has just given way to a newer one; ``JournalError/Code/damaged``.
    package static func snapshot(at turn: Int, of journal: UniqueID, in folder: String) throws(JournalError) -> Snapshot {
        try SnapshotFolder(path: "\(folder)/\(snapshots)", journal: journal).read(turn)
    }
}
