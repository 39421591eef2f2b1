#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Lists directories, in pages of bounded size. Runs in workers.
///
/// The names of a directory are sorted, and a page that is full ends with the name after which the next one begins: any worker
/// can continue it, and what changed in between costs no other entry.
struct DirectoryReader {
    /// About how many bytes a listing may take when encoded; an answer must stay well below 4 MiB.
    var pageSize = 2 << 20

    /// - Parameter after: the name after which the first directory is to be continued.
    func list(_ directories: some Sequence<Path>, after: Path?, minimumSize: Int) -> Listing {
        var page = Page(room: pageSize)
        var after = after
        for directory in directories {
            guard page.room > 0 else { break }
            page.listing.beginDirectory()
            do {
                try read(directory, after: after, minimumSize: minimumSize, into: &page)
            } catch {
                page.add(Problem(path: directory, reason: error.description))
            }
            after = nil
            if page.listing.resumeAfter != nil { break }
        }
        return page.listing
    }

    private func read(_ directory: Path, after: Path?, minimumSize: Int, into page: inout Page) throws(SystemError) {
        let path = directory.cString
        let descriptor = try SystemError.check { open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard let stream = fdopendir(descriptor) else {
            let error = SystemError.last
            close(descriptor)
            throw error
        }
        defer { closedir(stream) }

        let entries = try entries(of: stream, after: after)
        for (index, entry) in entries.enumerated() {
            do {
                try add(entry, in: descriptor, minimumSize: minimumSize, to: &page)
            } catch {
                page.add(Problem(path: directory.appending(entry.name), reason: error.description))
            }
            if page.room <= 0, index < entries.count - 1 {
                page.listing.resumeAfter = entry.name
                return
            }
        }
    }

    private struct Entry {
        let name: Path
        let type: Int
    }

    /// The entries that can matter, sorted by name.
    private func entries(of stream: DirectoryStream, after: Path?) throws(SystemError) -> [Entry] {
        var entries: [Entry] = []
        while true {
            // The end of a directory and an error look the same but for this.
            errno = 0
            guard let entry = readdir(stream) else { break }
            let type = Int(entry.pointee.d_type)
            guard [Int(DT_DIR), Int(DT_REG), Int(DT_UNKNOWN)].contains(type) else { continue }
            let name = Path(entry: entry)
            guard name != .current, name != .parent else { continue }
            if let after, name <= after { continue }
            entries.append(Entry(name: name, type: type))
        }
        guard errno == 0 else { throw .last }
        return entries.sorted { $0.name < $1.name }
    }

    private func add(_ entry: Entry, in directory: CInt, minimumSize: Int, to page: inout Page) throws(SystemError) {
        if entry.type == Int(DT_DIR) { return page.addSubdirectory(entry.name) }
        var status = stat()
        let name = entry.name.cString
        _ = try SystemError.check { fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: page.addSubdirectory(entry.name)
        case S_IFREG: page.addFile(entry.name, status, minimumSize: minimumSize)
        default: break
        }
    }
}

/// A listing that grows until there is no room left.
private struct Page {
    var listing = Listing()
    var room: Int

    mutating func addSubdirectory(_ name: Path) {
        listing.addSubdirectory(name)
        room -= name.bytes.count + 1
    }

    mutating func addFile(_ name: Path, _ status: stat, minimumSize: Int) {
        guard status.st_size >= minimumSize else { return listing.smallFiles += 1 }
        let identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
        listing.addFile(name, size: Int(status.st_size), identity: identity)
        // A name with its NUL and three numbers of up to nine bytes.
        room -= name.bytes.count + 28
    }

    mutating func add(_ problem: Problem) {
        listing.problems.append(problem)
        room -= problem.path.bytes.count + 2 * problem.reason.utf8.count
    }
}

#if canImport(Darwin)
private typealias DirectoryStream = UnsafeMutablePointer<DIR>
#else
private typealias DirectoryStream = OpaquePointer
#endif

extension Path {
    fileprivate static let current = Path(".")
    fileprivate static let parent = Path("..")

    fileprivate init(entry: UnsafeMutablePointer<dirent>) {
        // Not a copy of the tuple `d_name`: the system allocates only as much of it as the name takes.
        let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout.offset(of: \dirent.d_name) ?? 0)
        let count = strlen(name.assumingMemoryBound(to: CChar.self))
        self.init(bytes: Array(UnsafeRawBufferPointer(start: name, count: count)))
    }
}
