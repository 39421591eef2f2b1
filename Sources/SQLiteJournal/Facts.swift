import Foundation
import GRDB
import Journal
import JournalChain
import SamovarCore

/// The few named values of a journal. One more of them is a digest over the others, so that a damaged identity or secret is
/// found, and not believed.
enum Facts {
    /// Where a trimmed journal begins: the last turn that was removed, and the digest of its batch.
    static let anchor = "anchor"
    private static let digest = "digest"

    static func value(of name: String, in db: Database) throws -> [UInt8]? {
        try Row.fetchOne(db, sql: "SELECT value FROM facts WHERE name = ?", arguments: [name])?.bytes(at: 0)
    }

    /// Call it in a transaction.
    static func write(_ value: [UInt8], as name: String, to db: Database) throws {
        try put(value, as: name, to: db)
        try put(Digest.of(try all(in: db)), as: digest, to: db)
    }

    /// Every fact but the digest, by name.
    static func all(in db: Database) throws -> [(name: String, value: [UInt8])] {
        let rows = try Row.fetchCursor(db, sql: "SELECT name, value FROM facts WHERE name != ? ORDER BY name", arguments: [digest])
        var facts: [(name: String, value: [UInt8])] = []
        while let row = try rows.next() { facts.append((try row.text(at: 0), try row.bytes(at: 1))) }
        return facts
    }

    /// A journal of format 1 may have no digest yet.
    static func areSound(in db: Database) throws -> Bool {
        guard let known = try value(of: digest, in: db) else { return true }
        return Digest.of(try all(in: db)) == known
    }

    private static func put(_ value: [UInt8], as name: String, to db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", arguments: [name, Data(value)])
    }
}

/// Reading columns of a file that may be damaged: a value of the wrong type is an error, where GRDB's subscripts trap.
extension Row {
    func integer(at index: Int) throws -> Int { try value(at: index, "a number is expected") }

    func text(at index: Int) throws -> String { try value(at: index, "a text is expected") }

    private func value<Value: DatabaseValueConvertible>(at index: Int, _ failure: String) throws -> Value {
        guard let value = Value.fromDatabaseValue(self[index] as DatabaseValue) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: failure)
        }
        return value
    }

    func bytes(at index: Int) throws -> [UInt8] {
        try withUnsafeData(atIndex: index) { data in
            guard let data else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "bytes are expected") }
            return [UInt8](data)
        }
    }
}
