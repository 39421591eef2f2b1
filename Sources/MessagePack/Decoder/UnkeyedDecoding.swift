struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let node: DecodingNode
    /// Where the next element begins.
    var next: Int
    private(set) var currentIndex = 0

    init(node: DecodingNode) {
        self.node = node
        next = node.start
    }

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int? { node.count }
    var isAtEnd: Bool { currentIndex >= node.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw node.exhausted(Never?.self) }
        node.reader.next = next
        guard try node.reader.readNil() else { return false }
        advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try element(type) { [node] step in try node.readBool(step) }
    }

    mutating func decode(_ type: String.Type) throws -> String {
        try element(type) { [node] step in try node.readString(step) }
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        try element(type) { [node] step in try node.readDouble(step) }
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        try element(type) { [node] step in try node.readFloat(step) }
    }

    @inline(__always)
    mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try element(type) { [node] step in try node.readInteger(type, step) }
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try element(type) { [node] step in try node.decode(type, step) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let child = try child()
        let container = try child.container(keyedBy: type)
        if child.isLenient { try child.refuseUnknownFields() }
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try child().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder {
        try child()
    }

    // MARK: Places

    @inline(__always)
    private mutating func element<T>(_ type: T.Type, _ read: (PathStep) throws -> T) throws -> T {
        guard !isAtEnd else { throw node.exhausted(type) }
        node.reader.next = next
        let value = try read(.index(currentIndex))
        advance()
        return value
    }

    private mutating func advance() {
        next = node.reader.next
        node.advance(past: currentIndex)
        currentIndex += 1
    }

    private mutating func child() throws -> DecodingNode {
        guard !isAtEnd else { throw node.exhausted([Any].self) }
        let child = node.child(at: next, step: .index(currentIndex))
        try node.skip(from: next, count: 1)
        advance()
        return child
    }
}
