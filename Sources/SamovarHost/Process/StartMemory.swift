import CLinux
import Foundation

/// The memory that only the start of a process needs.
///
/// Linking its libraries, reading its arguments and recovering a journal touch most of a program's code once. These pages cost nothing
/// that the system could not take back, but they are counted, and hide what a store does need. So a process that begins to wait gives
/// them back. What it uses again comes back from the system's cache.
enum StartMemory {
    /// Does nothing where the system has no such call, and under a debugger, whose breakpoints are in these pages.
    static func giveBack() {
        #if canImport(Glibc)
        // What the recovery has freed.
        malloc_trim(0)
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
    /// None if there is no such file. Not by `FileManager`, which takes the first page of such a file for all of it.
    private static func lines(of path: String) -> [Substring] {
        // What cannot be read is not given back.
        let bytes = try? FileHandle(forReadingAtPath: path)?.readToEnd()
        return String(decoding: bytes ?? Data(), as: UTF8.self).split(separator: "\n")
    }
    #endif
}
