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

    /// What has been written so far.
    @inlinable
    public var bytes: [UInt8] { storage }

    /// How many bytes have been written so far.
    @inlinable
    public var count: Int { storage.count }

    /// Calls `body` with a part of what has been written, which is not copied. The buffer is valid only within `body`.
    @inlinable
    public func withUnsafeBytes<Result>(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try storage.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// An empty writer with room for this many bytes.
    @inlinable
    public init(reserving capacity: Int = 0) {
        storage = []
        if capacity > 0 { storage.reserveCapacity(capacity) }
    }

    /// Writes into the storage of `buffer`, whose content is discarded and whose capacity is kept.
    @inlinable
    public init(reusing buffer: consuming [UInt8]) {
        storage = buffer
        storage.removeAll(keepingCapacity: true)
    }

    /// Forgets what was written and keeps the capacity.
    @inlinable
    public mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
    }

    // MARK: Scalars

    /// Writes nil.
    @inlinable
    public mutating func writeNil() {
        storage.append(Format.nil)
    }

    /// Writes true or false.
    @inlinable
    public mutating func write(_ value: Bool) {
        storage.append(value ? Format.true : Format.false)
    }

    /// Writes an integer in its shortest form.
    @inlinable
    public mutating func write(_ value: Int) {
        write(Int64(value))
    }

    /// Writes an integer in its shortest form.
    @inlinable
    public mutating func write(_ value: Int64) {
        if value >= 0 {
            write(UInt64(bitPattern: value))
        } else if value >= -32 {
            storage.append(UInt8(truncatingIfNeeded: value))
        } else if let small = Int8(exactly: value) {
            append(Format.int8, UInt8(bitPattern: small))
        } else if let small = Int16(exactly: value) {
            append(Format.int16, UInt16(bitPattern: small))
        } else if let small = Int32(exactly: value) {
            append(Format.int32, UInt32(bitPattern: small))
        } else {
            append(Format.int64, UInt64(bitPattern: value))
        }
    }

    /// Writes an integer in its shortest form.
    @inlinable
    public mutating func write(_ value: UInt64) {
        if value < 0x80 {
            storage.append(UInt8(truncatingIfNeeded: value))
        } else if let small = UInt8(exactly: value) {
            append(Format.uint8, small)
        } else if let small = UInt16(exactly: value) {
            append(Format.uint16, small)
        } else if let small = UInt32(exactly: value) {
            append(Format.uint32, small)
        } else {
            append(Format.uint64, value)
        }
    }

    /// Writes a float of 32 bits.
    @inlinable
    public mutating func write(_ value: Float) {
        append(Format.float32, value.bitPattern)
    }

    /// Writes a float of 64 bits, whatever its value.
    @inlinable
    public mutating func write(_ value: Double) {
        append(Format.float64, value.bitPattern)
    }

    // MARK: Bytes

    /// Writes a string as UTF-8.
    @inlinable
    public mutating func write(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            if utf8.count < 32 {
                storage.append(Format.fixString | UInt8(truncatingIfNeeded: utf8.count))
            } else {
                appendLength(utf8.count, Format.string8, Format.string16, Format.string32)
            }
            storage.append(contentsOf: utf8)
        }
    }

    /// Writes binary data.
    @inlinable
    public mutating func writeBinary(_ value: some Collection<UInt8>) {
        appendLength(value.count, Format.binary8, Format.binary16, Format.binary32)
        storage.append(contentsOf: value)
    }

    /// Writes an extension: application types are 0 to 127, negative ones belong to the specification.
    @inlinable
    public mutating func writeExtension(type: Int8, _ value: some Collection<UInt8>) {
        let count = value.count
        switch count {
        case 1: storage.append(Format.fixExtension1)
        case 2: storage.append(Format.fixExtension2)
        case 4: storage.append(Format.fixExtension4)
        case 8: storage.append(Format.fixExtension8)
        case 16: storage.append(Format.fixExtension16)
        default: appendLength(count, Format.extension8, Format.extension16, Format.extension32)
        }
        storage.append(UInt8(bitPattern: type))
        storage.append(contentsOf: value)
    }

    /// Writes a point in time, counted from 1970-01-01T00:00:00Z, in 4, 8 or 12 bytes. Nanoseconds of a whole second or
    /// more are carried into the seconds.
    public mutating func writeTimestamp(seconds: Int64, nanoseconds: UInt32) {
        let seconds = seconds &+ Int64(nanoseconds / 1_000_000_000)
        let nanoseconds = nanoseconds % 1_000_000_000
        if seconds >> 34 != 0 {
            append(Format.extension8, 12 as UInt8)
            append(UInt8(bitPattern: Format.timestamp), nanoseconds)
            appendBigEndian(UInt64(bitPattern: seconds))
        } else if nanoseconds == 0, let seconds = UInt32(exactly: seconds) {
            storage.append(Format.fixExtension4)
            append(UInt8(bitPattern: Format.timestamp), seconds)
        } else {
            storage.append(Format.fixExtension8)
            append(UInt8(bitPattern: Format.timestamp), UInt64(nanoseconds) << 34 | UInt64(seconds))
        }
    }

    // MARK: Collections

    /// Announces an array: `count` values must follow.
    @inlinable
    public mutating func writeArrayHeader(_ count: Int) {
        if count < 16 {
            storage.append(Format.fixArray | UInt8(count))
        } else {
            appendLength(count, nil, Format.array16, Format.array32)
        }
    }

    /// Announces a map: `count` pairs of a key and a value must follow.
    @inlinable
    public mutating func writeMapHeader(_ count: Int) {
        if count < 16 {
            storage.append(Format.fixMap | UInt8(count))
        } else {
            appendLength(count, nil, Format.map16, Format.map32)
        }
    }

    /// Appends a value (or several) which is already encoded.
    @inlinable
    public mutating func writeRaw(_ encoded: some Collection<UInt8>) {
        storage.append(contentsOf: encoded)
    }

    // MARK: Pieces

    @inlinable
    mutating func appendLength(_ count: Int, _ format8: UInt8?, _ format16: UInt8, _ format32: UInt8) {
        if let format8, let small = UInt8(exactly: count) {
            append(format8, small)
        } else if let small = UInt16(exactly: count) {
            append(format16, small)
        } else {
            append(format32, UInt32(count))
        }
    }

    @inlinable
    mutating func append<Value: FixedWidthInteger>(_ format: UInt8, _ value: Value) {
        let width = MemoryLayout<Value>.size
        guard width < 8 else {
            storage.append(format)
            return appendBigEndian(value)
        }
        // Format and value together, for each step of an array takes as long as all of these.
        let both = UInt64(format) << (8 * width) | UInt64(truncatingIfNeeded: value) & ((1 << (8 * width)) - 1)
        Swift.withUnsafeBytes(of: (both << (56 - 8 * width)).bigEndian) {
            storage.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<(width + 1)]))
        }
    }

    @inlinable
    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { storage.append(contentsOf: $0) }
    }
}
