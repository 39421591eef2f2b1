/// The keys of one type that have been met, each by the bytes of its name: to make a string and then a key of the same bytes once
/// more takes longer than to compare them.
///
/// Who asks for the keys of a type has its table. What makes a key is never inlined where one is looked up: a generic function asks
/// the runtime for all types that it names as soon as it is called.
final class KnownKeys {
    @exclusivity(unchecked) private var rows: [Row] = []

    /// As many as can be looked through in less time than it takes to make one. Of types with more, the others are made anew.
    private static let limit = 16

    class Row {
        fileprivate final let name: PackedName

        fileprivate init(_ name: PackedName) { self.name = name }

        /// The key, and nothing else, as `allKeys` has it.
        final func key<Key: CodingKey>(as type: Key.Type) -> [Key] {
            unsafeDowncast(self, to: KeyRow<Key>.self).keys
        }
    }

    private final class KeyRow<Key: CodingKey>: Row {
        let keys: [Key]

        init(_ name: PackedName, _ key: Key) {
            keys = [key]
            super.init(name)
        }
    }

    func row(_ name: PackedName) -> Row? {
        rows.withUnsafeBufferPointer { rows in
            rows.first { $0.name == name }
        }
    }

    @inline(never)
    func add<Key: CodingKey>(_ key: Key, _ name: PackedName) {
        if rows.count < Self.limit { rows.append(KeyRow(name, key)) }
    }
}

/// A name of at most 16 bytes, in two words.
struct PackedName: Equatable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private let count: Int

    /// Nil if it is too long.
    init?(_ bytes: UnsafeRawBufferPointer) {
        count = bytes.count
        guard count <= 16 else { return nil }
        for index in 0..<min(count, 8) { low = low << 8 | UInt64(bytes[index]) }
        if count > 8 { for index in 8..<count { high = high << 8 | UInt64(bytes[index]) } }
    }
}
