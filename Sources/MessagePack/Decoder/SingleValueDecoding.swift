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

    @inline(__always)
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try value { try $1.pointee.readInteger(type, .same) }
    }

    @inline(__always)
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
