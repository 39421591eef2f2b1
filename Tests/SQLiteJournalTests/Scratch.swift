import Foundation
import GRDB
import Journal
import JournalChain
import SQLiteJournal

/// A folder of its own for one test, removed with the last reference.
final class Scratch {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // What cannot be removed is left to the system; no test depends on it.
        try? FileManager.default.removeItem(atPath: path)
    }

    var data: String { path + "/data" }
    var database: String { data + "/journal.sqlite" }

    /// Waits for the lock as a command does: while another test starts a process, that process may hold it for a moment.
    func journal(access: SQLiteJournal.Access = .readWrite, wait: Duration = .seconds(5)) throws -> SQLiteJournal {
        try SQLiteJournal(at: data, access: access, wait: wait)
    }

    /// A closed journal of three batches: turns 1 to 999, 1,000 to 1,999 and 2,000.
    func fill() throws {
        let journal = try journal()
        try journal.append(Batch(first: 1, last: 999, bytes: [1, 2, 3]))
        try journal.append(Batch(first: 1000, last: 1999, bytes: [4, 5, 6]))
        try journal.append(Batch(first: 2000, last: 2000, bytes: [7, 8, 9]))
        try journal.save(Snapshot(turn: 999, bytes: [10, 11]))
        try journal.save(Snapshot(turn: 2000, bytes: [12, 13]))
        try journal.close()
    }

    /// Changes the closed journal behind its back.
    func alter(_ sql: String) throws {
        let queue = try DatabaseQueue(path: database)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Changes one byte of a file in the data folder.
    ///
    /// - Parameter byte: counted from the end if it is negative.
    func flip(byte: Int, of name: String, mask: UInt8 = 1) throws {
        let file = URL(filePath: data + "/" + name)
        var bytes = try Data(contentsOf: file)
        bytes[byte < 0 ? bytes.count + byte : byte] ^= mask
        try bytes.write(to: file)
    }

    func files(in folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: data + "/" + folder).sorted()
    }
}

extension Journal {
    func batches(from turn: Int = 1) throws -> [Batch] {
        var batches: [Batch] = []
        try read(from: turn) { batches.append($0) }
        return batches
    }
}
