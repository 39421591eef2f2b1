struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let node: DecodingNode

    var codingPath: [any CodingKey] { node.codingPath }

    var allKeys: [Key] {
        do {
            return try node.keys(as: Key.self)
        } catch {
            // This cannot throw, but the bytes are malformed, and the end of the value will say so.
            return []
        }
    }

    func contains(_ key: Key) -> Bool {
        do {
            return try node.find(key.stringValue) != nil
        } catch {
            // As above.
            return false
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        let element = try move(to: key)
        guard try node.session.reader.readNil() else { return false }
        node.advance(past: element)
        return true
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try value(for: key) { try node.readBool(.key(key)) }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try value(for: key) { try node.readString(.key(key)) }
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try value(for: key) { try node.readDouble(.key(key)) }
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try value(for: key) { try node.readFloat(.key(key)) }
    }

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try value(for: key) { try node.readInteger(type, .key(key)) }
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try value(for: key) { try node.decode(type, .key(key)) }
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try valueIfPresent(for: key) { try node.readBool(.key(key)) }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try valueIfPresent(for: key) { try node.readString(.key(key)) }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try valueIfPresent(for: key) { try node.readDouble(.key(key)) }
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try valueIfPresent(for: key) { try node.readFloat(.key(key)) }
    }

    @inline(__always)
    func decodeIfPresent<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(for: key) { try node.readInteger(type, .key(key)) }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(for: key) { try node.decode(type, .key(key)) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let child = try child(at: key)
        let container = try child.container(keyedBy: type)
        if child.isLenient { try child.refuseUnknownFields() }
        return container
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(at: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        guard let found = try node.find("super") else { throw node.missing(SuperKey()) }
        return node.child(at: found.offset, step: .key(SuperKey()))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try child(at: key)
    }

    // MARK: Places

    /// Moves the reader to the value of a key, and returns its number among the pairs.
    private func move(to key: Key) throws -> Int {
        guard let found = try node.find(key.stringValue) else { throw node.missing(key) }
        node.know(found.element)
        node.session.reader.next = found.offset
        return found.element
    }

    @inline(__always)
    private func value<T>(for key: Key, _ read: () throws -> T) throws -> T {
        let element = try move(to: key)
        let value = try read()
        node.advance(past: element)
        return value
    }

    @inline(__always)
    private func valueIfPresent<T>(for key: Key, _ read: () throws -> T) throws -> T? {
        guard let found = try node.find(key.stringValue) else { return nil }
        node.know(found.element)
        node.session.reader.next = found.offset
        let value = try node.session.reader.readNil() ? nil : read()
        node.advance(past: found.element)
        return value
    }

    private func child(at key: Key) throws -> DecodingNode {
        _ = try move(to: key)
        return node.child(at: node.session.reader.next, step: .key(key))
    }
}
