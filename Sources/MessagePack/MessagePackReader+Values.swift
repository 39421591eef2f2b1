/// Extensions and whole values of any type.
extension MessagePackReader {
    /// Reads an extension of any type, timestamps included.
    public mutating func readExtension() throws(MessagePackError) -> (type: Int8, bytes: [UInt8]) {
        let content = try extensionContent()
        next = content.bytes.upperBound
        return (content.type, Array(bytes[content.bytes]))
    }

    /// Reads a point in time, counted from 1970-01-01T00:00:00Z.
    public mutating func readTimestamp() throws(MessagePackError) -> (seconds: Int64, nanoseconds: UInt32) {
        let content = try extensionContent()
        guard content.type == Format.timestamp else { throw mismatch("a timestamp") }
        let start = content.bytes.lowerBound
        let seconds: Int64
        let nanoseconds: UInt32
        switch content.bytes.count {
        case 4:
            (seconds, nanoseconds) = (Int64(load(at: start) as UInt32), 0)
        case 8:
            let both: UInt64 = load(at: start)
            (seconds, nanoseconds) = (Int64(both & (1 << 34 - 1)), UInt32(both >> 34))
        case 12:
            (seconds, nanoseconds) = (load(at: start + 4), load(at: start))
        default:
            throw MessagePackError(.invalidValue, "a timestamp of \(content.bytes.count) bytes", offset: position)
        }
        guard nanoseconds < 1_000_000_000 else {
            throw MessagePackError(.invalidValue, "a timestamp with \(nanoseconds) nanoseconds", offset: position)
        }
        next = content.bytes.upperBound
        return (seconds, nanoseconds)
    }

    /// Passes over one whole value and checks its structure, though not whether its strings are UTF-8.
    public mutating func skip() throws(MessagePackError) {
        let start = next
        do {
            try skip(depth: depth)
        } catch {
            next = start
            throw error
        }
    }

    /// Reads one whole value without decoding it. The result shares the bytes of the reader.
    public mutating func readRaw() throws(MessagePackError) -> ArraySlice<UInt8> {
        let start = next
        try skip()
        return bytes[start..<next]
    }

    /// Reads binary data as a slice of the bytes that are read. It keeps all of them alive, and copies nothing.
    public mutating func readBinarySlice() throws(MessagePackError) -> ArraySlice<UInt8> {
        guard let content = try binaryContent() else { return try readBase64()[...] }
        next = content.upperBound
        return bytes[content]
    }

    /// Reads the bytes of a string as a slice of the bytes that are read, and does not look whether they are UTF-8.
    package mutating func readStringSlice() throws(MessagePackError) -> ArraySlice<UInt8> {
        let content = try stringContent()
        next = content.upperBound
        return bytes[content]
    }

    /// Reads binary data and says where in the bytes it stands; not as text, lenient or not.
    package mutating func readBinaryPlace() throws(MessagePackError) -> Range<Int> {
        guard let content = try binaryContent() else { throw mismatch("binary data") }
        next = content.upperBound
        return content
    }

    /// Passes over what comes next if it is the same, byte by byte, as what stands between two positions; else it consumes nothing.
    package mutating func skip(repeating positions: Range<Int>) -> Bool {
        guard positions.upperBound <= position, positions.count <= end - next else { return false }
        let isSame = bytes.withUnsafeBytes { bytes in
            let here = position..<position + positions.count
            return areEqual(UnsafeRawBufferPointer(rebasing: bytes[positions]), UnsafeRawBufferPointer(rebasing: bytes[here]))
        }
        if isSame { next += positions.count }
        return isSame
    }

    /// Reads one whole value of any type.
    public mutating func readValue() throws(MessagePackError) -> MessagePackValue {
        let start = next
        do {
            return try readValue(depth: depth)
        } catch {
            next = start
            throw error
        }
    }

    // MARK: Recursion, bounded by the depth limit

    private mutating func skip(depth: Int) throws(MessagePackError) {
        let format = try peek()
        let length: Int
        switch format {
        case 0x00...0x7f, Format.negativeFixInt..., Format.nil, Format.false, Format.true: length = 0
        case Format.uint8, Format.int8: length = 1
        case Format.uint16, Format.int16: length = 2
        case Format.uint32, Format.int32, Format.float32: length = 4
        case Format.uint64, Format.int64, Format.float64: length = 8
        case Format.fixString..<Format.nil: length = Int(format & 0x1f)
        case Format.string8, Format.binary8: length = 1 + Int(try load(UInt8.self))
        case Format.string16, Format.binary16: length = 2 + Int(try load(UInt16.self))
        case Format.string32, Format.binary32: length = 4 + Int(try load(UInt32.self))
        case Format.fixMap..<Format.fixArray, Format.map16, Format.map32:
            return try skip(2 * readMapHeader(), depth: depth)
        case Format.fixArray..<Format.fixString, Format.array16, Format.array32:
            return try skip(readArrayHeader(), depth: depth)
        case Format.neverUsed: throw neverUsed()
        default:
            next = try extensionContent().bytes.upperBound
            return
        }
        next = try extent(from: next + 1, count: length).upperBound
    }

    private mutating func skip(_ count: Int, depth: Int) throws(MessagePackError) {
        guard depth < limits.maximumDepth else { throw tooDeep() }
        for _ in 0..<count { try skip(depth: depth + 1) }
    }

    private mutating func readValue(depth: Int) throws(MessagePackError) -> MessagePackValue {
        switch try nextType() {
        case .nil:
            next += 1
            return .nil
        case .bool: return .bool(try readBool())
        case .integer:
            if let value = try integer(as: Int64.self) { return .int(value) }
            return .uint(try readUInt64())
        case .float:
            return try peek() == Format.float32 ? .float(try readFloat()) : .double(try readDouble())
        case .string: return .string(try readString())
        case .binary: return .binary(try readBinary())
        case .array:
            guard depth < limits.maximumDepth else { throw tooDeep() }
            var elements: [MessagePackValue] = []
            for _ in 0..<(try readArrayHeader()) { elements.append(try readValue(depth: depth + 1)) }
            return .array(elements)
        case .map:
            guard depth < limits.maximumDepth else { throw tooDeep() }
            var pairs: [MessagePackPair] = []
            for _ in 0..<(try readMapHeader()) {
                let key = try readValue(depth: depth + 1)
                pairs.append(MessagePackPair(key, try readValue(depth: depth + 1)))
            }
            return .map(pairs)
        case .extension:
            let (type, bytes) = try readExtension()
            return .extension(type: type, bytes: bytes)
        }
    }

    private mutating func extensionContent() throws(MessagePackError) -> (type: Int8, bytes: Range<Int>) {
        let width: Int
        let count: Int
        switch try peek() {
        case Format.fixExtension1: (width, count) = (0, 1)
        case Format.fixExtension2: (width, count) = (0, 2)
        case Format.fixExtension4: (width, count) = (0, 4)
        case Format.fixExtension8: (width, count) = (0, 8)
        case Format.fixExtension16: (width, count) = (0, 16)
        case Format.extension8: (width, count) = (1, Int(try load(UInt8.self)))
        case Format.extension16: (width, count) = (2, Int(try load(UInt16.self)))
        case Format.extension32: (width, count) = (4, Int(try load(UInt32.self)))
        default: throw mismatch("an extension")
        }
        // The type stands between the length and the content.
        let content = try extent(from: next + 1 + width + 1, count: count)
        return (Int8(bitPattern: bytes[content.lowerBound - 1]), content)
    }
}
