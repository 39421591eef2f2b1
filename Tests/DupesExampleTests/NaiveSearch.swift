import Foundation
import SHA2

@testable import DupesExample

#if canImport(Glibc)
import Glibc
#endif

/// The same result by the shortest way: walk everything, hash everything, compare everything.
enum NaiveSearch {
    static func groups(below root: Path, minimumSize: Int = 1) -> [Dupes.Group] {
        var files: [FileIdentity: (path: Path, size: Int)] = [:]
        walk(root) { path, status in
            guard status.st_size >= minimumSize else { return }
            let identity = FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
            if let known = files[identity], known.path < path { return }
            files[identity] = (path, Int(status.st_size))
        }
        return Dictionary(grouping: files.values) { digest($0.path) }
            .filter { $0.value.count > 1 }
            .map { Dupes.Group(sha256: $0.key, size: $0.value[0].size, paths: $0.value.map(\.path).sorted()) }
            .sorted { ($1.size * ($1.paths.count - 1), $0.sha256) < ($0.size * ($0.paths.count - 1), $1.sha256) }
    }

    private static func walk(_ directory: Path, visit: (Path, stat) -> Void) {
        for name in TemporaryTree.entries(of: directory) {
            let path = directory.appending(name)
            var status = stat()
            guard lstat(path.cString, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: walk(path, visit: visit)
            case S_IFREG: visit(path, status)
            default: break
            }
        }
    }

    private static func digest(_ path: Path) -> String {
        guard let file = fopen(path.cString, "r") else { return "" }
        defer { fclose(file) }
        var content: [UInt8] = []
        while case let byte = getc(file), byte != EOF { content.append(UInt8(byte)) }
        var hash = SHA256()
        content.withUnsafeBytes { hash.update($0) }
        return hash.finalize().map { String(format: "%02x", $0) }.joined()
    }
}
