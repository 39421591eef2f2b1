import GRDB
import Journal

/// Finding the journal of a folder: its own, or a new one, but never a new one in the place of one that was lost.
extension Connection {
    static func opening(in folder: DataFolder, access: SQLiteJournal.Access) throws(JournalError) -> Connection {
        let path = folder.file(DataFolder.database)
        let known = try FileSystem.contents(of: folder.file(DataFolder.identity))
        if !FileSystem.exists(path) {
            if known != nil {
                throw JournalError(
                    .damaged,
                    "\(path) is gone, but \(DataFolder.identity) says that there was a journal: restore it, or archive the rest.")
            }
            if access == .readOnly { throw JournalError(.missing, "There is no journal in \(folder.path).") }
        }
        let connection = try Connection(
            path: path, access: access, emptyFile: emptyFile(at: path, known: known, access: access))
        if let known {
            guard try connection.identity() == known else {
                throw JournalError(
                    .damaged, "\(path) is not the journal that \(DataFolder.identity) in \(folder.path) names.")
            }
        } else if access == .readWrite {
            // The database comes first: a crash in between leaves a journal without an identity file, which is harmless.
            try FileSystem.synchronizeFolder(folder.path)
            try FileSystem.replace(folder.file(DataFolder.identity), with: connection.identity())
        }
        return connection
    }

    /// A file is empty when its creation was cut short, or when the journal in it was lost.
    private static func emptyFile(at path: String, known: String?, access: SQLiteJournal.Access) -> EmptyFile {
        if known != nil {
            .refuse(JournalError(.damaged, "\(path) is empty, but \(DataFolder.identity) says that there was a journal."))
        } else if access == .readOnly {
            .refuse(JournalError(.missing, "\(path) is empty: no journal was begun in it."))
        } else {
            .begin(identity: randomIdentity())
        }
    }

    private func identity() throws(JournalError) -> String {
        guard let bytes = try fact(DataFolder.identity) else {
            throw JournalError(.damaged, "\(path) has lost its identity.")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// 128 random bits.
    private static func randomIdentity() -> String {
        (0..<16).map { _ in
            let byte = String(UInt8.random(in: .min ... .max), radix: 16)
            return byte.count == 1 ? "0" + byte : byte
        }.joined()
    }
}
