struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let place: ContainerPlace<DecodingNode>

    var codingPath: [any CodingKey] { place.withNode { $0.codingPath } }

    var allKeys: [Key] {
        do {
            return try place.withNode { try $0.keys(as: Key.self) }
        } catch {
            // This cannot throw, but the bytes are malformed, and the end of the value will say so.
            return []
        }
    }

    func contains(_ key: Key) -> Bool {
        do {
            return try place.withNode { try $0.find(key.stringValue) != nil }
        } catch {
            // As above.
            return false
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try place.withNode { node in
            let found = try move(node, to: key)
            guard try node.reader.readNil() else { return false }
            node.advance(past: found.element)
            return true
        }
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try value(for: key) { node, step in try node.readBool(step) }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try value(for: key) { node, step in try node.readString(step) }
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try value(for: key) { node, step in try node.readDouble(step) }
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try value(for: key) { node, step in try node.readFloat(step) }
    }

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try value(for: key) { node, step in try node.readInteger(type, step) }
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try value(for: key) { node, step in try node.decode(type, step) }
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try valueIfPresent(for: key) { node, step in try node.readBool(step) }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try valueIfPresent(for: key) { node, step in try node.readString(step) }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try valueIfPresent(for: key) { node, step in try node.readDouble(step) }
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try valueIfPresent(for: key) { node, step in try node.readFloat(step) }
    }

    @inline(__always)
    func decodeIfPresent<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(for: key) { node, step in try node.readInteger(type, step) }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(for: key) { node, step in try node.decode(type, step) }
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
        try place.withNode { node in
            guard let found = try node.find(SuperKey.name) else { throw node.missing(SuperKey()) }
            return node.child(at: found.value, step: .key(SuperKey.self, at: found.key))
        }
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try child(at: key)
    }

    // MARK: Places

    /// Moves the reader to the value of a key.
    private func move(_ node: DecodingNode, to key: Key) throws -> DecodingNode.Found {
        guard let found = try node.find(key.stringValue) else { throw node.missing(key) }
        node.move(to: found)
        return found
    }

    @inline(__always)
    private func value<T>(for key: Key, _ read: (DecodingNode, PathStep) throws -> T) throws -> T {
        try place.withNode { node in
            let found = try move(node, to: key)
            let value = try read(node, .key(Key.self, at: found.key))
            node.advance(past: found.element)
            return value
        }
    }

    @inline(__always)
    private func valueIfPresent<T>(for key: Key, _ read: (DecodingNode, PathStep) throws -> T) throws -> T? {
        try place.withNode { node in
            guard let found = try node.find(key.stringValue) else { return nil }
            node.move(to: found)
            let value = try node.reader.readNil() ? nil : read(node, .key(Key.self, at: found.key))
            node.advance(past: found.element)
            return value
        }
    }

    private func child(at key: Key) throws -> DecodingNode {
        try place.withNode { node in
            let found = try move(node, to: key)
            return node.child(at: found.value, step: .key(Key.self, at: found.key))
        }
    }
}
