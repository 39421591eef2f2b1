/// Reads MessagePack values one after the other, straight from the bytes.
///
/// ```swift
/// var reader = MessagePackReader(bytes)
/// for _ in 0..<(try reader.readMapHeader()) {
///     let name = try reader.readString()
///     let count = try reader.readInt()
/// }
/// ```
///
/// Every encoding of a value is accepted, not only the smallest. Whatever the bytes are, a read ends with a value or with a
/// ``MessagePackError``; after an error the reader stands where it stood before. Nothing is allocated on the word of a
/// header: a count is checked against the bytes that remain.
public struct MessagePackReader: Sendable {
    @usableFromInline let bytes: ArraySlice<UInt8>
    /// The index in `bytes` of the next byte.
    @usableFromInline var next: Int
    /// Where reading ends: the end of `bytes`, or their start if they are more than the limit.
    @usableFromInline let end: Int
    /// How many ``read(_:)`` are under way.
    @usableFromInline var depth = 0

    /// How deep and how large what it reads may be.
    public let limits: MessagePackLimits

    /// Whether values are accepted that were transcoded from JSON without knowing their types: an integer for a float,
    /// a float with an integral value for an integer, base64 text for binary data.
    public let isLenient: Bool

    /// A reader that begins at the first of these bytes.
    @inlinable
    public init(_ bytes: [UInt8], limits: MessagePackLimits = .default, lenient: Bool = false) {
        self.init(bytes[...], limits: limits, lenient: lenient)
    }

    /// Reads a part of an array without copying it. Offsets count from the start of the slice.
    @inlinable
    public init(_ bytes: ArraySlice<UInt8>, limits: MessagePackLimits = .default, lenient: Bool = false) {
        self.bytes = bytes
        self.limits = limits
        isLenient = lenient
        next = bytes.startIndex
        end = bytes.count <= limits.maximumBytes ? bytes.endIndex : bytes.startIndex
    }

    /// How many bytes have been read.
    @inlinable
    public var position: Int { next - bytes.startIndex }

    /// Whether all bytes have been read.
    @inlinable
    public var isAtEnd: Bool { next == bytes.endIndex }

    /// The type of the next value, which is not consumed.
    @inlinable
    public func peekType() throws(MessagePackError) -> MessagePackType {
        var reader = self
        return try reader.nextType()
    }

    /// The same without a copy of the reader.
    @inlinable
    mutating func nextType() throws(MessagePackError) -> MessagePackType {
        guard let type = MessagePackType(firstByte: try peek()) else { throw neverUsed() }
        return type
    }

    /// Whether the next value has others in it.
    var nextIsContainer: Bool {
        guard next < end else { return false }
        switch byte(at: next) {
        case Format.fixMap..<Format.fixString, Format.array16...Format.map32: return true
        default: return false
        }
    }

    // MARK: Scalars

    /// Consumes nil and returns true; consumes nothing and returns false if the next value is another.
    @inlinable
    public mutating func readNil() throws(MessagePackError) -> Bool {
        guard try peek() == Format.nil else { return false }
        next += 1
        return true
    }

    /// Reads true or false.
    @inlinable
    public mutating func readBool() throws(MessagePackError) -> Bool {
        let format = try peek()
        guard format == Format.true || format == Format.false else { throw mismatch("a boolean") }
        next += 1
        return format == Format.true
    }

    /// Reads an integer, exactly or not at all.
    @inlinable @inline(__always)
    public mutating func readInt() throws(MessagePackError) -> Int {
        try readInteger()
    }

    /// Reads an integer, exactly or not at all.
    @inlinable @inline(__always)
    public mutating func readInt64() throws(MessagePackError) -> Int64 {
        try readInteger()
    }

    /// Reads an integer that is not negative.
    @inlinable @inline(__always)
    public mutating func readUInt64() throws(MessagePackError) -> UInt64 {
        try readInteger()
    }

    /// Reads an integer of any width, exactly or not at all.
    @inlinable @inline(__always)
    public mutating func readInteger<T: FixedWidthInteger>(as type: T.Type = T.self) throws(MessagePackError) -> T {
        // Most are so small that they are their own format.
        guard next < end, case let format = byte(at: next), format < Format.fixMap else { return try readLongInteger() }
        next += 1
        return T(truncatingIfNeeded: format)
    }

