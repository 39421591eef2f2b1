struct SingleValueDecoding: SingleValueDecodingContainer {
    let node: DecodingNode

    var codingPath: [any CodingKey] { node.codingPath }

    func decodeNil() -> Bool {
        do {
            return try value { _ in try node.reader.readNil() }
        } catch {
            // This cannot throw; the bytes end here, which whatever is read instead will say.
            return false
        }
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        try value { try node.readBool($0) }
    }

    func decode(_ type: String.Type) throws -> String {
        try value { try node.readString($0) }
    }

    func decode(_ type: Double.Type) throws -> Double {
        try value { try node.readDouble($0) }
    }

    func decode(_ type: Float.Type) throws -> Float {
        try value { try node.readFloat($0) }
    }

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try value { try node.readInteger(type, $0) }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try value { try node.decode(type, $0, isKey: node.isKey) }
    }

    @inline(__always)
    private func value<T>(_ read: (PathStep) throws -> T) throws -> T {
        node.reader.next = node.offset
        let value = try read(.same)
        // Unless nothing was read, as with a nil that is not there.
        if node.reader.next != node.offset { node.end = node.reader.next }
        return value
    }
}
