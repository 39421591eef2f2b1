import Foundation
import SamovarCommands
import SamovarProtocol

/// Checkpoints as files in a folder that is its owner's alone, and is removed with the page's server. They are as secret as the journal.
final class FolderCheckpoints: CheckpointStore {
    private let folder: String
    private var bytes: [Int: Int] = [:]

    /// - Parameter folder: of one timeline.
    init(in folder: String) throws(PageError) {
        self.folder = folder
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                guard let turn = Int(name) else { continue }
                bytes[turn] = try FileManager.default.attributesOfItem(atPath: file(turn))[.size] as? Int
            }
        } catch {
            throw PageError("cannot use \(folder): \(error.localizedDescription)")
        }
    }

    private func file(_ turn: Int) -> String { "\(folder)/\(turn)" }

    var turns: [Int] { bytes.keys.sorted() }

    func save(_ checkpoint: PastCheckpoint) throws {
        guard checkpoint.state.count <= CheckpointPlan.maximumBytes else { return }
        // Its name is that of a turn only when it is whole.
        let draft = "\(folder)/draft"
        try Data(checkpoint.state).write(to: URL(filePath: draft))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: draft)
        guard rename(draft, file(checkpoint.turn)) == 0 else {
            throw PageError("cannot write \(draft): \(String(cString: strerror(errno)))")
        }
        bytes[checkpoint.turn] = checkpoint.state.count
        while bytes.values.reduce(0, +) > CheckpointPlan.maximumBytes, let turn = CheckpointPlan.dropped(of: turns) { remove(turn) }
    }

    func load(_ turn: Int) -> PastCheckpoint? {
        guard let data = FileManager.default.contents(atPath: file(turn)), data.count == bytes[turn] else {
            remove(turn)
            return nil
        }
        return PastCheckpoint(turn: turn, state: Array(data))
    }

    private func remove(_ turn: Int) {
        bytes[turn] = nil
        unlink(file(turn))
    }
}
