/// A path, or one name of it, as the file system knows it: bytes without NUL, in whatever encoding their author used.
struct Path: RawText, Hashable, Sendable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The bytes and a NUL, as the system's calls want them.
    var cString: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

    /// The path of `name` in this directory. A slash is added only where none is, so `/` and `folder/` stay what `find` prints.
    func appending(_ name: Path) -> Path {
        var path: [UInt8] = []
        path.reserveCapacity(bytes.count + 1 + name.bytes.count)
        path += bytes
        if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
        path += name.bytes
        return Path(bytes: path)
    }
}

extension Path: Comparable {
    static func < (a: Path, b: Path) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
}

/// Many paths or names as one text, each followed by NUL, which no path holds: one value to encode instead of thousands.
struct PathList: RawText, Hashable, Sendable {
    private(set) var bytes: [UInt8]

    init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    init(_ paths: some Sequence<Path>) {
        self.init()
        for path in paths { append(path) }
    }

    mutating func append(_ path: Path) {
        bytes += path.bytes
        bytes.append(0)
    }

    /// How many paths there are. Counts them.
    var count: Int {
        bytes.reduce(into: 0) { count, byte in if byte == 0 { count += 1 } }
    }
}

extension PathList: Sequence {
    struct Iterator: IteratorProtocol {
        fileprivate let bytes: [UInt8]
        fileprivate var position = 0

        mutating func next() -> Path? {
            guard let end = bytes[position...].firstIndex(of: 0) else { return nil }
            defer { position = end + 1 }
            return Path(bytes: Array(bytes[position..<end]))
        }
    }

    func makeIterator() -> Iterator { Iterator(bytes: bytes) }
}
