#if canImport(Glibc)
import Glibc
#endif

/// The memory that only the start of a process needs.
///
/// Linking its libraries, reading its arguments and recovering a journal touch most of a program's code once. Of the 40 MiB that a young
/// store had resident, half were such pages: clean, backed by the program's file, and never looked at again. They cost nobody anything
/// that the system could not take back, but they are counted, and hide what a store does need.
///
/// So a process that begins to wait may give them back. What it uses again comes back from the system's cache, some 64 KiB at a time.
enum StartMemory {
    /// Does nothing where the system has no such call, and under a debugger, whose breakpoints are in these pages.
    static func giveBack() {
        #if canImport(Glibc)
        trimHeap()
        guard lines(of: "/proc/self/status").contains("TracerPid:\t0") else { return }
        for range in lines(of: "/proc/self/maps").compactMap(codeRange) {
            // Only advice: where it is not taken, all is as before.
            _ = madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
        #endif
    }

    /// A mapping of a program or library that is executable and cannot be written, so that its pages are those of the file.
    ///
    /// - Parameter line: as in proc(5): “7f3c5b2000-7f3c5c5000 r-xp 00028000 08:01 1234    /lib/libc.so.6”.
    static func codeRange(_ line: Substring) -> Range<UInt>? {
        let fields = line.split(separator: " ", maxSplits: 2)
        // A file in memory may be code that was made at run time, and is in no other place.
        guard fields.count == 3, fields[1] == "r-xp", fields[2].contains("/"), !fields[2].contains("/memfd:") else { return nil }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        return ends[0]..<ends[1]
    }

    #if canImport(Glibc)
    /// What the recovery has freed. Swift's module of the C library does not name the call.
    private static func trimHeap() {
        guard let address = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(address, to: (@convention(c) (Int) -> CInt).self)(0)
    }

    /// None if there is no such file. In pieces, for files of the system come page by page.
    private static func lines(of path: String) -> [Substring] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while case let count = read(descriptor, &piece, piece.count), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
    #endif
}
