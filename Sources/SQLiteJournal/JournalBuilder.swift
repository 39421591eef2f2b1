import CrashPoints
import Foundation
import GRDB
package import Journal
package import JournalChain
import SamovarCore

/// Builds the data folder of a journal from parts of another one: a backup, or what a salvage could keep.
///
/// It grows in `PATH.building` without a sync for each batch, and gets its name when it is complete and durable. Until then its
/// database says that it is a draft, and is refused as a journal. So a copy that was cut short is never taken for a whole one.
/// Used by one thread.
///
/// ```swift
/// let draft = try JournalBuilder(at: "backup", from: journal, as: .same)
/// try journal.read(from: journal.first) { try draft.append([$0]) }
/// try draft.finish()
/// ```
package final class JournalBuilder: JournalDraft {
    private let path: String
    private let building: String
    private let connection: SQLiteConnection
    private let identity: UniqueID
    private let snapshots: SnapshotFolder
    private var end: BatchChain

    /// - Parameters:
    ///   - source: begins the batches at the same turn, which is not 1 if it was trimmed.
    ///   - turn: begins them at the batch that holds the turn after this one instead, as if those before had been trimmed.
    /// - Throws: ``JournalError/Code/misuse`` if there is something at `path` already.
    package init(
        at path: String, from source: any StoredJournal, as identity: DraftIdentity, behind turn: Int? = nil
    ) throws(JournalError) {
        let path = FileSystem.withoutSlash(path)
        guard !FileSystem.exists(path) else { throw JournalError(.misuse, "\(path) exists already.") }
        let building = path + ".building"
        try Self.clear(building)
        let id = identity == .same ? source.identity : JournalOpening.randomIdentity()
        (self.path, self.building, self.identity) = (path, building, id)
        snapshots = SnapshotFolder(of: id, in: building)
        (connection, end) = try Self.removing(building) { () throws(JournalError) in
            try FileSystem.makeFolder(building)
            let connection = try SQLiteConnection(
                path: "\(building)/\(DataFolder.database)", mode: .draft, emptyFile: .begin(identity: id))
            let end = try source.chain(behind: turn)
            if end.last > 0 { try connection.record(end.bytes, as: Facts.anchor) }
            return (connection, end)
        }
    }

    /// Leaves nothing behind of a draft that cannot be begun, as on a full disk.
    private static func removing<Result>(
        _ building: String, unless body: () throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        do {
            return try body()
        } catch {
            // What is wrong is told; what cannot be removed, the next draft removes.
            try? clear(building)
            throw error
        }
    }

    package var last: Int { end.last }

    package func record(_ value: [UInt8], as name: String) throws(JournalError) {
        try connection.record(value, as: name)
    }

    package func append(_ batches: [Batch]) throws(JournalError) {
        var end = end
        try connection.perform("the batches after turn \(end.last.grouped) cannot be written") { db in
            try db.inTransaction(.immediate) {
                for batch in batches { end = try end.append(batch, to: db) }
                return .commit
            }
        }
        self.end = end
        CrashPoint.pass(.copyAfterPiece)
    }

    package func save(_ snapshot: Snapshot) throws(JournalError) {
        try snapshot.requireCovered(by: end.last)
        try snapshots.save(snapshot)
    }

    package func finish() throws(JournalError) {
        try connection.perform("the copy cannot be ended") { db in try Schema.finishDraft(db) }
        try connection.close()
        try FileSystem.synchronizeFile("\(building)/\(DataFolder.database)")
        let head = try HeadFile(at: "\(building)/\(DataFolder.head)")
        try head.write(end, of: identity)
        try head.synchronize()
        try FileSystem.replace("\(building)/\(DataFolder.identity)", with: identity.text)
        CrashPoint.pass(.copyBeforeName)
        try FileSystem.move(building, to: path)
        CrashPoint.pass(.copyAfterName)
        try FileSystem.synchronizeFolder(FileSystem.parent(of: path))
    }

    /// The folder that it is for does that.
    package func install() throws(JournalError) -> String? { nil }

    package func discard() throws(JournalError) {
        try connection.close()
        try Self.clear(building)
    }

    /// Removes what a draft has left that was cut short: only files with the names that a draft gives, and the lock of whoever has
    /// tried to open it.
    private static func clear(_ building: String) throws(JournalError) {
        guard FileSystem.exists(building) else { return }
        let folder = "\(building)/\(DataFolder.snapshots)"
        for name in try FileSystem.names(in: folder) { try FileSystem.remove("\(folder)/\(name)") }
        try FileSystem.removeFolder(folder)
        let others = [DataFolder.identity, DataFolder.identity + ".new", DataFolder.lockFile]
        for name in DataFolder.content + others where name != DataFolder.snapshots {
            try FileSystem.remove("\(building)/\(name)")
        }
        try FileSystem.removeFolder(building)
    }
}
