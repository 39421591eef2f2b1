/// The three containers of `Codable`. Each only names the node to which its values go.
extension NodePlace: Encoder where Session == EncodingSession, Node == EncodingNode {
    var codingPath: [any CodingKey] { with { $1.pointee.codingPath } }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        with { session, node in
            node.pointee.begin(.map)
            return session.keyedContainer(type, node)
        }
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        with { $1.pointee.begin(.array) }
        return UnkeyedEncoding(place: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncoding(place: self)
    }
}

struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: EncodingNode.Place

    var codingPath: [any CodingKey] { place.codingPath }

    func encodeNil(forKey key: Key) {
        pair(key) { $0.pointee.body.writeNil() }
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) {
        pair(key) { $0.pointee.append(value) }
    }

    @inline(__always)
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try place.with { session, node in
            let start = node.pointee.body.count
            node.pointee.beginPair(key.stringValue)
            if node.pointee.appendScalar(value) { return }
            try session.appendElement(value, to: node, from: start, at: .key(Key.self, at: start))
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        place.with { session, node in
            let child = session.appendChild(to: node, at: key.stringValue, Key.self)
            child.pointee.begin(.map)
            return session.keyedContainer(type, child)
        }
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(at: key.stringValue, Key.self).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { child(at: PathKey.super.stringValue, PathKey.self) }
    func superEncoder(forKey key: Key) -> any Encoder { child(at: key.stringValue, Key.self) }

    @inline(__always)
    private func pair(_ key: Key, _ append: (EncodingNode.Slot) -> Void) {
        place.with { _, node in
            node.pointee.beginPair(key.stringValue)
            append(node)
        }
    }

    private func child(at name: String, _ type: any CodingKey.Type) -> EncodingNode.Place {
        place.with { $0.place(of: $0.appendChild(to: $1, at: name, type)) }
    }
}

struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let place: EncodingNode.Place

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int { place.with { $1.pointee.count } }

    func encodeNil() {
        element { $0.pointee.body.writeNil() }
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) {
        element { $0.pointee.append(value) }
    }

    @inline(__always)
    func encode<T: Encodable>(_ value: T) throws {
        try place.with { session, node in
            let start = node.pointee.body.count
            let step = PathStep.index(node.pointee.count)
            node.pointee.beginElement()
            if node.pointee.appendScalar(value) { return }
            try session.appendElement(value, to: node, from: start, at: step)
        }
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        child().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    func superEncoder() -> any Encoder { child() }

    @inline(__always)
    private func element(_ append: (EncodingNode.Slot) -> Void) {
        place.with { _, node in
            node.pointee.beginElement()
            append(node)
        }
    }

    private func child() -> EncodingNode.Place {
        place.with { session, node in
            let step = PathStep.index(node.pointee.count)
            node.pointee.beginElement()
            return session.place(of: session.appendChild(to: node, at: step))
        }
    }
}

struct SingleValueEncoding: SingleValueEncodingContainer {
    let place: EncodingNode.Place

    var codingPath: [any CodingKey] { place.codingPath }

    func encodeNil() {
        single { $0.pointee.body.writeNil() }
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) {
        single { $0.pointee.append(value) }
    }

    @inline(__always)
    func encode<T: Encodable>(_ value: T) throws {
        try place.with { session, node in
            node.pointee.beginSingle()
            try session.append(value, to: node, at: .same)
        }
    }

    @inline(__always)
    private func single(_ append: (EncodingNode.Slot) -> Void) {
        place.with { _, node in
            node.pointee.beginSingle()
            append(node)
        }
    }
}
