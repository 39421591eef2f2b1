import Foundation
import SamovarCommands
import SamovarText

/// The secret of the page's address, or that of its metrics: 256 random bits in hexadecimal.
enum PageToken {
    private static let length = 64

    /// The one in the file, so that a page stays open over restarts of its server; else a new one.
    ///
    /// - Parameter file: readable by its owner alone; nil for a token that is kept nowhere.
    static func kept(in file: String?) throws(CommandFailure) -> String {
        guard let file else { return new() }
        if let token = try read(file) { return token }
        let token = new()
        let folder = URL(filePath: file).deletingLastPathComponent().path
        do {
            // The store may come later.
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.unavailable, "cannot make \(folder): \(error.localizedDescription)")
        }
        let failure = write(token, to: file)
        // Another server was faster.
        if failure == EEXIST, let token = try read(file) { return token }
        if let failure {
            throw CommandFailure(.unavailable, "cannot keep the token in \(file): \(String(cString: strerror(failure)))")
        }
        return token
    }

    /// Whole or not at all, whenever this process ends.
    ///
    /// - Returns: what the system says if it failed, `EEXIST` if there is such a file.
    private static func write(_ token: String, to file: String) -> CInt? {
        let draft = "\(file).\(UInt64.random(in: .min ... .max)).draft"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { unlink(draft) }
        let failure = writeAll(Array("\(token)\n".utf8), to: descriptor)
        close(descriptor)
        if let failure { return failure }
        // Unlike a rename, a link fails if there is one. Not every file system knows links.
        let unknown = [EPERM, ENOTSUP, EMLINK]
        return link(draft, file) == 0 || unknown.contains(errno) && rename(draft, file) == 0 ? nil : errno
    }

    private static func read(_ file: String) throws(CommandFailure) -> String? {
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else {
            throw CommandFailure(.unavailable, "cannot read the token in \(file): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw CommandFailure(.unavailable, "\(file) can be read by others: remove it, and a new token is made")
        }
        var bytes = [UInt8](repeating: 0, count: length + 1)
        let count = Foundation.read(descriptor, &bytes, bytes.count)
        let token = String(decoding: bytes.prefix(length), as: UTF8.self)
        guard count >= length, token.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else {
            throw CommandFailure(.unavailable, "\(file) has no token: remove it, and a new one is made")
        }
        return token
    }

    /// Where the token for metrics is, if that of the page is in this file.
    static func metricsFile(beside file: String) -> String {
        URL(filePath: file).deletingLastPathComponent().appending(path: "metrics.token").path
    }

    /// One that is kept nowhere.
    static func new() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let word = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }
}
