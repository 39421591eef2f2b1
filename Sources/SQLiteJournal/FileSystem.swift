import CLinux
import CrashPoints
import Foundation
import Journal
import JournalChain

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
        if let isNew = try makeLastFolder(path) { return isNew }
        // Each step up has a shorter path, so this ends.
        let above = parent(of: path)
        if above != path, !exists(above) { try makeFolder(above) }
        if let isNew = try makeLastFolder(path) { return isNew }
        throw JournalError(.inputOutput, "The folder \(path) cannot be created: \(obstacle(at: above)).")
    }

    /// - Returns: Whether the folder is new; nil if the folder above it is missing, as the system says.
    private static func makeLastFolder(_ path: String) throws(JournalError) -> Bool? {
        if mkdir(path, 0o700) == 0 {
            try synchronizeFolder(parent(of: path))
            return true
        }
        let failure = errno
        switch failure {
        case EEXIST where isFolder(path): return false
        case EEXIST where isLink(path):
            throw JournalError(.inputOutput, "The folder \(path) cannot be created: \(path) is a symbolic link to nowhere.")
        case EEXIST: throw JournalError(.inputOutput, "The folder \(path) cannot be created: \(path) is a file.")
        case ENOENT: return nil
        default: throw JournalError(errno: failure, "The folder \(path) cannot be created.", isDoor: true)
        }
    }

    /// Why a folder takes no further ones, although everything above it was made where it was missing.
    private static func obstacle(at folder: String) -> String {
        if isFolder(folder) {
            // A working directory that was removed is still one, but has no name and takes none.
            if !folder.hasPrefix("/"), !hasWorkingDirectory { return "the working directory was removed" }
            return "\(folder) takes no folders"
        }
        return "there is no folder \(folder)"
    }

    private static var hasWorkingDirectory: Bool {
        guard let path = getcwd(nil, 0) else { return false }
        defer { free(path) }
        // For a removed one, Linux may answer with a path that is none.
        return path.pointee == CChar(UInt8(ascii: "/"))
    }

    private static func isFolder(_ path: String) -> Bool { kind(of: path, followingLinks: true) == S_IFDIR }
    private static func isLink(_ path: String) -> Bool { kind(of: path, followingLinks: false) == S_IFLNK }

    private static func kind(of path: String, followingLinks: Bool) -> mode_t? {
        var status = stat()
        let result = followingLinks ? stat(path, &status) : lstat(path, &status)
        return result == 0 ? status.st_mode & S_IFMT : nil
    }

    /// Makes the names in a folder durable: a new or renamed file survives a power failure only after this.
    static func synchronizeFolder(_ path: String) throws(JournalError) {
        try synchronize(path, "The folder \(path)", O_DIRECTORY)
    }

    /// A file of a data folder is for its owner alone, also in a folder that others may enter.
    ///
    /// Never opened if it is there: to close it would let go of the locks that this process may have on it.
    static func keepPrivate(_ path: String, creating: Bool) {
        var status = stat()
        if stat(path, &status) == 0 {
            // Whoever may write it and may not change its mode is not its owner, who has decided otherwise.
            if status.st_mode & 0o077 != 0 { _ = chmod(path, status.st_mode & 0o700) }
        } else if creating {
            let file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
            // What is wrong with the place is said by who opens it.
            if file >= 0 { close(file) }
        }
    }

    static func synchronizeFile(_ path: String) throws(JournalError) {
        try synchronize(path, path, 0)
    }

    private static func synchronize(_ path: String, _ name: String, _ flags: CInt) throws(JournalError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | flags)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(name) cannot be opened.") }
        defer { close(descriptor) }
        try makeDurable(descriptor, name)
    }

    static func makeDurable(_ descriptor: CInt, _ name: String) throws(JournalError) {
        guard writeThrough(descriptor) == 0 else { throw JournalError(errno: errno, "\(name) cannot be made durable.") }
    }

    static func move(_ source: String, to destination: String) throws(JournalError) {
        guard rename(source, destination) == 0 else {
            throw JournalError(errno: errno, "\(source) cannot be moved to \(destination).")
        }
    }

    /// The text of a short file, or `nil` if there is no such file.
    static func contents(of path: String) throws(JournalError) -> String? {
        try bytes(of: path, limit: 4096).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first `limit` bytes of a file, or all of it, or `nil` if there is no such file.
    static func bytes(of path: String, limit: Int = .max) throws(JournalError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw JournalError(errno: errno, "\(path) cannot be opened.")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw JournalError(errno: errno, "\(path) cannot be read.") }
        return try Self.bytes(from: 0, count: min(limit, Int(status.st_size)), of: descriptor, at: path)
    }

    /// Some bytes of an open file; fewer at its end.
    static func bytes(from place: Int, count: Int, of descriptor: CInt, at path: String) throws(JournalError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let step = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(place + filled))
            }
            guard step >= 0 else { throw JournalError(errno: errno, "\(path) cannot be read.") }
            if step == 0 { break }
            filled += step
        }
        return filled == count ? bytes : Array(bytes.prefix(filled))
    }

    /// Copies a file in pieces.
    static func copy(_ path: String, to copy: String) throws(JournalError) {
        try rewrite(path, to: copy) { (source, write) throws(JournalError) in
            var place = 0
            while true {
                let bytes = try Self.bytes(from: place, count: pieceSize, of: source, at: path)
                if bytes.isEmpty { return }
                try write(bytes, place)
                place += bytes.count
            }
        }
    }

    /// Makes a new file of what is read from another one.
    ///
    /// - Parameter body: gets the descriptor of the file that is read, and writes bytes at places of the new one.
    static func rewrite(
        _ path: String, to copy: String,
        _ body: (_ source: CInt, _ write: (_ bytes: [UInt8], _ place: Int) throws(JournalError) -> Void) throws(JournalError) ->
            Void
    ) throws(JournalError) {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw JournalError(errno: errno, "\(path) cannot be opened.") }
        defer { close(source) }
        let target = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { throw JournalError(errno: errno, "\(copy) cannot be created.") }
        defer { close(target) }
        try body(source) { (bytes, place) throws(JournalError) in
            guard writeAll(bytes, at: place, of: target) == 0 else {
                throw JournalError(errno: errno, "\(copy) cannot be written.")
            }
        }
    }

    /// The size of a file; nil if there is none, or it is no file.
    static func size(of path: String) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// Which file it is, whatever path leads to it.
    struct Identity: Equatable, Sendable {
        let device: dev_t
        let number: ino_t
    }

    /// Nil if there is no file.
    static func identity(of path: String) -> Identity? {
        var status = stat()
        return stat(path, &status) == 0 ? Identity(device: status.st_dev, number: status.st_ino) : nil
    }

    /// Whether what is kept at this path ends with the machine, as far as can be told.
    static func isInMemory(_ path: String) -> Bool {
        #if os(Linux)
        var system = statfs()
        guard statfs(path, &system) == 0 else { return false }
        let (tmpfs, ramfs): (UInt32, UInt32) = (0x0102_1994, 0x8584_58f6)
        return [tmpfs, ramfs].contains(UInt32(truncatingIfNeeded: system.f_type))
        #else
        return false
        #endif
    }

    /// Where a link leads to; the path itself if it is none, or leads nowhere.
    static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    static func contents(of descriptor: CInt, at path: String) throws(JournalError) -> String {
        String(decoding: try bytes(from: 0, count: 4096, of: descriptor, at: path), as: UTF8.self)
    }

    static func replace(_ path: String, with text: String) throws(JournalError) {
        try replace(path, with: [Array(text.utf8)])
    }

    /// Replaces a file as a whole and durably: a reader finds the old bytes or the new ones, never a part. If it throws, no draft is left.
    ///
    /// It is made durable piece by piece, so that another file's sync that comes meanwhile has little to wait for.
    ///
    /// - Parameter isSnapshot: has the crash points of one.
    static func replace(_ path: String, with parts: [[UInt8]], isSnapshot: Bool = false) throws(JournalError) {
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(draft) cannot be created.", isBegun: false) }
        defer { close(descriptor) }
        do throws(JournalError) {
            for part in parts {
                try append(part, to: descriptor, at: draft)
                if isSnapshot { CrashPoint.pass(.storeWithinSnapshot) }
            }
            if isSnapshot { CrashPoint.pass(.storeDuringSnapshot) }
            try move(draft, to: path)
            if isSnapshot { CrashPoint.pass(.storeBeforeSnapshotSync) }
            try synchronizeFolder(parent(of: path))
        } catch {
            unlink(draft)
            throw error
        }
    }

    private static let pieceSize = 4 << 20

    private static func append(_ bytes: [UInt8], to descriptor: CInt, at path: String) throws(JournalError) {
        var done = 0
        while done < bytes.count {
            let size = min(pieceSize, bytes.count - done)
            let count = bytes.withUnsafeBytes { buffer in write(descriptor, buffer.baseAddress.map { $0 + done }, size) }
            guard count > 0 else { throw JournalError(errno: errno, "\(path) cannot be written.") }
            try makeDurable(descriptor, path)
            done += count
        }
    }

    /// What is gone already is no error.
    static func remove(_ path: String) throws(JournalError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw JournalError(errno: errno, "\(path) cannot be removed.") }
    }

    /// Only an empty one can be removed; what is gone already is no error.
    static func removeFolder(_ path: String) throws(JournalError) {
        guard rmdir(path) == 0 || errno == ENOENT else { throw JournalError(errno: errno, "\(path) cannot be removed.") }
    }

    /// The names in a folder; none if there is no such folder.
    static func names(in path: String) throws(JournalError) -> [String] {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return [] }
            throw JournalError(errno: errno, "The folder \(path) cannot be read.")
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static func overwrite(_ descriptor: CInt, at path: String, with text: String) throws(JournalError) {
        guard ftruncate(descriptor, 0) == 0, writeAll(Array(text.utf8), at: 0, of: descriptor) == 0 else {
            throw JournalError(errno: errno, "\(path) cannot be written.")
        }
    }

    /// A path without slashes at its end, so that something can be put behind its last name.
    static func withoutSlash(_ path: String) -> String {
        var path = path[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        return String(path)
    }

    static func parent(of path: String) -> String {
        let path = withoutSlash(path)
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The present time as `20260131T235959Z`, a name that sorts by time.
    static func timestamp() -> String {
        Date.now.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    }
}

extension JournalError {
    /// - Parameters:
    ///   - isBegun: false if nothing was written yet; then what the process lacks for it is no failure of the disk.
    ///   - isDoor: whether it is the first thing that is done at a place; then what the system forbids is no failure of the disk.
    init(errno: CInt, _ message: String, isBegun: Bool = true, isDoor: Bool = false) {
        let code: Code =
            switch errno {
            case ENOSPC, EDQUOT: .full
            case EACCES where isDoor, EPERM where isDoor, EROFS where isDoor: .forbidden
            case EMFILE where !isBegun, ENFILE where !isBegun, ENOMEM where !isBegun: .unavailable
            default: .inputOutput
            }
        self.init(code, message, underlying: String(cString: strerror(errno)))
    }
}
