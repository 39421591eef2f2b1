import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The few calls of the operating system that a data folder needs, with errors a person can read.
enum FileSystem {
    static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    /// Creates a folder that only its owner may enter, and the folders above it.
    ///
    /// - Returns: Whether the folder is new.
    @discardableResult
    static func makeFolder(_ path: String) throws(JournalError) -> Bool {
        if mkdir(path, 0o700) == 0 {
            try synchronizeFolder(parent(of: path))
            return true
        }
        let failure = errno
        switch failure {
        case EEXIST:
            return false
        case ENOENT where parent(of: path) != path:
            try makeFolder(parent(of: path))
            return try makeFolder(path)
        default:
            throw JournalError(errno: failure, "The folder \(path) cannot be created.")
        }
    }

    /// Makes the names in a folder durable: a new or renamed file survives a power failure only after this.
    static func synchronizeFolder(_ path: String) throws(JournalError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "The folder \(path) cannot be opened.") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw JournalError(errno: errno, "The folder \(path) cannot be made durable.")
        }
    }

    static func move(_ source: String, to destination: String) throws(JournalError) {
        guard rename(source, destination) == 0 else {
            throw JournalError(errno: errno, "\(source) cannot be moved to \(destination).")
        }
    }

    /// The first `limit` bytes of a file, or `nil` if there is no such file.
    static func contents(of path: String, limit: Int = 4096) throws(JournalError) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw JournalError(errno: errno, "\(path) cannot be opened.")
        }
        defer { close(descriptor) }
        return try contents(of: descriptor, at: path, limit: limit)
    }

    static func contents(of descriptor: CInt, at path: String, limit: Int = 4096) throws(JournalError) -> String {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = pread(descriptor, &bytes, limit, 0)
        guard count >= 0 else { throw JournalError(errno: errno, "\(path) cannot be read.") }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Replaces a file as a whole and durably: a reader finds the old text or the new one, never a part.
    static func replace(_ path: String, with text: String) throws(JournalError) {
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(draft) cannot be created.") }
        defer { close(descriptor) }
        try overwrite(descriptor, at: draft, with: text)
        guard fsync(descriptor) == 0 else { throw JournalError(errno: errno, "\(draft) cannot be made durable.") }
        try move(draft, to: path)
        try synchronizeFolder(parent(of: path))
    }

    static func overwrite(_ descriptor: CInt, at path: String, with text: String) throws(JournalError) {
        let bytes = Array(text.utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw JournalError(errno: errno, "\(path) cannot be written.")
        }
    }

    static func parent(of path: String) -> String {
        var path = path[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The present time as `20260131T235959Z`, a name that sorts by time.
    static func timestamp() -> String {
        var seconds = time(nil)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension JournalError {
    init(errno: CInt, _ message: String) {
        let code: Code = errno == ENOSPC || errno == EDQUOT ? .full : .inputOutput
        self.init(code, message, underlying: String(cString: strerror(errno)))
    }
}
