/// The types of the standard library that generated code knows, each in the form that ``MessagePackEncoder`` gives it in canonical mode.

extension Bool: GeneratedCodable {
    /// Writes a boolean.
    @inlinable @inline(__always)
    public func encode(into writer: inout MessagePackWriter) { writer.write(self) }

    /// Reads a boolean.
    @inlinable @inline(__always)
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) { self = try reader.readBool() }
}

extension String: GeneratedCodable {
    /// Writes a string.
    @inlinable @inline(__always)
    public func encode(into writer: inout MessagePackWriter) { writer.write(self) }

    /// Reads a string.
    @inlinable @inline(__always)
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) { self = try reader.readString() }
}

extension Double: GeneratedCodable {
    /// Writes a float of 64 bits, equal ones as equal bits, unless the encoder of a codec has another form for them.
    @inlinable @inline(__always)
    public func encode(into writer: inout MessagePackWriter) { writer.write(written(as: writer.floats)) }

    /// Reads a float.
    @inlinable @inline(__always)
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) { self = try reader.readDouble() }
}

extension Float: GeneratedCodable {
    /// Writes a float of 32 bits, equal ones as equal bits, unless the encoder of a codec has another form for them.
    @inlinable @inline(__always)
    public func encode(into writer: inout MessagePackWriter) { writer.write(written(as: writer.floats)) }

    /// Reads a float.
    @inlinable @inline(__always)
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) { self = try reader.readFloat() }
}

extension FixedWidthInteger where Self: GeneratedCodable {
    /// Writes an integer in its shortest form.
    @inlinable @inline(__always)
    public func encode(into writer: inout MessagePackWriter) {
        if let value = Int64(exactly: self) { writer.write(value) } else { writer.write(UInt64(truncatingIfNeeded: self)) }
    }

    /// Reads an integer that fits.
    @inlinable @inline(__always)
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) { self = try reader.readInteger() }
}

/// An element of a collection; a field that is nil is left out.
extension Optional: GeneratedCodable where Wrapped: GeneratedCodable {
    /// Writes the value, or nil.
    @inlinable
    public func encode(into writer: inout MessagePackWriter) {
        if let self { self.encode(into: &writer) } else { writer.writeNil() }
    }

    /// Reads nil or a value.
    @inlinable
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        self = try reader.readNil() ? nil : try Wrapped(decoding: &reader)
    }
}

/// As the elements want it: bytes are binary data.
extension Array: GeneratedCodable where Element: GeneratedCodable {
    /// Writes the elements in their order.
    @inlinable @inline(__always)
    public func encode(into writer: inout MessagePackWriter) { Element.encode(self, into: &writer) }

    /// Reads an array.
    @inlinable @inline(__always)
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        self = try Element.decodeArray(from: &reader)
    }
}

extension GeneratedCodable {
    /// Writes an array.
    @inlinable
    public static func encode(_ array: [Self], into writer: inout MessagePackWriter) {
        writer.writeArrayHeader(array.count)
        for element in array { element.encode(into: &writer) }
    }

    /// Reads an array.
    @inlinable
    public static func decodeArray(from reader: inout MessagePackReader) throws(MessagePackError) -> [Self] {
        let count = try reader.readArrayHeader()
        var array: [Self] = []
        // An element may take far more memory than the bytes that announce it: at first room is made for a short array.
        array.reserveCapacity(min(count, 64))
        for _ in 0..<count { array.append(try Self(decoding: &reader)) }
        return array
    }
}

extension UInt8 {
    /// Writes binary data.
    @inlinable
    public static func encode(_ array: [UInt8], into writer: inout MessagePackWriter) { writer.writeBinary(array) }

    /// Reads binary data.
    @inlinable
    public static func decodeArray(from reader: inout MessagePackReader) throws(MessagePackError) -> [UInt8] {
        try reader.readBinary()
    }
}

/// Sorted by the bytes of its elements.
extension Set: GeneratedCodable where Element: GeneratedCodable {
    /// Writes the elements, sorted by their bytes.
    public func encode(into writer: inout MessagePackWriter) {
        writer.writeArrayHeader(count)
        writer.writeSorted(self) { $0.encode(into: &$1) }
    }

    /// Reads an array.
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        let count = try reader.readArrayHeader()
        self = []
        for _ in 0..<count { insert(try Element(decoding: &reader)) }
    }
}

/// A type that is encoded as a string or an integer, so that a dictionary with such keys is a map.
public protocol GeneratedKey: GeneratedCodable, Hashable {}

extension String: GeneratedKey {}
extension Int: GeneratedKey {}
extension Int8: GeneratedKey {}
extension Int16: GeneratedKey {}
extension Int32: GeneratedKey {}
extension Int64: GeneratedKey {}
extension UInt: GeneratedKey {}
extension UInt8: GeneratedKey {}
extension UInt16: GeneratedKey {}
extension UInt32: GeneratedKey {}
extension UInt64: GeneratedKey {}

/// A map, sorted by the bytes of its keys.
extension Dictionary: GeneratedCodable where Key: GeneratedKey, Value: GeneratedCodable {
    /// Writes the pairs, sorted by the bytes of their keys.
    public func encode(into writer: inout MessagePackWriter) {
        writer.writeMapHeader(count)
        // No encoded key is the beginning of another one, so that the order of the pairs is that of the keys.
        writer.writeSorted(self) { pair, writer in
            pair.key.encode(into: &writer)
            pair.value.encode(into: &writer)
        }
    }

    /// Reads a map without repeated keys.
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        let count = try reader.readMapHeader()
        self = [:]
        for _ in 0..<count {
            let key = try Key(decoding: &reader)
            // A key that stands there twice is an error, which `Codable` tells.
            guard updateValue(try Value(decoding: &reader), forKey: key) == nil else { throw reader.notGenerated() }
        }
    }
}

extension MessagePackWriter {
    /// Writes what `write` makes of each element, in the order of those bytes.
    fileprivate mutating func writeSorted<Elements: Collection>(
        _ elements: Elements, _ write: (Elements.Element, inout MessagePackWriter) -> Void
    ) {
        guard elements.count > 1 else { return elements.forEach { write($0, &self) } }
        var unsorted = MessagePackWriter()
        unsorted.floats = floats
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(elements.count)
        for element in elements {
            let start = unsorted.count
            write(element, &unsorted)
            ranges.append(start..<unsorted.count)
        }
        unsorted.storage.withUnsafeBytes { bytes in
            ranges.sort { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
            for range in ranges { append(raw: UnsafeRawBufferPointer(rebasing: bytes[range])) }
        }
    }
}
