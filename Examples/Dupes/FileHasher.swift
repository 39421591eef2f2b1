import SHA2

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Hashes files, one after the other with one buffer. Runs in workers.
struct FileHasher {
    var bufferSize = 256 << 10

    /// - Parameter sizes: the size of each file when it was listed. A file of another size has changed, and its digest would
    ///   be that of a file nobody compared.
    func hash(_ files: some Sequence<Path>, sizes: [Int]) -> Hashes {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 64)
        defer { buffer.deallocate() }
        var hashes = Hashes()
        hashes.digests.reserveCapacity(sizes.count * Digest.count)
        for (index, (file, size)) in zip(files, sizes).enumerated() {
            do {
                hashes.digests += try hash(file, size: size, buffer: buffer)
            } catch {
                hashes.failures.append(Hashes.Failure(index: index, reason: "\(error)"))
            }
        }
        return hashes
    }

    private func hash(_ file: Path, size: Int, buffer: UnsafeMutableRawBufferPointer) throws -> [UInt8] {
        let path = file.cString
        // Without O_NONBLOCK, a pipe that took the place of the file would be waited for.
        let descriptor = try SystemError.check { open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        defer { close(descriptor) }

        var status = stat()
        _ = try SystemError.check { fstat(descriptor, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileChange.replaced }
        guard status.st_size == size else { throw FileChange.resized(from: size, to: Int(status.st_size)) }

        var hash = SHA256()
        var total = 0
        while true {
            let count = try SystemError.check { read(descriptor, buffer.baseAddress, buffer.count) }
            if count == 0 { break }
            total += count
            // A file that somebody writes to faster than it is read would never end.
            guard total <= size else { break }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        guard total == size else { throw FileChange.resized(from: size, to: total) }
        return hash.finalize()
    }
}

/// What can happen to a file between its listing and its hashing, besides its end.
enum FileChange: Error, Equatable, CustomStringConvertible {
    case resized(from: Int, to: Int)
    case replaced

    var description: String {
        switch self {
        case .resized(let before, let now): "Changed from \(before) to \(now) bytes while it was looked at"
        case .replaced: "No longer a regular file"
        }
    }
}
