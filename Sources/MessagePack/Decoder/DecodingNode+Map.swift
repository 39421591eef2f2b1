/// The look-up of keys in a map.
extension DecodingNode {
    /// A pair: its number, and where its key and its value begin.
    struct Pair {
        let element: Int
        let key: Int
        let value: Int
    }

    /// The pair with this key, or nil if there is none.
    mutating func find(_ key: String) throws -> Pair? {
        guard count > 0 else { return nil }
        if isIndexed {
            if index < count, try compareKey(at: entries[index].key, with: key) { return entries[index] }
        } else if index < count, try compareKey(at: next, with: key) {
            return Pair(element: index, key: next, value: reader.next)
        }
        try makeIndex()
        for element in entries.indices where try compareKey(at: entries[element].key, with: key) { return entries[element] }
        return nil
    }

    /// Moves the reader to a value that was asked for.
    mutating func move(to found: Pair) {
        know(found.element)
        reader.next = found.value
    }

    /// Finds the pairs of the map, in their order.
    private mutating func makeIndex() throws {
        guard !isIndexed else { return }
        reader.next = start
        reader.depth = depth + 1
        entries.removeAll(keepingCapacity: true)
        // A header can announce as many pairs as half of the bytes: memory is taken as they turn out to be there.
        entries.reserveCapacity(min(count, 64))
        for element in 0..<count {
            let key = reader.next
            try reader.skip()
            entries.append(Pair(element: element, key: key, value: reader.next))
            try reader.skip()
        }
        isIndexed = true
        end = reader.next
    }

    /// The places of all keys. An enum has one, whose value is not passed over to look for another.
    mutating func keys() throws -> [Int] {
        if count == 1 { return [start] }
        try makeIndex()
        return entries.map(\.key)
    }

    /// The keys of the map that a container has, in their order, found by their names.
    mutating func findKeys<Key: CodingKey>(as type: Key.Type) throws -> [Key] {
        try makeIndex()
        var keys: [Key] = []
        for element in entries.indices {
            guard let key = name(at: entries[element].key).flatMap(Key.init(stringValue:)) else { continue }
            know(element)
            keys.append(key)
        }
        return keys
    }

    /// Whether a key is this string, or the integer this string is the digits of. Moves the reader behind the key.
    private mutating func compareKey(at offset: Int, with name: String) throws -> Bool {
        reader.next = offset
        if reader.pass(name) { return true }
        if let isEqual = try reader.compareString(with: name) { return isEqual }
        reader.depth = depth + 1
        try reader.skip()
        return self.name(at: offset) == name
    }

    /// The key at an index as text, if it is a string or an integer.
    func name(at offset: Int) -> String? {
        let place = reader.next
        reader.next = offset
        defer { reader.next = place }
        do {
            guard try reader.nextType() == .integer else { return try reader.readString() }
            return try reader.integer(as: Int64.self).map { "\($0)" } ?? "\(reader.readUInt64())"
        } catch {
            // A key of another type, or not UTF-8, is equal to no key that a type can ask for.
            return nil
        }
    }
}

/// The keys of maps of one pair, as the cases of enums are: one look at the name tells which it is.
extension DecodingSession {
    /// The keys of the map that a container has, in their order.
    func keys<Key: CodingKey>(of node: DecodingNode.Slot, as type: Key.Type) throws -> [Key] {
        guard node.pointee.count == 1, let name = node.pointee.reader.packedString(at: node.pointee.start),
            let keys = knownKeys.value.key(name, as: type)
        else { return try newKeys(of: node, as: type) }
        node.pointee.know(0)
        return keys
    }

    @inline(never)
    private func newKeys<Key: CodingKey>(of node: DecodingNode.Slot, as type: Key.Type) throws -> [Key] {
        guard node.pointee.count == 1 else { return try node.pointee.findKeys(as: type) }
        guard let key = newKey(type, node) else { return [] }
        node.pointee.know(0)
        return [key]
    }

    /// Whether the key of a map of one pair is one that the container has.
    func hasOnly(_ type: any CodingKey.Type, _ node: DecodingNode.Slot) -> Bool {
        if let name = node.pointee.reader.packedString(at: node.pointee.start), knownKeys.value.contains(name, of: type) {
            return true
        }
        return newKey(type, node) != nil
    }

    /// The key of a map of one pair, which is known from now on.
    @inline(never)
    private func newKey<Key: CodingKey>(_ type: Key.Type, _ node: DecodingNode.Slot) -> Key? {
        guard let key = node.pointee.name(at: node.pointee.start).flatMap(Key.init(stringValue:)) else { return nil }
        if let name = node.pointee.reader.packedString(at: node.pointee.start) { knownKeys.value.add(key, name) }
        return key
    }
}

extension MessagePackReader {
    /// Passes over a short string if it is this text.
    @inline(__always)
    mutating func pass(_ text: String) -> Bool {
        let count = text.utf8.count
        guard count < 32, end - next > count, byte(at: next) == Format.fixString | UInt8(count),
            isEqual(next + 1..<next + 1 + count, to: text)
        else { return false }
        next += 1 + count
        return true
    }

    /// Passes over a string and says whether it is this text; passes over nothing and returns nil if the next value is another.
    mutating func compareString(with text: String) throws(MessagePackError) -> Bool? {
        switch try peek() {
        case Format.fixString..<Format.nil, Format.string8...Format.string32: break
        default: return nil
        }
        let content = try stringContent()
        next = content.upperBound
        return isEqual(content, to: text)
    }

    /// The value at an index if it is a short string.
    func packedString(at index: Int) -> PackedName? {
        guard index < end, case let format = bytes[index], (Format.fixString..<Format.nil).contains(format) else { return nil }
        let count = Int(format & 0x1f)
        guard end - index > count else { return nil }
        let start = index + 1 - bytes.startIndex
        return bytes.withUnsafeBytes { PackedName(UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    }

    /// Whether the bytes at these indices are the UTF-8 of a text.
    @inline(__always)
    func isEqual(_ content: Range<Int>, to text: String) -> Bool {
        text.withBytes { utf8 in
            bytes.withUnsafeBytes { bytes in
                let start = content.lowerBound - self.bytes.startIndex
                return areEqual(UnsafeRawBufferPointer(rebasing: bytes[start..<start + content.count]), utf8)
            }
        }
    }
}

/// Whether these are the same bytes, compared eight at a time: the last ones together with some before them.
@usableFromInline
func areEqual(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
    let count = first.count
    guard count == second.count else { return false }
    guard count >= 8 else {
        for index in 0..<count where first[index] != second[index] { return false }
        return true
    }
    func differs(at offset: Int) -> Bool {
        let one = first.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return one != second.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
    for offset in stride(from: 0, to: count - 8, by: 8) where differs(at: offset) { return false }
    return !differs(at: count - 8)
}
