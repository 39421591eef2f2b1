import GRDB
import Journal
import JournalChain
import SamovarCore

/// The layout of the file and its version.
enum Schema {
    /// `SAMV`: how `file` and SQLite tell a journal from other databases.
    static let applicationID = 0x5341_4D56
    /// `SAMD`: a copy that is being made, or was cut short.
    static let draftID = 0x5341_4D44
    /// 1 kept its snapshots in the file, 2 keeps them beside it; the batches are the same.
    static let version = 2
    static let readable = 1...version

    /// Checks that a file is a journal this build can read, before anything in it is changed.
    ///
    /// - Returns: Whether the file is still empty.
    static func check(_ db: Database, at path: String) throws -> Bool {
        let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        if application == 0, found == 0, tables == 0 { return true }
        guard application != draftID else {
            throw JournalError(
                .format, "\(path) is a copy that was cut short, and is not whole: make it again, and remove this one.")
        }
        guard application == applicationID else {
            throw JournalError(.format, "\(path) is an SQLite database but not a Samovar journal.")
        }
        guard readable.contains(found) else {
            throw JournalError(
                .format, "\(path) has journal format \(found), and this build knows the formats up to \(version) only.")
        }
        return false
    }

    /// Lays out an empty file: all of it or nothing, because a crash may come at any instant.
    ///
    /// - Parameter isDraft: no journal before ``finishDraft(_:)``.
    static func create(_ db: Database, identity: UniqueID, isDraft: Bool) throws {
        try db.inTransaction(.immediate) {
            try db.execute(
                sql: """
                    CREATE TABLE batches (
                        first INTEGER PRIMARY KEY, last INTEGER NOT NULL, data BLOB NOT NULL, digest BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
                    PRAGMA application_id = \(isDraft ? draftID : applicationID);
                    PRAGMA user_version = \(version);
                    """)
            try Facts.write(Array(identity.text.utf8), as: DataFolder.identity, to: db)
            return .commit
        }
    }

    static func finishDraft(_ db: Database) throws {
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
    }
}
