/// The three containers of `Codable`. Each only finds the place where its node reads a value.
extension DecodingNode: Decoder {
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try openMap()
        allow(type)
        return keyedContainer(type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try openArray()
        return UnkeyedDecoding(node: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueDecoding(node: self)
    }
}
