import Foundation
import ProcessSupport

/// A tree of small files with everything that makes a search for duplicates hard: many copies, files of one size that differ,
/// hard links, symbolic links, empty files, and names that are no text. The seed decides all of it.
struct FileTree {
    struct Failure: Error {
        let call: String
        let number = errno
    }

    private let root: [UInt8]
    private var random: SeededRandom
    private var directories: [[UInt8]]
    private var files: [[UInt8]] = []

    static func make(at root: String, files: Int, directories: Int, seed: UInt64) throws {
        var tree = FileTree(root: Array(root.utf8), random: SeededRandom(seed: seed), directories: [Array(root.utf8)])
        try check("mkdir", mkdir(cString(tree.root), 0o700))
        for number in 0..<directories { try tree.addDirectory(number) }
        for number in 0..<files { try tree.addFile(number) }
    }

    private mutating func addDirectory(_ number: Int) throws {
        // Some of them deep, most of them broad.
        let parent = Bool.random(using: &random) ? directories.last ?? root : directories.randomElement(using: &random) ?? root
        let path = (parent.count > 200 ? root : parent) + Array("/d\(number)".utf8)
        try Self.check("mkdir", mkdir(Self.cString(path), 0o700))
        directories.append(path)
    }

    private mutating func addFile(_ number: Int) throws {
        let folder = directories.randomElement(using: &random) ?? root
        var path = folder + Array("/f\(number)".utf8)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: path += [0xff, 0xfe]
        case 3: path += Array("\n\"é \\".utf8)
        default: break
        }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<4:
            guard let target = files.randomElement(using: &random) else { fallthrough }
            try Self.check("link", link(Self.cString(target), Self.cString(path)))
        case 4..<7:
            let target = files.randomElement(using: &random) ?? Array("nowhere".utf8)
            try Self.check("symlink", symlink(Self.cString(target), Self.cString(path)))
        case 7..<9: try write([], to: path)
        default: try write(content(), to: path)
        }
        files.append(path)
    }

    /// One of 6,000 contents of 200 sizes, so that there are many copies and many of one size that differ at the end only.
    private mutating func content() -> [UInt8] {
        let kind = Int.random(in: 0..<6_000, using: &random)
        var bytes = [UInt8](repeating: 0x61, count: 8 + kind % 200)
        for place in 0..<4 { bytes[bytes.count - 1 - place] = UInt8(truncatingIfNeeded: kind >> (8 * place)) }
        return bytes
    }

    private func write(_ bytes: [UInt8], to path: [UInt8]) throws {
        let descriptor = open(Self.cString(path), O_WRONLY | O_CREAT | O_EXCL, 0o600)
        try Self.check("open", descriptor)
        defer { close(descriptor) }
        guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(call: "write")
        }
    }

    private static func cString(_ path: [UInt8]) -> [CChar] { path.map { CChar(bitPattern: $0) } + [0] }

    private static func check(_ call: String, _ result: Int32) throws {
        if result < 0 { throw Failure(call: call) }
    }
}
