import Foundation

extension DataFolder {
    /// How large the files of the journal in a folder are; nil if there are none. It needs no lock, and may be some moments old.
    public static func journalBytes(at folder: String) -> Int? {
        let sizes = [database, database + SQLiteConnection.logSuffix].compactMap { name -> Int? in
            var status = stat()
            return stat("\(folder)/\(name)", &status) == 0 ? Int(status.st_size) : nil
        }
        return sizes.isEmpty ? nil : sizes.reduce(0, +)
    }
}
