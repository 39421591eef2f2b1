import Foundation
import SamovarCommands

/// A page of memory that the explorer shares with the page's server: which turn the program's code is at. It outlives the explorer, so it names the turn
/// that ended it; and a turn that stays is one that does not end.
///
/// `@unchecked`: words of a mapping that both processes read and one of them writes.
final class ExplorerMark: @unchecked Sendable {
    struct Reading: Equatable {
        /// Whether the program's code runs.
        var isInProgram: Bool
        var turn: Int
        /// How often it was entered.
        var beat: UInt64
    }

    private static let byteCount = 4_096
    private let words: UnsafeMutablePointer<UInt64>

    /// Maps the file of a folder that is its owner's alone; both are made if they are not there.
    init(in folder: String) throws(PageError) {
        let file = "\(folder)/mark"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PageError("cannot make \(folder): \(error.localizedDescription)")
        }
        let descriptor = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(Self.byteCount)) == 0 else { throw Self.failure(file) }
        defer { close(descriptor) }
        let memory = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let memory, memory != MAP_FAILED else { throw Self.failure(file) }
        words = memory.bindMemory(to: UInt64.self, capacity: Self.byteCount / 8)
    }

    deinit { munmap(words, Self.byteCount) }

    private static func failure(_ file: String) -> PageError {
        PageError("cannot map \(file): \(String(cString: strerror(errno)))")
    }

    var reading: Reading { Reading(isInProgram: words[0] == 1, turn: Int(truncatingIfNeeded: words[1]), beat: words[2]) }

    /// The program's code is called for a turn.
    func enter(_ turn: Int) {
        words[1] = UInt64(turn)
        words[2] &+= 1
        words[0] = 1
    }

    /// It has come back.
    func leave() { words[0] = 0 }
}
