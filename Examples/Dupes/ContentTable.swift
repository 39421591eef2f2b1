/// The different contents found so far, and the files that have each: the groups of duplicates while they grow.
///
/// Snapshots hold the copies in the order in which they came, and reading one adds them again.
struct ContentTable: Equatable, Sendable {
    struct Content: Equatable, Sendable {
        let digest: Digest
        let size: Int
        fileprivate(set) var count = 0
        /// The place in `copies` of the newest copy.
        fileprivate(set) var newest = -1

        /// What deleting all copies but one would free.
        var reclaimable: Int { size.times(clamped: max(0, count - 1)) }
    }

    /// A file with a content. The copies of one content are a chain, so that adding one costs the same in a group of any size.
    private struct Copy: Equatable {
        let file: Int
        let content: Int
        /// The place in `copies` of the copy before, or -1.
        let previous: Int
    }

    /// How many of the largest groups are kept at hand for the view.
    static let largestCount = 20

    private(set) var contents: [Content] = []
    /// The groups by which most can be freed, the first the most; ties by digest, so that the order of arrival leaves no trace.
    private(set) var largest: [Int] = []
    private var copies: [Copy] = []
    private var places: [Digest: Int] = [:]

    /// Adds a file, and returns its content as it is now.
    mutating func add(_ file: Int, digest: Digest, size: Int) -> Content {
        let place: Int
        if let known = places[digest] {
            place = known
        } else {
            place = contents.count
            contents.append(Content(digest: digest, size: size))
            places[digest] = place
        }
        copies.append(Copy(file: file, content: place, previous: contents[place].newest))
        contents[place].newest = copies.count - 1
        contents[place].count += 1
        if contents[place].count > 1 { rank(place) }
        return contents[place]
    }

    /// The files with a content, the newest first.
    func files(of content: Content) -> some Sequence<Int> {
        sequence(state: content.newest) { [copies] next -> Int? in
            guard next >= 0 else { return nil }
            defer { next = copies[next].previous }
            return copies[next].file
        }
    }

    private mutating func rank(_ place: Int) {
        if let position = largest.firstIndex(of: place) {
            largest.remove(at: position)
        } else if largest.count == Self.largestCount, let last = largest.last, !outranks(place, last) {
            return
        }
        largest.insert(place, at: largest.firstIndex { outranks(place, $0) } ?? largest.endIndex)
        if largest.count > Self.largestCount { largest.removeLast() }
    }

    private func outranks(_ a: Int, _ b: Int) -> Bool {
        (contents[b].reclaimable, contents[a].digest) < (contents[a].reclaimable, contents[b].digest)
    }
}

extension ContentTable: Codable {
    private enum Column: String, CodingKey {
        case digests, sizes, copies, files
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Column.self)
        let digests = try container.decode([UInt8].self, forKey: .digests)
        let sizes = try container.decode([Int].self, forKey: .sizes)
        let copies = try container.decode([Int].self, forKey: .copies)
        let files = try container.decode([Int].self, forKey: .files)
        guard
            digests.count.isMultiple(of: Digest.count), digests.count / Digest.count == sizes.count,
            copies.count == files.count, copies.allSatisfy(sizes.indices.contains)
        else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "the columns of a content table do not fit together"))
        }
        for (file, content) in zip(files, copies) {
            let digest = Digest(digests[content * Digest.count..<(content + 1) * Digest.count])
            _ = add(file, digest: digest, size: sizes[content])
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Column.self)
        try container.encode(contents.flatMap(\.digest.bytes), forKey: .digests)
        try container.encode(contents.map(\.size), forKey: .sizes)
        try container.encode(copies.map(\.content), forKey: .copies)
        try container.encode(copies.map(\.file), forKey: .files)
    }
}
