import Foundation

/// Keeps the sockets of an endpoint for one store.
///
/// libzmq binds an `ipc` address also if another socket has it: the file is taken away from that one, and those who look for one store
/// would meet the other. So a store locks the file `store.lock` in their folder before it binds; `lock` is that of a data folder, which
/// may be the same one. The lock ends with the process, however it dies; the files that it leaves behind hinder nobody.
enum EndpointLock {
    /// A store that has just ended may have its lock for a moment longer.
    private static let wait = Duration.seconds(1)

    /// Runs `body`, which makes the sockets and has closed them when it returns: libzmq removes their files then, whosever they are.
    ///
    /// - Throws: `StoreError` if another store listens there, which may end; `EndpointError` if its folder or file cannot be made; what
    ///   `body` throws.
    static func hold<Result>(_ endpoint: Endpoint, _ body: () throws -> Result) throws -> Result {
        let file = "\(endpoint.folder)/store.lock"
        let descriptor = try lock(file, of: endpoint)
        defer {
            unlink(file)
            close(descriptor)
            rmdir(endpoint.folder)
        }
        return try body()
    }

    private static func lock(_ file: String, of endpoint: Endpoint) throws -> CInt {
        let end = ContinuousClock.now + wait
        while true {
            try SocketFolder.make(endpoint.folder)
            let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if descriptor < 0 {
                // The store before has removed the folder after us.
                if errno == ENOENT, ContinuousClock.now < end { continue }
                throw EndpointError("cannot open \(file): \(String(cString: strerror(errno)))")
            }
            var isHeld = false
            defer { if !isHeld { close(descriptor) } }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                // It may have removed the file between the two calls: a lock on that would be seen by nobody.
                isHeld = isSame(descriptor, file)
                guard isHeld else { continue }
                write(getpid(), to: descriptor)
                return descriptor
            } else if errno != EINTR {
                guard errno == EWOULDBLOCK else {
                    throw EndpointError("cannot lock \(file): \(String(cString: strerror(errno)))")
                }
                guard ContinuousClock.now < end else {
                    throw StoreError(
                        .busy,
                        "another store, \(holder(descriptor)), listens at \(endpoint): name another endpoint for this one, or end the other"
                    )
                }
                poll(nil, 0, 20)
            }
        }
    }

    private static func isSame(_ descriptor: CInt, _ file: String) -> Bool {
        var opened = stat()
        var named = stat()
        guard fstat(descriptor, &opened) == 0, stat(file, &named) == 0 else { return false }
        return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    /// For whoever is refused, who can do without it.
    private static func write(_ process: pid_t, to descriptor: CInt) {
        let text = Array("\(process)\n".utf8)
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = pwrite(descriptor, text, text.count, 0)
    }

    private static func holder(_ descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let line = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
        return Int(String(decoding: line, as: UTF8.self)).map { "process \($0)" } ?? "of another process"
    }
}
