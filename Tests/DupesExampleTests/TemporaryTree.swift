import Foundation
import Testing

@testable import DupesExample

#if canImport(Glibc)
import Glibc
#endif

/// A folder of its own for one test, removed with it. Its entries are made by system calls, since their names need not be text.
final class TemporaryTree {
    let root: Path

    init() throws {
        var template = Path(FileManager.default.temporaryDirectory.path + "/dupes-XXXXXX").cString
        guard mkdtemp(&template) != nil else { throw SystemError.last }
        root = Path(bytes: template.dropLast().map { UInt8(bitPattern: $0) })
    }

    deinit {
        Self.remove(root)
    }

    func path(_ name: String) -> Path { root.appending(Path(name)) }

    func makeFile(_ name: String, _ content: String) throws {
        try makeFile(path(name), Array(content.utf8))
    }

    func makeFile(_ path: Path, _ content: [UInt8]) throws {
        let file = try SystemError.check { open(path.cString, O_WRONLY | O_CREAT | O_TRUNC, 0o600) }
        defer { close(file) }
        let count = try SystemError.check { write(file, content, content.count) }
        #expect(count == content.count)
    }

    func makeDirectory(_ name: String) throws {
        _ = try SystemError.check { mkdir(path(name).cString, 0o700) }
    }

    func makeHardLink(_ name: String, to target: String) throws {
        _ = try SystemError.check { link(path(target).cString, path(name).cString) }
    }

    func makeSymbolicLink(_ name: String, to target: String) throws {
        _ = try SystemError.check { symlink(Path(target).cString, path(name).cString) }
    }

    func makePipe(_ name: String) throws {
        _ = try SystemError.check { mkfifo(path(name).cString, 0o600) }
    }

    func remove(_ name: String) {
        Self.remove(path(name))
    }

    /// What cannot be removed is left to the system's cleaning of temporary folders.
    private static func remove(_ path: Path) {
        for entry in Self.entries(of: path) { remove(path.appending(entry)) }
        unlink(path.cString)
        rmdir(path.cString)
    }

    /// The names in a directory; none if it is no directory.
    static func entries(of path: Path) -> [Path] {
        var status = stat()
        guard lstat(path.cString, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, let stream = opendir(path.cString) else {
            return []
        }
        defer { closedir(stream) }
        var names: [Path] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Path(bytes: Array($0.prefix { $0 != 0 })) }
            if name != Path("."), name != Path("..") { names.append(name) }
        }
        return names
    }
}
