struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let place: DecodingNode.Place

    var codingPath: [any CodingKey] { place.codingPath }

    var allKeys: [Key] {
        do {
            return try place.with { try $0.keys(of: $1, as: Key.self) }
        } catch {
            // This cannot throw, but the bytes are malformed, and the end of the value will say so.
            return []
        }
    }

    func contains(_ key: Key) -> Bool {
        do {
            return try place.with { try $1.pointee.find(key.stringValue) != nil }
        } catch {
            // As above.
            return false
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try place.with { _, node in
            let found = try move(node, to: key)
            guard try node.pointee.reader.readNil() else { return false }
            node.pointee.advance(past: found.element)
            return true
        }
    }

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try value(for: key) { _, node, step in try node.pointee.readInteger(type, step) }
    }

    @inline(__always)
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try value(for: key) { session, node, step in try session.decode(type, node, step) }
    }

    @inline(__always)
    func decodeIfPresent<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(for: key) { _, node, step in try node.pointee.readInteger(type, step) }
    }

    @inline(__always)
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try valueIfPresent(for: key) { session, node, step in try session.decode(type, node, step) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try place.with { try $0.openNested(type, child(at: key, of: $1, in: $0)) }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try superDecoder(forKey: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        try place.with { session, node in
            guard let found = try node.pointee.find(PathKey.super.stringValue) else { throw node.pointee.missing(PathKey.super) }
            node.pointee.allow(SuperKey.self)
            return session.place(of: session.child(of: node, at: found.value, step: .key(PathKey.self, at: found.key)))
        }
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try place.with { try $0.place(of: child(at: key, of: $1, in: $0)) }
    }

    // MARK: Places

    /// Moves the reader to the value of a key.
    private func move(_ node: DecodingNode.Slot, to key: Key) throws -> DecodingNode.Pair {
        guard let found = try node.pointee.find(key.stringValue) else { throw node.pointee.missing(key) }
        node.pointee.move(to: found)
        return found
    }

    @inline(__always)
    private func value<T>(for key: Key, _ read: (DecodingSession, DecodingNode.Slot, PathStep) throws -> T) throws -> T {
        try place.with { session, node in
            let found = try move(node, to: key)
            let value = try read(session, node, .key(Key.self, at: found.key))
            node.pointee.advance(past: found.element)
            return value
        }
    }

    @inline(__always)
    private func valueIfPresent<T>(for key: Key, _ read: (DecodingSession, DecodingNode.Slot, PathStep) throws -> T) throws -> T? {
        try place.with { session, node in
            guard let found = try node.pointee.find(key.stringValue) else { return nil }
            node.pointee.move(to: found)
            let value = try node.pointee.reader.readNil() ? nil : read(session, node, .key(Key.self, at: found.key))
            node.pointee.advance(past: found.element)
            return value
        }
    }

    private func child(at key: Key, of node: DecodingNode.Slot, in session: DecodingSession) throws -> DecodingNode.Slot {
        let found = try move(node, to: key)
        return session.child(of: node, at: found.value, step: .key(Key.self, at: found.key))
    }
}

/// The key of a superclass's value as a type of keys that has no other: a ``PathKey`` may be anything.
private enum SuperKey: CodingKey {
    case `super`
}
