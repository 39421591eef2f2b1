import Foundation

/// Which file an executable is. A build makes another one, also at the same path and under the same name.
package struct ExecutableFile: Equatable, Sendable, CustomStringConvertible {
    private let number: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil if there is no file at this path.
    package init?(at path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        #if canImport(Darwin)
        let time = found.st_mtimespec
        #else
        let time = found.st_mtim
        #endif
        (number, size) = (UInt64(found.st_ino), Int64(found.st_size))
        (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec))
    }

    /// What this process runs, also when that is no more at its path; nil if it cannot be found.
    package static let own: ExecutableFile? = {
        #if os(Linux)
        if let file = ExecutableFile(at: "/proc/self/exe") { return file }
        #endif
        // An executable that cannot be found is no file.
        return (try? ownExecutable()).flatMap { ExecutableFile(at: $0) }
    }()

    /// Whether another one is at the path of what this process runs. Where none is, nothing has replaced it.
    package static var ownIsReplaced: Bool {
        // As above.
        guard let own, let path = try? ownExecutable(), let file = ExecutableFile(at: path) else { return false }
        return file != own
    }

    package var description: String { "\(number)-\(size)-\(seconds)-\(nanoseconds)" }
}
