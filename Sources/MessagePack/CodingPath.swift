/// The way from a value to one of its parts. Kept as little as possible, and nothing but bits, since a path is only made for an error.
enum PathStep {
    /// The value stands in the place of the one above, as the value of a single value container does.
    case same
    /// A key of this type, which begins at this index in the bytes of the value above.
    case key(any CodingKey.Type, at: Int)
    case index(Int)
    /// The value of a dictionary, whose encoded key begins at this index in the bytes of the value above.
    case entry(Int)

    func codingKey(in bytes: @autoclosure () -> ArraySlice<UInt8>) -> (any CodingKey)? {
        switch self {
        case .same:
            return nil
        case .key(let type, let start):
            let entry = EntryKey(in: bytes(), at: start)
            return type.init(stringValue: entry.stringValue) ?? entry
        case .index(let index):
            return IndexKey(index)
        case .entry(let start):
            return EntryKey(in: bytes(), at: start)
        }
    }
}

/// The place of an element in an array.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { "Index \(index)" }
}

/// The key of a dictionary.
struct EntryKey: CodingKey {
    let stringValue: String

    init(in bytes: ArraySlice<UInt8>, at start: Int) {
        // There are none if whoever asks has kept a decoder beyond its time.
        var reader = MessagePackReader(bytes.dropFirst(max(start - bytes.startIndex, 0)))
        do {
            stringValue = try reader.readString()
        } catch {
            // A number names its place by itself; what is neither gets a few words.
            stringValue = (try? reader.readInt64()).map { "\($0)" } ?? reader.describeNext()
        }
    }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { stringValue = "\(intValue)" }

    var intValue: Int? { Int(stringValue) }
}

/// The key under which the value of a superclass stands.
struct SuperKey: CodingKey {
    static let name = "super"

    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { if stringValue != Self.name { return nil } }

    var intValue: Int? { nil }
    var stringValue: String { Self.name }
}

/// A path as it is written in Swift: `seed.items[3].name`.
func describe(path: [any CodingKey]) -> String {
    var text = ""
    for key in path {
        if let index = key.intValue, key.stringValue == "Index \(index)" {
            text += "[\(index)]"
        } else {
            text += (text.isEmpty ? "" : ".") + quote(key.stringValue)
        }
    }
    return text
}
