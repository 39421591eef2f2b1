/// Appends MessagePack values to a byte array, each in its smallest encoding.
///
/// ```swift
/// var writer = MessagePackWriter()
/// writer.writeMapHeader(1)
/// writer.write("count")
/// writer.write(3)
/// send(writer.bytes)
/// ```
///
/// The writer trusts its caller: a header announces how many values (for a map, pairs) follow, and the caller writes them.
/// A `Double` is always written with 64 bits, so that its type survives. Strings, binaries and collections longer than
/// 2³² − 1 have no MessagePack form; writing one is an error of the caller and traps.
public struct MessagePackWriter: Sendable {
    @usableFromInline var storage: [UInt8]
    /// How generated code writes floats.
    @usableFromInline var floats: FloatForm

    /// What has been written so far.
    @inlinable
    public var bytes: [UInt8] { storage }

    /// How many bytes have been written so far.
    @inlinable
    public var count: Int { storage.count }

    /// Calls `body` with a part of what has been written, which is not copied. The buffer is valid only within `body`. Mutating,
    /// although nothing is changed: then no reference to the bytes has to be counted.
    @inlinable
    package mutating func withWritten<Result>(
        _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try storage.withUnsafeMutableBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// An empty writer with room for this many bytes.
    @inlinable
    public init(reserving capacity: Int = 0) {
        storage = []
        floats = .canonical
        if capacity > 0 { storage.reserveCapacity(capacity) }
    }

    /// Forgets what was written and keeps the capacity.
    @inlinable
    public mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
    }

    /// Has a value write itself, with floats as its encoder has them.
    @inline(__always)
    mutating func writing(floats form: FloatForm, _ write: (inout MessagePackWriter) -> Void) {
        let before = floats
        floats = form
        write(&self)
        floats = before
    }

    // MARK: Scalars

    /// Writes nil.
    @inlinable
    public mutating func writeNil() {
        append(Format.nil)
    }

    /// Writes true or false.
    @inlinable
    public mutating func write(_ value: Bool) {
        append(value ? Format.true : Format.false)
    }

    /// Writes an integer in its shortest form.
    @inlinable
    public mutating func write(_ value: Int) {
        write(Int64(value))
    }

    /// Writes an integer in its shortest form.
    @inlinable
    public mutating func write(_ value: Int64) {
        if value >= 0 { write(UInt64(bitPattern: value)) } else { write(negative: value) }
    }

    /// Writes an integer in its shortest form.
    public mutating func write(_ value: UInt64) {
        if value < 0x80 { append(UInt8(truncatingIfNeeded: value)) } else { writeShort(1) { $0.write(long: value) } }
    }

    @usableFromInline
    mutating func write(negative value: Int64) {
        writeShort(1) { $0.write(negative: value) }
    }

    /// Writes a float of 32 bits.
    @inlinable
    public mutating func write(_ value: Float) {
        append(Format.float32, UInt64(value.bitPattern), size: 4)
    }

    /// Writes a float of 64 bits, whatever its value.
    @inlinable
    public mutating func write(_ value: Double) {
        append(Format.float64, value.bitPattern, size: 8)
    }

    // MARK: Bytes

    /// Writes a string as UTF-8.
    public mutating func write(_ value: String) {
        value.withBytes { content in
            if content.count < 32 {
                append(Format.fixString | UInt8(truncatingIfNeeded: content.count), 0, size: 0, content)
            } else {
                append(length: content.count, Format.string8, Format.string16, Format.string32, content)
            }
        }
    }

    /// Writes binary data.
    @inlinable
    public mutating func writeBinary(_ value: some Collection<UInt8>) {
        withBytes(of: value) { append(length: $0.count, Format.binary8, Format.binary16, Format.binary32, $0) }
    }

    /// Writes an extension: application types are 0 to 127, negative ones belong to the specification.
    @inlinable
    public mutating func writeExtension(type: Int8, _ value: some Collection<UInt8>) {
        let count = value.count
        switch count {
        case 1: append(Format.fixExtension1)
        case 2: append(Format.fixExtension2)
        case 4: append(Format.fixExtension4)
        case 8: append(Format.fixExtension8)
        case 16: append(Format.fixExtension16)
        default: append(length: count, Format.extension8, Format.extension16, Format.extension32)
        }
        append(UInt8(bitPattern: type))
        writeRaw(value)
    }

    // MARK: Collections

    /// Announces an array: `count` values must follow.
    @inlinable
    public mutating func writeArrayHeader(_ count: Int) {
        if count < 16 {
            append(Format.fixArray | UInt8(count))
        } else {
            append(length: count, nil, Format.array16, Format.array32)
        }
    }

    /// Announces a map: `count` pairs of a key and a value must follow.
    @inlinable
    public mutating func writeMapHeader(_ count: Int) {
        if count < 16 {
            append(Format.fixMap | UInt8(count))
        } else {
            append(length: count, nil, Format.map16, Format.map32)
        }
    }

    /// Appends a value (or several) which is already encoded.
    @inlinable
    public mutating func writeRaw(_ encoded: some Collection<UInt8>) {
        withBytes(of: encoded) { append(raw: $0) }
    }

    // MARK: Pieces

    // Not inlined: so a value takes its caller one call, and the storage is looked at once for all bytes of it.

    @usableFromInline
    mutating func append(_ byte: UInt8) {
        storage.append(byte)
    }

    @usableFromInline
    mutating func append(raw content: UnsafeRawBufferPointer) {
        storage.append(contentsOf: content)
    }

    /// Appends a format byte, the lowest bytes of a value with the highest of them first, and the content that they announce.
    @usableFromInline
    mutating func append(
        _ format: UInt8, _ value: UInt64, size: Int,
        _ content: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        let count = 1 + size + content.count
        // A value is stored with all its bytes, whose rest the content or the next value overwrites.
        storage.append(addingCapacity: Swift.max(count, 9)) { space in
            space.withUnsafeMutableBufferPointer { space, appended in
                let space = UnsafeMutableRawBufferPointer(space)
                space.storeBytes(of: format, as: UInt8.self)
                space.storeBytes(of: (value << (64 - 8 * size)).bigEndian, toByteOffset: 1, as: UInt64.self)
                UnsafeMutableRawBufferPointer(rebasing: space[(1 + size)...]).copyMemory(from: content)
                appended = count
            }
        }
    }

    /// Appends a length in the smallest of two or three sizes, and the content that has it.
    @usableFromInline
    mutating func append(
        length: Int, _ format8: UInt8?, _ format16: UInt8, _ format32: UInt8,
        _ content: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        if let format8, length <= UInt8.max {
            append(format8, UInt64(length), size: 1, content)
        } else if length <= UInt16.max {
            append(format16, UInt64(length), size: 2, content)
        } else {
            append(format32, UInt64(UInt32(length)), size: 4, content)
        }
    }
}

extension String {
    /// Calls `body` with the UTF-8 where it is. Only a string from Objective-C has none, and is copied.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

/// The bytes of a collection where they are, or else a copy of them.
@inlinable @inline(__always)
func withBytes(of collection: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) -> Void) {
    if collection.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) == nil {
        Array(collection).withUnsafeBytes(body)
    }
}
