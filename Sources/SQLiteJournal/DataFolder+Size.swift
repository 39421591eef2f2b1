import Foundation

extension DataFolder {
    /// How large the files of the journal in a folder are; nil if there are none. It needs no lock, and may be some moments old.
    public static func journalBytes(at folder: String) -> Int? {
        let sizes = [database, database + SQLiteConnection.logSuffix].compactMap { FileSystem.size(of: "\(folder)/\($0)") }
        return sizes.isEmpty ? nil : sizes.reduce(0, +)
    }

    /// What is free for this user where a folder is; nil if the system does not say.
    public static func freeBytes(at folder: String) -> Int? {
        var system = statvfs()
        guard statvfs(folder, &system) == 0 else { return nil }
        return Int(clamping: UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize)).partialValue)
    }
}
