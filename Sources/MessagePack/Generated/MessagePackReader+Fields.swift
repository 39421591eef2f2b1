/// What generated code reads with.
extension MessagePackReader {
    /// The fields that are left to be read of a map that begins here.
    @inlinable @inline(__always)
    public mutating func beginFields() throws(MessagePackError) -> Int {
        if next < end, case let format = byte(at: next), format & 0xf0 == Format.fixMap {
            next += 1
            return Int(format & 0x0f)
        }
        return try readMapHeader()
    }

    /// Reads a field, which must come next.
    @inlinable @inline(__always)
    public mutating func readField<Value: GeneratedCodable>(
        _ key: StaticString, _ left: inout Int
    ) throws(MessagePackError) -> Value {
        guard left > 0, skip(key: key) else { throw notGenerated() }
        left -= 1
        return try Value(decoding: &self)
    }

    /// Reads a field if it comes next.
    @inlinable @inline(__always)
    public mutating func readFieldIfPresent<Value: GeneratedCodable>(
        _ key: StaticString, _ left: inout Int
    ) throws(MessagePackError) -> Value? {
        guard left > 0, skip(key: key) else { return nil }
        left -= 1
        return try Value(decoding: &self)
    }

    /// Ends a map, of which nothing may be left.
    @inlinable @inline(__always)
    public mutating func endFields(_ left: Int) throws(MessagePackError) {
        guard left == 0 else { throw notGenerated() }
    }

    /// Begins an enum, which is a map with its case as the only key.
    @inlinable @inline(__always)
    public mutating func beginCase() throws(MessagePackError) {
        guard next < end, byte(at: next) == Format.fixMap | 1 else { throw notGenerated() }
        next += 1
    }

    /// Passes over the name of a case and the announcement of its values if they come next; returns how many values there are.
    @inlinable @inline(__always)
    public mutating func readCase(_ name: StaticString) -> Int? {
        let start = next
        guard skip(key: name) else { return nil }
        guard next < end, case let format = byte(at: next), format & 0xf0 == Format.fixMap else {
            next = start
            return nil
        }
        next += 1
        return Int(format & 0x0f)
    }

    /// What generated code throws where it does not go on. `Codable` decodes the value again, so nobody reads the text of it.
    @inlinable
    public func notGenerated() -> MessagePackError {
        MessagePackError(.invalidValue, "generated code does not know this form", offset: position)
    }

    /// Passes over a key if it comes next.
    @inlinable @inline(__always)
    mutating func skip(key: StaticString) -> Bool {
        let count = key.utf8CodeUnitCount
        precondition(key.hasPointerRepresentation && count < 32, "generated code has keys of at most 31 bytes")
        guard end - next > count, byte(at: next) == Format.fixString | UInt8(truncatingIfNeeded: count) else { return false }
        let isNext = bytes.withUnsafeBytes { bytes in
            let start = next &- self.bytes.startIndex &+ 1
            return key.bytes.elementsEqual(UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
        }
        if isNext { next += 1 + count }
        return isNext
    }
}

extension StaticString {
    @inlinable @inline(__always)
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
