struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let place: DecodingNode.Place
    /// Where the next element begins.
    private var next: Int
    private(set) var currentIndex = 0
    // Three words: what is larger, `any UnkeyedDecodingContainer` puts into a box.

    /// The elements of an array that was opened.
    init(place: DecodingNode.Place) {
        self.place = place
        next = place.with { $1.pointee.start }
    }

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int? { place.with { $1.pointee.count } }
    var isAtEnd: Bool { place.with { currentIndex >= $1.pointee.count } }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw exhausted(Never?.self) }
        return try place.with { _, node in
            node.pointee.reader.next = next
            guard try node.pointee.reader.readNil() else { return false }
            advance(node)
            return true
        }
    }

    @inline(__always)
    mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try element(type) { _, node, step in try node.pointee.readInteger(type, step) }
    }

    @inline(__always)
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try element(type) { session, node, step in try session.decode(type, node, step) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try place.with { try $0.openNested(type, child(of: $1, in: $0)) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try superDecoder().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder {
        try place.with { try $0.place(of: child(of: $1, in: $0)) }
    }

    // MARK: Places

    private func exhausted(_ type: any Any.Type) -> any Error { place.with { $1.pointee.exhausted(type) } }

    @inline(__always)
    private mutating func element<T>(
        _ type: T.Type, _ read: (DecodingSession, DecodingNode.Slot, PathStep) throws -> T
    ) throws -> T {
        guard !isAtEnd else { throw exhausted(type) }
        return try place.with { session, node in
            node.pointee.reader.next = next
            let value = try read(session, node, .index(currentIndex))
            advance(node)
            return value
        }
    }

    private mutating func advance(_ node: DecodingNode.Slot) {
        next = node.pointee.reader.next
        node.pointee.advance(past: currentIndex)
        currentIndex += 1
    }

    private mutating func child(of node: DecodingNode.Slot, in session: DecodingSession) throws -> DecodingNode.Slot {
        guard !isAtEnd else { throw exhausted([Any].self) }
        let child = session.child(of: node, at: next, step: .index(currentIndex))
        try node.pointee.skip(from: next, count: 1)
        advance(node)
        return child
    }
}
