struct SingleValueDecoding: SingleValueDecodingContainer {
    let place: DecodingNode.Place

    var codingPath: [any CodingKey] { place.codingPath }

    func decodeNil() -> Bool {
        do {
            return try value { try $1.pointee.reader.readNil() }
        } catch {
            // This cannot throw; the bytes end here, which whatever is read instead will say.
            return false
        }
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        try value { try $1.pointee.readBool(.same) }
    }

    func decode(_ type: String.Type) throws -> String {
        try value { try $1.pointee.readString(.same) }
    }

    func decode(_ type: Double.Type) throws -> Double {
        try value { try $1.pointee.readDouble(.same) }
    }

    func decode(_ type: Float.Type) throws -> Float {
        try value { try $1.pointee.readFloat(.same) }
    }

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try value { try $1.pointee.readInteger(type, .same) }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try value { try $0.decode(type, $1, .same, isKey: $1.pointee.isKey) }
    }

    @inline(__always)
    private func value<T>(_ read: (DecodingSession, DecodingNode.Slot) throws -> T) throws -> T {
        try place.with { session, node in
            let offset = node.pointee.offset
            node.pointee.reader.next = offset
            let value = try read(session, node)
            // Unless nothing was read, as with a nil that is not there.
            if node.pointee.reader.next != offset { node.pointee.end = node.pointee.reader.next }
            return value
        }
    }
}
