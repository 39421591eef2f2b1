import Foundation
import Synchronization

/// The path of an `ipc://` endpoint, `nil` for other transports.
func ipcPath(of endpoint: String) -> Substring? {
    let scheme = "ipc://"
    return endpoint.hasPrefix(scheme) ? endpoint.dropFirst(scheme.count) : nil
}

/// Refuses a path that the operating system would cut, and abstract names, because they have no permissions.
func checkIPC(_ path: Substring, operation: String, endpoint: String) throws(ZeroMQError) {
    // The last byte is for the terminating zero.
    let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
    let reason: String
    if path.utf8.count > limit {
        reason = "the path has \(path.utf8.count) bytes, the limit is \(limit)"
    } else if path.hasPrefix("@") {
        reason = "abstract names have no permissions"
    } else {
        return
    }
    throw ZeroMQError(.invalidEndpoint, operation: operation, endpoint: endpoint, reason: reason)
}

/// Runs `bind` so that only the same user can reach the socket file from its first moment.
func bindIPC(_ path: Substring, endpoint: String, _ bind: () throws(ZeroMQError) -> Void) throws(ZeroMQError) {
    try checkIPC(path, operation: "bind", endpoint: endpoint)
    try fileModeMask.withLock { _ throws(ZeroMQError) in
        let previous = umask(0o077)
        defer { umask(previous) }
        try bind()
    }
}

/// The mask belongs to the whole process: two binds at a time could leave each other's behind.
private let fileModeMask = Mutex(())
