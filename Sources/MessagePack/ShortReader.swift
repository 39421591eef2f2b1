/// Reads values of an expected form where they stand, with one look at the storage for all of them: what a ``ShortWriter`` has written.
///
/// It gives up at anything else, also at what is right and only written otherwise, or too near to the end of the bytes. From then on what
/// it returns means nothing; a ``MessagePackReader`` reads everything again, and says what is wrong if something is. It never reads beyond
/// the bytes.
@usableFromInline
package struct ShortReader: ~Copyable {
    @usableFromInline var next: UnsafeRawPointer
    @usableFromInline let end: UnsafeRawPointer
    /// Where the bytes begin of which these are the rest, and the index of the first of them.
    @usableFromInline let first: UnsafeRawPointer
    @usableFromInline let firstIndex: Int
    @usableFromInline var hasGivenUp = false

    @inlinable
    init(_ first: UnsafeRawPointer, firstIndex: Int, from start: Int, to end: Int) {
        next = first + start
        self.end = first + end
        self.first = first
        self.firstIndex = firstIndex
    }

    @inlinable @inline(__always)
    mutating func giveUp<Value: FixedWidthInteger>() -> Value {
        hasGivenUp = true
        return 0
    }

    /// Reads an integer that is not negative.
    @inlinable @inline(__always)
    package mutating func readUInt64() -> UInt64 {
        guard end - next > 8 else { return giveUp() }
        let format = next.load(as: UInt8.self)
        if format < Format.fixMap {
            next += 1
            return UInt64(format)
        }
        guard format >= Format.uint8, format < Format.int8 else { return giveUp() }
        let size = 1 << Int(format & 3)
        let bits = UInt64(bigEndian: next.loadUnaligned(fromByteOffset: 1, as: UInt64.self)) &>> UInt64(64 - 8 * size)
        next += 1 + size
        return bits
    }

    /// Reads an integer that is not negative.
    @inlinable @inline(__always)
    package mutating func readInt() -> Int {
        Int(exactly: readUInt64()) ?? giveUp()
    }

    @inlinable @inline(__always)
    package mutating func read(expected number: UInt64) {
        if readUInt64() != number { hasGivenUp = true }
    }

    /// Reads the announcement of an array of so many values, fewer than 16.
    @inlinable @inline(__always)
    package mutating func readArrayHeader(of count: Int) {
        guard next < end, next.load(as: UInt8.self) == Format.fixArray | UInt8(truncatingIfNeeded: count) else {
            hasGivenUp = true
            return
        }
        next += 1
    }

    /// Reads binary data, and returns the indices of its content.
    @inlinable @inline(__always)
    package mutating func readBinaryPlace() -> Range<Int> {
        guard end - next > 5 else { return noPlace() }
        let format = next.load(as: UInt8.self)
        guard format >= Format.binary8, format <= Format.binary32 else { return noPlace() }
        let size = 1 << Int(format & 3)
        let count = Int(UInt32(bigEndian: next.loadUnaligned(fromByteOffset: 1, as: UInt32.self)) &>> UInt32(32 - 8 * size))
        guard count < end - next - size else { return noPlace() }
        let start = next - first + firstIndex + 1 + size
        next += 1 + size + count
        return start..<start + count
    }

    /// Passes over what comes next, which is the same, byte by byte, as what stands between two positions before it.
    @inlinable @inline(__always)
    package mutating func skip(repeating positions: Range<Int>) {
        guard end - next >= positions.count, positions.lowerBound >= 0, positions.upperBound <= next - first,
            areEqual(
                UnsafeRawBufferPointer(start: first + positions.lowerBound, count: positions.count),
                UnsafeRawBufferPointer(start: next, count: positions.count))
        else { return hasGivenUp = true }
        next += positions.count
    }

    @inlinable
    mutating func noPlace() -> Range<Int> {
        hasGivenUp = true
        return 0..<0
    }
}

extension MessagePackReader {
    /// Reads with `read` what begins here; nil if that gives up, and then nothing is consumed.
    @inlinable @inline(__always)
    package mutating func readShort<Result>(_ read: (inout ShortReader) -> Result) -> Result? {
        bytes.withUnsafeBytes { all -> Result? in
            guard let first = all.baseAddress else { return nil }
            var reader = ShortReader(
                first, firstIndex: bytes.startIndex, from: next - bytes.startIndex, to: end - bytes.startIndex)
            let result = read(&reader)
            guard !reader.hasGivenUp else { return nil }
            next = reader.next - first + bytes.startIndex
            return result
        }
    }
}
