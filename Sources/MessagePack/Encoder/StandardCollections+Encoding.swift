/// What the encoder must know of the standard library's collections, which their `encode(to:)` does not tell it.

/// A collection without an order, whose elements canonical mode sorts.
protocol UnorderedElements {}

extension Set: UnorderedElements {}

/// A dictionary, which asks for a map only with keys of type `String` and `Int`.
protocol EncodableDictionary {
    func encodePairs(to node: EncodingNode.Slot, of session: EncodingSession) throws
}

extension Dictionary: EncodableDictionary where Key: Encodable, Value: Encodable {
    func encodePairs(to node: EncodingNode.Slot, of session: EncodingSession) throws {
        for (key, value) in self { try session.appendPair(key, value, to: node) }
    }
}
