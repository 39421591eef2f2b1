import Foundation
import SamovarCommands
import SamovarText

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

    /// That of a folder, or, where there is no room for one, memory that nobody shares: then nobody knows which turn has ended an explorer.
    static func shared(in folder: String, note: (CommandFailure) -> Void) throws(CommandFailure) -> ExplorerMark {
        do {
            return try ExplorerMark(in: folder)
        } catch {
            note(error)
            return ExplorerMark(try map(-1, MAP_PRIVATE | CInt(MAP_ANONYMOUS), "memory"))
        }
    }

    private init(_ words: UnsafeMutablePointer<UInt64>) { self.words = words }

    /// Maps the file of a folder that is its owner's alone; both are made if they are not there.
    private convenience init(in folder: String) throws(CommandFailure) {
        let file = "\(folder)/mark"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.unavailable, "cannot make \(folder): \(error.localizedDescription)")
        }
        let descriptor = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(file) }
        defer { close(descriptor) }
        // A page without room behind it would end the process that writes to it.
        if lseek(descriptor, 0, SEEK_END) < off_t(Self.byteCount) {
            lseek(descriptor, 0, SEEK_SET)
            if writeAll([UInt8](repeating: 0, count: Self.byteCount), to: descriptor) != nil { throw Self.failure(file) }
        }
        self.init(try Self.map(descriptor, MAP_SHARED, file))
    }

    private static func map(
        _ descriptor: Int32, _ flags: CInt, _ name: String
    ) throws(CommandFailure) -> UnsafeMutablePointer<UInt64> {
        let memory = mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, descriptor, 0)
        guard let memory, memory != MAP_FAILED else { throw failure(name) }
        return memory.bindMemory(to: UInt64.self, capacity: byteCount / 8)
    }

    deinit { munmap(words, Self.byteCount) }

    private static func failure(_ file: String) -> CommandFailure {
        CommandFailure(.unavailable, "cannot map \(file): \(String(cString: strerror(errno)))")
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
