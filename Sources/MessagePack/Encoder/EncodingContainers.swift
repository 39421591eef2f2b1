/// The three containers of `Codable`. Each only names the node to which its values go.
extension EncodingNode: Encoder {
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        begin(.map)
        return KeyedEncodingContainer(KeyedEncoding(node: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        begin(.array)
        return UnkeyedEncoding(node: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncoding(node: self)
    }
}

struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodingNode

    var codingPath: [any CodingKey] { node.codingPath }

    func encodeNil(forKey key: Key) {
        node.beginPair(key.stringValue)
        node.appendNil()
    }

    func encode(_ value: Bool, forKey key: Key) {
        node.beginPair(key.stringValue)
        node.append(value)
    }

    func encode(_ value: String, forKey key: Key) {
        node.beginPair(key.stringValue)
        node.append(value)
    }

    func encode(_ value: Double, forKey key: Key) {
        node.beginPair(key.stringValue)
        node.append(value)
    }

    func encode(_ value: Float, forKey key: Key) {
        node.beginPair(key.stringValue)
        node.append(value)
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) {
        node.beginPair(key.stringValue)
        node.append(value)
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try node.appendPair(value, for: key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        child(at: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(at: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { child(at: SuperKey()) }
    func superEncoder(forKey key: Key) -> any Encoder { child(at: key) }

    private func child(at key: some CodingKey) -> EncodingNode {
        node.beginPair(key.stringValue)
        return node.appendChild(at: .key(key))
    }
}

struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let node: EncodingNode

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int { node.count }

    func encodeNil() {
        node.beginElement()
        node.appendNil()
    }

    func encode(_ value: Bool) {
        node.beginElement()
        node.append(value)
    }

    func encode(_ value: String) {
        node.beginElement()
        node.append(value)
    }

    func encode(_ value: Double) {
        node.beginElement()
        node.append(value)
    }

    func encode(_ value: Float) {
        node.beginElement()
        node.append(value)
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) {
        node.beginElement()
        node.append(value)
    }

    func encode<T: Encodable>(_ value: T) throws {
        try node.appendElement(value)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        child().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    func superEncoder() -> any Encoder { child() }

    private func child() -> EncodingNode {
        let step = PathStep.index(node.count)
        node.beginElement()
        return node.appendChild(at: step)
    }
}

struct SingleValueEncoding: SingleValueEncodingContainer {
    let node: EncodingNode

    var codingPath: [any CodingKey] { node.codingPath }

    func encodeNil() {
        node.beginSingle()
        node.appendNil()
    }

    func encode(_ value: Bool) {
        node.beginSingle()
        node.append(value)
    }

    func encode(_ value: String) {
        node.beginSingle()
        node.append(value)
    }

    func encode(_ value: Double) {
        node.beginSingle()
        node.append(value)
    }

    func encode(_ value: Float) {
        node.beginSingle()
        node.append(value)
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T) {
        node.beginSingle()
        node.append(value)
    }

    func encode<T: Encodable>(_ value: T) throws {
        node.beginSingle()
        try node.append(value, at: .same)
    }
}
