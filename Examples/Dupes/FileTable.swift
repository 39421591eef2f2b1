/// The files found so far, each once, whatever the number of its names.
///
/// A file whose size no other file has cannot have a duplicate, so it becomes a candidate for hashing only when its size turns
/// up again. Snapshots hold the files in columns; the rest of the table follows from them.
struct FileTable: Equatable, Sendable {
    struct File: Equatable, Sendable {
        let identity: FileIdentity
        let size: Int
        /// The place of its directory in `Search.directories`.
        var directory: Int
        var name: Path
    }

    private(set) var files: [File] = []
    /// The files that share their size with another, in the order in which that was noticed.
    private(set) var candidates: [Int] = []
    private(set) var candidateBytes = 0
    private var places: [FileIdentity: Int] = [:]
    /// For each size the only file that has it, or nil if there are several.
    private var soleFiles: [Int: Int?] = [:]

    func place(of identity: FileIdentity) -> Int? { places[identity] }

    /// Adds a file whose identity is new.
    mutating func add(_ file: File) {
        let place = files.count
        files.append(file)
        places[file.identity] = place
        switch soleFiles.updateValue(nil, forKey: file.size) {
        case .none:
            soleFiles.updateValue(place, forKey: file.size)
        case .some(let sole):
            if let sole { addCandidate(sole) }
            addCandidate(place)
        }
    }

    private mutating func addCandidate(_ place: Int) {
        candidates.append(place)
        candidateBytes = candidateBytes.plus(clamped: files[place].size)
    }

    /// Gives a file another of its names.
    mutating func rename(_ place: Int, directory: Int, name: Path) {
        files[place].directory = directory
        files[place].name = name
    }
}

extension FileTable: Codable {
    private enum Column: String, CodingKey {
        case devices, inodes, sizes, directories, names
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Column.self)
        let devices = try container.decode([UInt64].self, forKey: .devices)
        let inodes = try container.decode([UInt64].self, forKey: .inodes)
        let sizes = try container.decode([Int].self, forKey: .sizes)
        let directories = try container.decode([Int].self, forKey: .directories)
        let names = Array(try container.decode(PathList.self, forKey: .names))
        guard [inodes.count, sizes.count, directories.count, names.count].allSatisfy({ $0 == devices.count }) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "the columns of a file table do not fit together"))
        }
        for place in devices.indices {
            let identity = FileIdentity(device: devices[place], inode: inodes[place])
            add(File(identity: identity, size: sizes[place], directory: directories[place], name: names[place]))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Column.self)
        try container.encode(files.map(\.identity.device), forKey: .devices)
        try container.encode(files.map(\.identity.inode), forKey: .inodes)
        try container.encode(files.map(\.size), forKey: .sizes)
        try container.encode(files.map(\.directory), forKey: .directories)
        try container.encode(PathList(files.lazy.map(\.name)), forKey: .names)
    }
}