    @inlinable @inline(never)
    mutating func readLongInteger<T: FixedWidthInteger>() throws(MessagePackError) -> T {
        guard let (bits, isSigned, size) = longInteger() else { return try readIntegralFloat() }
        guard let value = isSigned ? T(exactly: Int64(bitPattern: bits)) : T(exactly: bits) else {
            throw outOfRange(T.self)
        }
        next += 1 + size
        return value
    }

    /// The next value in 64 bits, and the size in which it stands after its format; nil if it is no integer, or not a whole one.
    @inlinable @inline(__always)
    func longInteger() -> (bits: UInt64, isSigned: Bool, size: Int)? {
        guard next < end else { return nil }
        let format = byte(at: next)
        guard format >= Format.uint8, format <= Format.int64 else {
            guard format < Format.fixMap || format >= Format.negativeFixInt else { return nil }
            return (UInt64(bitPattern: Int64(Int8(bitPattern: format))), true, 0)
        }
        let size = 1 << Int(format & 3)
        guard end - next > size else { return nil }
        let bits =
            switch size {
            case 1: UInt64(byte(at: next + 1))
            case 2: UInt64(load(at: next + 1) as UInt16)
            case 4: UInt64(load(at: next + 1) as UInt32)
            default: load(at: next + 1) as UInt64
            }
        guard format >= Format.int8 else { return (bits, false, size) }
        // The sign goes to the top and comes back with all the bits above the number.
        let unused = 64 - 8 * size
        return (UInt64(bitPattern: Int64(bitPattern: bits &<< unused) &>> unused), true, size)
    }

    /// Reads a float of 64 or 32 bits; if lenient, also an integer.
    @inlinable
    public mutating func readDouble() throws(MessagePackError) -> Double {
        switch try peek() {
        case Format.float64:
            let value = Double(bitPattern: try load())
            next += 9
            return value
        case Format.float32:
            let value = Float(bitPattern: try load())
            next += 5
            return Double(value)
        default:
            return try readIntegerAsDouble()
        }
    }

    /// Reads a float of 32 bits, or one of 64 bits with the same value; if lenient, rounds and accepts an integer.
    @inlinable
    public mutating func readFloat() throws(MessagePackError) -> Float {
        if try peek() == Format.float32 {
            let value = Float(bitPattern: try load())
            next += 5
            return value
        }
        return try readFloatFromDouble()
    }

    // MARK: Bytes

    /// Reads a string, which must be UTF-8.
    @inlinable
    public mutating func readString() throws(MessagePackError) -> String {
        let content = try stringContent()
        guard let value = text(content) else {
            throw MessagePackError(.invalidUTF8, "a string is not UTF-8", offset: position)
        }
        next = content.upperBound
        return value
    }

