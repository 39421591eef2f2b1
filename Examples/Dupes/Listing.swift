/// What a worker found in one or more directories: in columns, since thousands of small values would take a coder far longer
/// than the disk took to read them.
struct Listing: Equatable, Sendable {
    /// For each directory listed, in the order of the effect: how many of `subdirectories` are in it.
    private(set) var subdirectoryCounts: [Int] = []
    /// For each directory listed: how many of `files` are in it.
    private(set) var fileCounts: [Int] = []
    private(set) var subdirectories = PathList()
    /// The names of the regular files; `sizes`, `devices` and `inodes` run beside it.
    private(set) var files = PathList()
    private(set) var sizes: [Int] = []
    private(set) var devices: [UInt64] = []
    private(set) var inodes: [UInt64] = []
    /// How many regular files were left out because they are too small.
    var smallFiles = 0
    var problems: [Problem] = []
    /// Set if there was too much for one answer: the last directory is listed up to this name, those after it not at all.
    var resumeAfter: Path?

    /// How many directories are listed, the last one perhaps in part.
    var directories: Int { fileCounts.count }

    mutating func beginDirectory() {
        subdirectoryCounts.append(0)
        fileCounts.append(0)
    }

    mutating func addSubdirectory(_ name: Path) {
        subdirectoryCounts[subdirectoryCounts.count - 1] += 1
        subdirectories.append(name)
    }

    mutating func addFile(_ name: Path, size: Int, identity: FileIdentity) {
        fileCounts[fileCounts.count - 1] += 1
        files.append(name)
        sizes.append(size)
        devices.append(identity.device)
        inodes.append(identity.inode)
    }
}

/// What makes a file the same file under all its names.
struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
}

extension Listing: Codable {
    /// Refuses columns that do not fit together, so that `update` can walk them without a look at each index.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        subdirectoryCounts = try container.decode([Int].self, forKey: .subdirectoryCounts)
        fileCounts = try container.decode([Int].self, forKey: .fileCounts)
        subdirectories = try container.decode(PathList.self, forKey: .subdirectories)
        files = try container.decode(PathList.self, forKey: .files)
        sizes = try container.decode([Int].self, forKey: .sizes)
        devices = try container.decode([UInt64].self, forKey: .devices)
        inodes = try container.decode([UInt64].self, forKey: .inodes)
        smallFiles = try container.decode(Int.self, forKey: .smallFiles)
        problems = try container.decode([Problem].self, forKey: .problems)
        resumeAfter = try container.decodeIfPresent(Path.self, forKey: .resumeAfter)

        guard
            !fileCounts.isEmpty, fileCounts.count == subdirectoryCounts.count,
            Self.sum(fileCounts) == sizes.count, Self.sum(subdirectoryCounts) == subdirectories.count,
            sizes.count == files.count, sizes.count == devices.count, sizes.count == inodes.count
        else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "the columns of a listing do not fit together"))
        }
    }

    /// Nil if a count is negative, or the counts are too large to be true.
    private static func sum(_ counts: [Int]) -> Int? {
        counts.reduce(into: 0) { sum, count in
            guard let known = sum, count >= 0 else { return sum = nil }
            let (total, overflow) = known.addingReportingOverflow(count)
            sum = overflow ? nil : total
        }
    }
}
