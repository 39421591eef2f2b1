/// The keys that have been met, each by its type and the bytes of its name: to make a string and then a key of the same bytes once
/// more takes longer than to compare them.
///
/// What makes a key is never inlined where one is looked up: a generic function asks the runtime for all types that it names as soon
/// as it is called.
struct KnownKeys {
    private var rows: [Row?] = Array(repeating: nil, count: Self.size)
    private static var size: Int { 64 }

    private class Row {
        fileprivate final let type: ObjectIdentifier
        fileprivate final let name: PackedName

        init(_ type: any CodingKey.Type, _ name: PackedName) {
            self.type = ObjectIdentifier(type)
            self.name = name
        }
    }

    private final class KeyRow<Key: CodingKey>: Row {
        /// The key, and nothing else, as `allKeys` has it.
        let keys: [Key]

        init(_ key: Key, _ name: PackedName) {
            keys = [key]
            super.init(Key.self, name)
        }
    }

    func contains(_ name: PackedName, of type: any CodingKey.Type) -> Bool {
        row(name, of: type) != nil
    }

    /// The key of this name, and nothing else.
    func key<Key: CodingKey>(_ name: PackedName, as type: Key.Type) -> [Key]? {
        guard let row = row(name, of: type) else { return nil }
        return unsafeDowncast(row, to: KeyRow<Key>.self).keys
    }

    /// Adds a key in the place of an older one.
    @inline(never)
    mutating func add<Key: CodingKey>(_ key: Key, _ name: PackedName) {
        rows[Self.place(of: name, Key.self)] = KeyRow(key, name)
    }

    @inline(__always)
    private func row(_ name: PackedName, of type: any CodingKey.Type) -> Row? {
        guard let row = rows[Self.place(of: name, type)], row.name == name, row.type == ObjectIdentifier(type) else { return nil }
        return row
    }

    private static func place(of name: PackedName, _ type: any CodingKey.Type) -> Int {
        (ObjectIdentifier(type).place(of: size) ^ name.place) & (size - 1)
    }
}

/// A name of at most 16 bytes, in two words.
struct PackedName: Equatable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private let count: Int

    /// A number that names of one type hardly share.
    var place: Int { Int(truncatingIfNeeded: low &* 0x9e37_79b9_7f4a_7c15 >> 58) ^ count }

    /// Nil if it is too long.
    init?(_ bytes: UnsafeRawBufferPointer) {
        count = bytes.count
        guard count <= 16 else { return nil }
        for index in 0..<min(count, 8) { low = low << 8 | UInt64(bytes[index]) }
        if count > 8 { for index in 8..<count { high = high << 8 | UInt64(bytes[index]) } }
    }
}
