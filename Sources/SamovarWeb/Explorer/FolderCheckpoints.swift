import Foundation
import SamovarCommands
import SamovarCore
import SamovarStore
import SamovarText

/// Checkpoints as files in a folder that is its owner's alone, and is removed with the page's server. They are as secret as the journal.
///
/// A folder that cannot be used has none, and takes none.
final class FolderCheckpoints: CheckpointStore {
    private let folder: String
    private var bytes: [Int: Int] = [:]
    /// Bytes of the state that was put aside.
    private var asideCount = 0

    /// What others have kept there is removed: a state is gone on from in the timeline whose turns made it, and by the build whose
    /// code did.
    ///
    /// - Parameters:
    ///   - place: of one timeline and one build at a time.
    ///   - build: names the executable whose states these are.
    init(in place: String, of timeline: Timeline, by build: String) {
        let name = "\(timeline) \(build)"
        folder = "\(place)/\(name)"
        for other in Self.names(in: place) where other != name {
            // What cannot be removed is not used all the same.
            try? FileManager.default.removeItem(atPath: "\(place)/\(other)")
        }
        for name in Self.names(in: folder) {
            guard let turn = Int(name) else { continue }
            // What cannot be asked for its size cannot be read.
            bytes[turn] = (try? FileManager.default.attributesOfItem(atPath: file(turn)))?[.size] as? Int
        }
    }

    private static func names(in folder: String) -> [String] {
        // One that is not there is empty.
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private func file(_ turn: Int) -> String { "\(folder)/\(turn)" }

    var turns: [Int] { bytes.keys.sorted() }

    func save(_ checkpoint: PastCheckpoint) throws {
        guard checkpoint.state.count <= CheckpointPlan.maximumBytes else { return }
        // Its name is that of a turn only when it is whole.
        let draft = "\(folder)/draft"
        try write(checkpoint.state, to: draft)
        guard rename(draft, file(checkpoint.turn)) == 0 else { throw Self.failure(draft, errno) }
        bytes[checkpoint.turn] = checkpoint.state.count
        while bytes.values.reduce(0, +) > CheckpointPlan.maximumBytes, let turn = CheckpointPlan.dropped(of: turns) { remove(turn) }
    }

    private func write(_ state: [UInt8], to file: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(file, errno) }
        let error = writeAll(state, to: descriptor)
        close(descriptor)
        guard let error else { return }
        // A full disk is not kept full by a part of a state.
        unlink(file)
        throw Self.failure(file, error)
    }

    private static func failure(_ file: String, _ error: Int32) -> CommandFailure {
        CommandFailure(.unavailable, "cannot write \(file): \(String(cString: strerror(error)))")
    }

    func load(_ turn: Int) -> PastCheckpoint? {
        guard let count = bytes[turn], let state = Self.content(of: file(turn), count) else {
            remove(turn)
            return nil
        }
        return PastCheckpoint(turn: turn, state: state)
    }

    /// Read to where it stays: there is no second copy of a large state. Nil if it has not so many bytes.
    private static func content(of file: String, _ count: Int) -> [UInt8]? {
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let content = [UInt8](unsafeUninitializedCapacity: count) { buffer, size in
            while size < count {
                let part = read(descriptor, buffer.baseAddress?.advanced(by: size), count - size)
                guard part > 0 else { return }
                size += part
            }
        }
        return content.count == count && lseek(descriptor, 0, SEEK_END) == off_t(count) ? content : nil
    }

    private var aside: String { "\(folder)/aside" }

    func putAside(_ state: [UInt8]) -> Bool {
        do {
            try write(state, to: aside)
        } catch {
            // Then it stays in memory.
            return false
        }
        asideCount = state.count
        return true
    }

    func takeBack() -> [UInt8]? {
        defer { unlink(aside) }
        return Self.content(of: aside, asideCount)
    }

    private func remove(_ turn: Int) {
        bytes[turn] = nil
        unlink(file(turn))
    }
}
