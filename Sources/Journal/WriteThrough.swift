#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Waits until what was written to this file or folder survives a power failure. All syncs but those of SQLite, which has a setting
/// of its own, are this one.
///
/// `fsync` of macOS leaves it to the disk's own cache; only `F_FULLFSYNC` does not, and not every file system there knows it.
///
/// - Parameter contentsOnly: what was written, and what is needed to read it again; else all that is known of the file, or the names in a
///   folder.
/// - Returns: 0, or -1 with the reason in `errno`.
public func writeThrough(_ descriptor: CInt, contentsOnly: Bool = false) -> CInt {
    #if canImport(Darwin)
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    guard errno == ENOTSUP || errno == EINVAL else { return -1 }
    return fsync(descriptor)
    #else
    return contentsOnly ? fdatasync(descriptor) : fsync(descriptor)
    #endif
}
