/// The three containers of `Codable`. Each only names the node to which its values go.
extension EncodingNode: Encoder {
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        begin(.map)
        return keyedContainer(type)
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
    let place: ContainerPlace<EncodingNode>

    var codingPath: [any CodingKey] { place.withNode { $0.codingPath } }

    func encodeNil(forKey key: Key) {
        pair(key) { $0.appendNil() }
    }

    func encode(_ value: Bool, forKey key: Key) {
        pair(key) { $0.append(value) }
    }

    func encode(_ value: String, forKey key: Key) {
        pair(key) { $0.append(value) }
    }

    func encode(_ value: Double, forKey key: Key) {
        pair(key) { $0.append(value) }
    }

    func encode(_ value: Float, forKey key: Key) {
        pair(key) { $0.append(value) }
    }

    @inline(__always)
    func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) {
        pair(key) { $0.append(value) }
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try place.withNode { try $0.appendPair(value, for: key.stringValue, Key.self) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        child(at: key.stringValue, Key.self).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(at: key.stringValue, Key.self).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { child(at: SuperKey.name, SuperKey.self) }
    func superEncoder(forKey key: Key) -> any Encoder { child(at: key.stringValue, Key.self) }

    @inline(__always)
    private func pair(_ key: Key, _ append: (EncodingNode) -> Void) {
        place.withNode { node in
            node.beginPair(key.stringValue)
            append(node)
        }
    }

    private func child(at name: String, _ type: any CodingKey.Type) -> EncodingNode {
        place.withNode { $0.appendChild(at: name, type) }
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
