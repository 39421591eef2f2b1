import Foundation
import Journal
import SamovarCore
import SamovarPeers

/// The file of a durable client: entries are added at its end and synced before anybody relies on them.
///
/// `FILE.lock` is locked while a process uses it, and stays: two processes with one session would take each other's answers.
/// The file is written anew, as small as it can be, when it is opened and when it has grown; a crash leaves the old or the
/// new one. A last write that was cut off is left out, because nobody was told of it; other damage is an error.
///
/// Behind a symbolic link all of this is done where the file is: a rename would put a file in place of the link, and leave the one behind it to
/// others, with a lock of their own.
final class OutboxFile {
    /// As it was given, for people.
    let path: String
    /// Behind all symbolic links.
    private let file: String
    private(set) var outbox: ClientOutbox
    private var descriptor: CInt = -1
    private let lock: CInt
    private var bytesSinceCompaction = 0

    /// Written anew beyond so many bytes, and twice what is left then.
    private static let compactionBytes = 4 << 20
    /// More than a file ever has: what a client keeps, `ClientMachine.Settings.keptBytes`, as much again that was added since, and the
    /// entries around it.
    private static let maximumBytes = 256 << 20

    /// Opens or makes the file.
    ///
    /// - Throws: `OutboxError` if another process uses it, or if it cannot be read or written.
    init(_ path: String) throws {
        self.path = path
        file = Self.resolved(path)
        lock = try Self.lock(file + ".lock", of: path)
        do {
            outbox = try Self.reopened(file, of: path)
        } catch {
            close(lock)
            throw error
        }
        // From here on there is an object, whose end closes the lock.
        try install(try writeDraft())
    }

    /// The path of a file that need not be there yet, without symbolic links. What cannot be resolved cannot be opened either, and that has
    /// the system's reason.
    private static func resolved(_ path: String) -> String {
        var place = path
        // As many links as the system follows.
        for _ in 0..<40 {
            if let real = realPath(place) { return real }
            // What is no link leads nowhere.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place) else { break }
            place = target.hasPrefix("/") ? target : "\(PrivateFile.folder(of: place))/\(target)"
        }
        guard let folder = realPath(PrivateFile.folder(of: place)), let name = place.split(separator: "/").last else {
            return place
        }
        return "\(folder)/\(name)"
    }

    private static func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func reopened(_ file: String, of path: String) throws -> ClientOutbox {
        let bytes = try contents(of: file, path)
        do {
            return try ClientOutbox(file: bytes)?.reopened(as: .random()) ?? ClientOutbox(session: .random())
        } catch {
            throw OutboxError(text: "the outbox \(path) cannot be read: \(error)")
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        close(lock)
    }

    /// Adds entries; they are on disk when this returns.
    func add(_ entries: [OutboxEntry]) throws {
        guard !entries.isEmpty else { return }
        var bytes: [UInt8] = []
        for entry in entries {
            try outbox.add(entry)
            bytes += entry.bytes
        }
        try append(bytes, to: descriptor)
        guard writeThrough(descriptor, contentsOnly: true) == 0 else { throw failure("cannot be synced") }
        bytesSinceCompaction += bytes.count
        guard bytesSinceCompaction > Self.compactionBytes else { return }
        let draft: (descriptor: CInt, bytes: Int)
        do {
            draft = try writeDraft()
        } catch {
            // What was added is on disk all the same. It is tried again when as much more is, as long as the file is far from what can be read.
            guard lseek(descriptor, 0, SEEK_END) <= Self.maximumBytes / 2 else { throw error }
            return bytesSinceCompaction = 0
        }
        try install(draft)
    }

    private var draft: String { file + ".new" }

    /// Writes what is left to a file of its own. If it throws, nothing has changed.
    private func writeDraft() throws -> (descriptor: CInt, bytes: Int) {
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be written") }
        do {
            let bytes = outbox.entries.flatMap(\.bytes)
            try append(bytes, to: descriptor)
            guard writeThrough(descriptor) == 0 else { throw failure("cannot be written") }
            return (descriptor, bytes.count)
        } catch {
            close(descriptor)
            unlink(draft)
            throw error
        }
    }

    /// Puts it in the place of the file. If it throws, either of them may be there.
    private func install(_ new: (descriptor: CInt, bytes: Int)) throws {
        do {
            guard rename(draft, file) == 0 else { throw failure("cannot be written") }
            do throws(KeyFileError) { try PrivateFile.syncFolder(of: file) } catch {
                throw OutboxError(text: "the outbox \(error)")
            }
        } catch {
            close(new.descriptor)
            throw error
        }
        // The more is left, the later it pays to write it again.
        bytesSinceCompaction = -new.bytes
        if descriptor >= 0 { close(descriptor) }
        descriptor = new.descriptor
    }

    private func append(_ bytes: [UInt8], to descriptor: CInt) throws {
        let result = writeAll(bytes) { rest, _ in write(descriptor, rest.baseAddress, rest.count) }
        guard result == 0 else { throw failure("cannot be written") }
    }

    private func failure(_ what: String) -> OutboxError { OutboxError(path, what) }

    private static func lock(_ file: String, of path: String) throws -> CInt {
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw OutboxError(path, "cannot be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            defer { close(descriptor) }
            if isTaken { throw OutboxError(text: "another process uses the outbox \(path): one at a time can") }
            throw OutboxError(path, "cannot be locked")
        }
        return descriptor
    }

    private static func contents(of file: String, _ path: String) throws -> [UInt8] {
        // Not to wait for the other end of what may be a pipe.
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return [] }
        guard descriptor >= 0 else { throw OutboxError(path, "cannot be opened") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw OutboxError(path, "cannot be looked at") }
        // A device or a pipe would be replaced by a file.
        guard status.st_mode & S_IFMT == S_IFREG else { throw OutboxError(text: "the outbox \(path) is no file") }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw OutboxError(path, "cannot be read") }
            if count == 0 { return bytes }
            bytes += part[..<count]
            guard bytes.count <= maximumBytes else { throw OutboxError(text: "\(path) is too large for an outbox") }
        }
    }
}

/// Why an outbox cannot be used, in one sentence for a person.
public struct OutboxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong with which file.
    public let description: String

    init(text: String) {
        description = text
    }

    /// With the system's reason.
    init(_ path: String, _ what: String) {
        description = "the outbox \(path) \(what): \(String(cString: strerror(errno)))"
    }
}
