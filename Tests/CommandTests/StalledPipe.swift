import Foundation
import ProcessSupport

/// A pipe whose reader stays, and reads nothing: this process.
final class StalledPipe {
    let path: String
    private let end: Int32

    init(in scratch: Scratch) throws {
        path = scratch.folder("stalled-\(UUID().uuidString)")
        guard mkfifo(path, 0o600) == 0 else { throw TimedOut("cannot make \(path)") }
        // Opened for both, so that nobody waits for the other side.
        end = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard end >= 0 else { throw TimedOut("cannot open \(path)") }
    }

    deinit { close(end) }

    /// Leaves no room in it.
    func fill() throws {
        for size in [4_096, 1] {
            let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
            while write(end, bytes, size) > 0 {}
            guard errno == EAGAIN else { throw TimedOut("cannot fill \(path): \(String(cString: strerror(errno)))") }
        }
    }
}
