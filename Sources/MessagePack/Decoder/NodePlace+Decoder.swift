/// The three containers of `Codable`. Each only finds the place where its node reads a value.
extension NodePlace: Decoder where Session == DecodingSession, Node == DecodingNode {
    var codingPath: [any CodingKey] { with { $1.pointee.codingPath } }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try with { try $0.openContainer(type, $1) }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try with { try $1.pointee.openArray() }
        return UnkeyedDecoding(place: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueDecoding(place: self)
    }
}
