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
            let key = PathKey(in: bytes(), at: start)
            return type.init(stringValue: key.stringValue) ?? key
        case .index(let index):
            return PathKey(index: index)
        case .entry(let start):
            return PathKey(in: bytes(), at: start)
        }
    }
}

/// A key that no type of a program has: the place of an element in an array, the key of a dictionary, or that of a superclass's value.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    static var `super`: PathKey { PathKey(stringValue: "super") }

    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = Int(stringValue)
    }

    init(intValue: Int) { self.init(stringValue: "\(intValue)") }

    /// What is encoded at an index.
    init(in bytes: ArraySlice<UInt8>, at start: Int) {
        // There are none if whoever asks has kept a decoder beyond its time.
        var reader = MessagePackReader(bytes.dropFirst(max(start - bytes.startIndex, 0)))
        do {
            self.init(stringValue: try reader.readString())
        } catch {
            // A number names its place by itself; what is neither gets a few words.
            self.init(stringValue: (try? reader.readInt64()).map { "\($0)" } ?? reader.describeNext())
        }
    }
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
