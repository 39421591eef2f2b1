/// What generated code writes with. A key goes with what follows it, so that room is made once for both.
extension MessagePackWriter {
    /// Announces a map of so many fields.
    @inlinable @inline(__always)
    public mutating func beginFields(_ count: Int) {
        writeMapHeader(count)
    }

    /// Writes a field: its key and its value.
    @inlinable @inline(__always)
    public mutating func writeField(_ key: StaticString, _ value: some GeneratedCodable) {
        write(key: key)
        value.encode(into: &self)
    }

    /// Writes a field: its key and its value.
    @inlinable @inline(__always)
    public mutating func writeField(_ key: StaticString, _ value: Int) {
        if 0..<0x80 ~= value {
            write(key: key, then: UInt8(truncatingIfNeeded: value))
        } else {
            write(key: key)
            write(value)
        }
    }

    /// Writes a field: its key and its value.
    @inlinable @inline(__always)
    public mutating func writeField(_ key: StaticString, _ value: Bool) {
        write(key: key, then: value ? Format.true : Format.false)
    }

    /// Writes a field, or nothing if there is no value.
    @inlinable @inline(__always)
    public mutating func writeFieldIfPresent(_ key: StaticString, _ value: (some GeneratedCodable)?) {
        if let value { writeField(key, value) }
    }

    /// Announces a case of an enum, and how many values it has.
    @inlinable @inline(__always)
    public mutating func beginCase(_ name: StaticString, _ count: Int) {
        precondition(count < 16, "generated code has at most 15 values in a case")
        write(Format.fixMap | 1, key: name, then: Format.fixMap | UInt8(truncatingIfNeeded: count))
    }

    /// Writes a key, and the bytes that stand before and behind it.
    @inlinable @inline(__always)
    mutating func write(_ before: UInt8? = nil, key: StaticString, then after: UInt8? = nil) {
        let count = key.utf8CodeUnitCount
        precondition(key.hasPointerRepresentation && count < 32, "generated code has keys of at most 31 bytes")
        storage.append(addingCapacity: count + 3) { space in
            space.withUnsafeMutableBufferPointer { space, appended in
                let space = UnsafeMutableRawBufferPointer(space)
                var next = 0
                if let before {
                    space.storeBytes(of: before, as: UInt8.self)
                    next = 1
                }
                space.storeBytes(of: Format.fixString | UInt8(truncatingIfNeeded: count), toByteOffset: next, as: UInt8.self)
                UnsafeMutableRawBufferPointer(rebasing: space[(next + 1)...]).copyMemory(from: key.bytes)
                next += 1 + count
                if let after {
                    space.storeBytes(of: after, toByteOffset: next, as: UInt8.self)
                    next += 1
                }
                appended = next
            }
        }
    }
}
