import Foundation
import Synchronization

/// A folder of its own for one test: data folders, sockets, logs. At its end, every process that names it is killed and the
/// folder removed.
public final class Scratch: Sendable {
    public let path: String
    private let counter = Atomic<Int>(0)

    /// - Parameter isInMemory: where there is a file system without a disk, it is there: for what must not wait for other users of the disk.
    public init(inMemory isInMemory: Bool = false) throws {
        let memory = "/dev/shm"
        // Not the system's folder for temporary files: the path of a socket has at most 107 bytes.
        let place = isInMemory && access(memory, W_OK) == 0 ? memory : "/tmp"
        path = "\(place)/samovar-test-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A supervisor may start another child before its own turn comes, and the dying still write.
        for _ in 0..<200 {
            let processes = ProcessTable.all(naming: path)
            if processes.isEmpty { break }
            for process in processes { process.send(SIGKILL) }
            usleep(10_000)
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    public func folder(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        let file = folder(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    func nextNumber() -> Int { counter.wrappingAdd(1, ordering: .relaxed).newValue }
}
