import Foundation

/// A directory with a short path for the sockets of one test.
struct RuntimeDirectory: ~Copyable {
    let path: String

    init() throws {
        path = "/tmp/zmq-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A leftover in /tmp must not fail a test.
        try? FileManager.default.removeItem(atPath: path)
    }
}
