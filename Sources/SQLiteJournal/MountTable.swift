import Foundation
import Journal

/// Which file systems there are, as Linux tells a process. Elsewhere it is empty, and nobody can tell.
struct MountTable {
    /// Lines of `/proc/self/mountinfo`: identity, parent, `major:minor`, root, place, options …, `-`, type …
    let text: String

    /// That of this process; an unreadable one is empty, because all that hangs on it is what `status` says.
    static func current() -> MountTable {
        let bytes = try? FileHandle(forReadingAtPath: "/proc/self/mountinfo")?.read(upToCount: 1 << 20)
        return MountTable(text: String(decoding: bytes ?? Data(), as: UTF8.self))
    }

    /// Whether what is kept at this path ends with the machine.
    func isInMemory(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return type(ofDevice: UInt64(truncatingIfNeeded: status.st_dev)).map { ["tmpfs", "ramfs"].contains($0) } ?? false
    }

    func type(ofDevice device: UInt64) -> String? {
        let major = (device >> 8 & 0xfff) | (device >> 32 & ~0xfff)
        let minor = (device & 0xff) | (device >> 12 & ~0xff)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 3, words[2] == "\(major):\(minor)", let dash = words.firstIndex(of: "-"), dash + 1 < words.count
            else { continue }
            return String(words[dash + 1])
        }
        return nil
    }
}
