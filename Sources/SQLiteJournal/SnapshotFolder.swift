package import Journal
import JournalChain
package import SamovarCore

/// The snapshots of a journal: a file each, outside of the database, so that neither writing nor reading a large one keeps a
/// commit waiting.
package struct SnapshotFolder: Sendable {
    let path: String
    /// Whose snapshots these are; one of another journal is as good as damaged.
    let journal: UniqueID

    private static let mark = Array("SAMVSNAP".utf8)
    private static let draftSuffix = ".new"

    package init(of journal: UniqueID, in folder: String) {
        path = "\(folder)/\(DataFolder.snapshots)"
        self.journal = journal
    }

    /// The turns of which there is a file, newest first.
    func turns() throws(JournalError) -> [Int] {
        try FileSystem.names(in: path).compactMap { name in
            guard let turn = Int(name), "\(turn)" == name, turn >= 0 else { return nil }
            return turn
        }.sorted(by: >)
    }

    func save(_ snapshot: Snapshot) throws(JournalError) {
        try FileSystem.makeFolder(path)
        let header = Self.mark + journal.bytes + Int64(snapshot.turn).bytes + Digest.of(snapshot, in: journal)
        try FileSystem.replace(file(of: snapshot.turn), with: [header, snapshot.bytes], isSnapshot: true)
    }

    /// Needs no lock of the folder: snapshots are put in place whole, so that they can be read beside the process that has it.
    ///
    /// - Throws: ``JournalError/Code/missing``, also if it has just given way to a newer one; ``JournalError/Code/damaged``.
    package func read(_ turn: Int) throws(JournalError) -> Snapshot {
        guard let bytes = try FileSystem.bytes(of: file(of: turn)) else {
            throw JournalError(.missing, "\(path): there is no snapshot of turn \(turn.grouped).")
        }
        let header = Self.mark.count + 16 + 8 + Digest.origin.count
        var reader = FixedReader(Array(bytes.prefix(header)))
        guard reader.bytes(Self.mark.count) == Self.mark, let owner = reader.id(), let named = reader.number(),
            let digest = reader.bytes(Digest.origin.count)
        else { throw damaged(turn, "it is no snapshot") }
        guard owner == journal else { throw damaged(turn, "it belongs to another journal") }
        let snapshot = Snapshot(turn: named, bytes: Array(bytes.dropFirst(header)))
        guard named == turn, Digest.of(snapshot, in: journal) == digest else { throw damaged(turn, "digest differs") }
        return snapshot
    }

    private func damaged(_ turn: Int, _ reason: String) -> JournalError {
        JournalError(.damaged, "\(path): the snapshot of turn \(turn.grouped) is damaged: \(reason).")
    }

    func removeAll(but kept: Int) throws(JournalError) {
        for turn in try turns().dropFirst(kept) { try FileSystem.remove(file(of: turn)) }
    }

    /// What a process that died while it saved has left.
    func removeDrafts() throws(JournalError) {
        for name in try FileSystem.names(in: path) where name.hasSuffix(Self.draftSuffix) {
            try FileSystem.remove("\(path)/\(name)")
        }
    }

    private func file(of turn: Int) -> String { "\(path)/\(turn)" }
}
