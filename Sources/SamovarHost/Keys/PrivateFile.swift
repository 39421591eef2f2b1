import Foundation
import Journal
import ZeroMQ

/// A file that only its user may read, and that nobody but he and root can have put where it is.
enum PrivateFile {
    /// Lends what is in a file.
    ///
    /// What is checked is what is read: the file that was opened, whatever has its name by then.
    ///
    /// - Throws: `KeyFileError` if it is no regular file, is another user's, may be read by others, lies where others can put one, or has
    ///   more than so many bytes; what `body` throws.
    static func read<Result>(
        _ path: String, upTo limit: Int, _ body: (UnsafeRawBufferPointer) throws(KeyFileError) -> Result
    ) throws(KeyFileError) -> Result {
        try requireTrustedFolder(of: path)
        // Not to wait for the other end of what may be a pipe.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ELOOP { throw KeyFileError("\(path) is a symbolic link: name the file itself") }
            throw .system(path, "cannot be opened")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(path, "cannot be looked at") }
        try check(status, path)
        guard status.st_size <= limit else { throw KeyFileError("\(path) has more than \(limit) bytes") }
        return try withSecretBytes(Int(status.st_size) + 1) { buffer throws(KeyFileError) in
            var count = 0
            // One more than it had: it may grow meanwhile.
            while count < buffer.count {
                let part = Foundation.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
                if part < 0, errno == EINTR { continue }
                guard part >= 0 else { throw .system(path, "cannot be read") }
                if part == 0 { break }
                count += part
            }
            guard count < buffer.count else { throw KeyFileError("\(path) is being written") }
            return try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private static func check(_ status: stat, _ path: String) throws(KeyFileError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw KeyFileError("\(path) is no file") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw KeyFileError("\(path) belongs to another user (\(status.st_uid))")
        }
        let mode = UInt32(status.st_mode) & 0o7777
        // A credential of systemd is root's, with an access list for the user of the service, which shows as what the group may do.
        let isCredential = status.st_uid != geteuid() && status.st_gid == 0
        guard mode & (isCredential ? 0o037 : 0o077) == 0 else {
            throw KeyFileError("\(path) is open to others (mode \(String(mode, radix: 8))): protect it with chmod 600")
        }
    }

    /// Writes a file whole or not at all: after a crash there is the old one, the new one, or none if there was none.
    ///
    /// - Parameter mayReplace: false if there must be none of that name.
    static func write(_ bytes: UnsafeRawBufferPointer, to path: String, mayReplace: Bool) throws(KeyFileError) {
        try requireTrustedFolder(of: path)
        let draft = "\(folder(of: path))/.\(UInt64.random(in: .min ... .max)).draft"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(path, "cannot be written") }
        defer { unlink(draft) }
        try fill(descriptor, bytes, path)
        if mayReplace {
            guard rename(draft, path) == 0 else { throw .system(path, "cannot be written") }
        } else {
            // Unlike a rename it fails if there is one.
            guard link(draft, path) == 0 else {
                if errno == EEXIST { throw KeyFileError("\(path) is there already", .request) }
                throw .system(path, "cannot be written")
            }
        }
        try syncFolder(of: path)
    }

    private static func fill(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, _ path: String) throws(KeyFileError) {
        defer { close(descriptor) }
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system(path, "cannot be written") }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        // Whatever the mask was.
        guard fchmod(descriptor, 0o600) == 0, writeThrough(descriptor) == 0 else { throw .system(path, "cannot be written") }
    }

    /// Has the names in a file's folder on disk.
    static func syncFolder(of path: String) throws(KeyFileError) {
        let descriptor = open(folder(of: path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path, "has a folder that cannot be opened") }
        defer { close(descriptor) }
        guard writeThrough(descriptor) == 0 else { throw .system(path, "has a folder that cannot be synced") }
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || errno != ENOENT
    }

    // MARK: Folders

    /// Requires a folder for keys, which nobody else can even enter.
    static func requirePrivateFolder(_ path: String) throws(KeyFileError) {
        try requireTrusted(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system(path, "cannot be looked at") }
        let mode = UInt32(status.st_mode) & 0o7777
        guard mode & 0o077 == 0 else {
            throw KeyFileError("\(path) is open to others (mode \(String(mode, radix: 8))): protect it with chmod 700")
        }
    }

    private static func requireTrustedFolder(of path: String) throws(KeyFileError) { try requireTrusted(folder(of: path)) }

    private static func requireTrusted(_ folder: String) throws(KeyFileError) {
        try requireTrusted(folder, by: SocketFolder.verdict(on: folder, for: .secrets))
    }

    static func requireTrusted(_ folder: String, by verdict: FolderTrust.Verdict) throws(KeyFileError) {
        switch verdict {
        case .trusted: return
        case .missing(let path): throw KeyFileError("the folder \(path) is not there")
        case .shared(let path): throw KeyFileError("others can write in the folder \(path): protect it with chmod 700")
        case .refused(let reason, let isForbidden):
            throw KeyFileError(
                "the folder \(folder) is no place for keys: \(reason)", isForbidden ? .forbidden : .configuration)
        }
    }

    static func folder(of path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
    }
}
