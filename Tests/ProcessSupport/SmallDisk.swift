import Foundation

/// A small file system in memory, gone with its last reference.
public final class SmallDisk: Sendable {
    public let path: String

    public static var isAvailable: Bool {
        #if os(Linux)
        guard geteuid() == 0 else { return false }
        // Root in a container may still not be allowed to mount.
        guard let scratch = try? Scratch(), let disk = try? SmallDisk(at: scratch.folder("probe"), megabytes: 1) else {
            return false
        }
        return FileManager.default.fileExists(atPath: disk.path)
        #else
        return false
        #endif
    }

    public init(at path: String, megabytes: Int) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
            throw DiskError(description: "\(path) cannot be mounted: \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        umount2(path, CInt(MNT_DETACH))
    }

    /// Takes all space that is left.
    public func fill() throws {
        let descriptor = open(path + "/ballast", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw DiskError(description: "no ballast: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, bytes, bytes.count) > 0 {}
        guard errno == ENOSPC else { throw DiskError(description: "the disk is not full: \(String(cString: strerror(errno)))") }
    }

    public var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    public func free() throws {
        try FileManager.default.removeItem(atPath: path + "/ballast")
    }
}

private struct DiskError: Error, CustomStringConvertible {
    let description: String
}