    /// The bytes at these indices as text; nil if they are not UTF-8.
    ///
    /// `String(validating:as:)` asks the runtime for generic types, which takes longer than a short text. A text in which nothing had
    /// to be repaired has the bytes that it was made of.
    @usableFromInline
    func text(_ content: Range<Int>) -> String? {
        guard content.count <= 64 else { return String(validating: bytes[content], as: UTF8.self) }
        let text = bytes.withUnsafeBufferPointer { bytes in
            let start = content.lowerBound - self.bytes.startIndex
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<start + content.count]), as: UTF8.self)
        }
        return isEqual(content, to: text) ? text : nil
    }

    /// Reads binary data; if lenient, also base64 text (RFC 4648 §4, padded).
    @inlinable
    public mutating func readBinary() throws(MessagePackError) -> [UInt8] {
        guard let content = try binaryContent() else { return try readBase64() }
        next = content.upperBound
        return copy(of: content)
    }

    @inlinable
    func copy(of content: Range<Int>) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            let start = content.lowerBound - self.bytes.startIndex
            return [UInt8](UnsafeRawBufferPointer(rebasing: bytes[start..<start + content.count]))
        }
    }

    /// Reads binary data where it stands, without an array of its own. The buffer is valid only within `body`.
    @inlinable
    public mutating func readBinary<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
        guard let content = try binaryContent() else { return try readBase64().withUnsafeBytes(body) }
        let start = content.lowerBound - bytes.startIndex
        let result = try bytes.withUnsafeBytes {
            try body(UnsafeRawBufferPointer(rebasing: $0[start..<start + content.count]))
        }
        next = content.upperBound
        return result
    }

    // MARK: Collections

    /// Reads the announcement of an array and returns how many values follow.
    @inlinable @inline(__always)
    public mutating func readArrayHeader() throws(MessagePackError) -> Int {
        guard next < end, case let format = byte(at: next), format & 0xf0 == Format.fixArray, case let count = Int(format & 0x0f),
            count < end - next
        else { return try readLongArrayHeader() }
        next += 1
        return count
    }

    @usableFromInline
    mutating func readLongArrayHeader() throws(MessagePackError) -> Int {
        try readHeader(Format.fixArray, Format.array16, Format.array32, values: 1, "an array")
    }

    /// Reads the announcement of a map and returns how many pairs of a key and a value follow.
    public mutating func readMapHeader() throws(MessagePackError) -> Int {
        try readHeader(Format.fixMap, Format.map16, Format.map32, values: 2, "a map")
    }

    /// - Parameter values: how many each element has.
    @inline(__always)
    private mutating func readHeader(
        _ fix: UInt8, _ format16: UInt8, _ format32: UInt8, values: Int, _ expected: String
    ) throws(MessagePackError) -> Int {
        let (count, width): (Int, Int)
        switch try peek() {
        case let format where format & 0xf0 == fix: (count, width) = (Int(format & 0x0f), 1)
        case format16: (count, width) = (Int(try load(UInt16.self)), 3)
        case format32: (count, width) = (Int(try load(UInt32.self)), 5)
        default: throw mismatch(expected)
        }
        guard count <= (end - next - width) / values else { throw truncated() }
        next += width
        return count
    }

    /// Reads the announcement of an array which must have exactly `count` elements, as a type with fixed fields has.
    @inlinable
    public mutating func readArrayHeader(of count: Int) throws(MessagePackError) {
        let start = next
        let found = try readArrayHeader()
        guard found == count else {
            next = start
            throw MessagePackError(.invalidValue, "expected an array of \(count), found one of \(found)", offset: position)
        }
    }

    /// Reads a value which is part of the one being read, and counts it for the depth limit: a recursive type cannot
    /// overflow the stack, however deep the bytes are nested.
    @inlinable
    public mutating func read<T: MessagePackable>(_ type: T.Type = T.self) throws(MessagePackError) -> T {
        guard depth < limits.maximumDepth else { throw tooDeep() }
        depth += 1
        defer { depth -= 1 }
        return try T(from: &self)
    }

    // MARK: Pieces

    @inlinable @inline(__always)
    mutating func peek() throws(MessagePackError) -> UInt8 {
        guard next < end else { throw truncated() }
        return byte(at: next)
    }

    /// The byte at an index, of which the caller knows that it is one of the bytes.
    @inlinable @inline(__always)
    func byte(at index: Int) -> UInt8 {
        bytes.withUnsafeBufferPointer { $0[index &- bytes.startIndex] }
    }

    /// The big-endian integer after the format byte.
    @inlinable @inline(__always)
    mutating func load<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(MessagePackError) -> T {
        guard end - next > MemoryLayout<T>.size else { throw truncated() }
        return load(at: next + 1)
    }

    /// The big-endian integer at an index, which lies within the bytes with all its width.
    @inlinable @inline(__always)
    func load<T: FixedWidthInteger>(at index: Int) -> T {
        bytes.withUnsafeBytes { T(bigEndian: $0.loadUnaligned(fromByteOffset: index &- bytes.startIndex, as: T.self)) }
    }

    /// The indices of `count` bytes from an index at most one past the end.
    @inlinable
    mutating func extent(from start: Int, count: Int) throws(MessagePackError) -> Range<Int> {
        guard count <= end - start else { throw truncated() }
        return start..<start + count
    }

    /// The indices of the next binary data's content; nil if something else comes next.
    @inlinable
    mutating func binaryContent() throws(MessagePackError) -> Range<Int>? {
        switch try peek() {
        case Format.binary8: try extent(from: next + 2, count: Int(load(UInt8.self)))
        case Format.binary16: try extent(from: next + 3, count: Int(load(UInt16.self)))
        case Format.binary32: try extent(from: next + 5, count: Int(load(UInt32.self)))
        default: nil
        }
    }

    /// The indices of the next string's content.
    @inlinable
    mutating func stringContent() throws(MessagePackError) -> Range<Int> {
        let format = try peek()
        switch format {
        case Format.fixString..<Format.nil: return try extent(from: next + 1, count: Int(format & 0x1f))
        case Format.string8: return try extent(from: next + 2, count: Int(load(UInt8.self)))
        case Format.string16: return try extent(from: next + 3, count: Int(load(UInt16.self)))
        case Format.string32: return try extent(from: next + 5, count: Int(load(UInt32.self)))
        default: throw mismatch("a string")
        }
    }
}
