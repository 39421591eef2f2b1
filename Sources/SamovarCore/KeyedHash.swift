/// SipHash-2-4, a keyed 64-bit hash: unpredictable without the key, equal in every process with it.
///
/// Source: Aumasson and Bernstein, “SipHash: a fast short-input PRF” (2012). Used for job tokens, seeded randomness and
/// checksums; Swift's own `Hasher` will not do, because its key is different in every process.
public struct KeyedHash: Sendable, BitwiseCopyable {
    @usableFromInline var v0: UInt64
    @usableFromInline var v1: UInt64
    @usableFromInline var v2: UInt64
    @usableFromInline var v3: UInt64
    @usableFromInline var tail: UInt64 = 0
    @usableFromInline var count: UInt64 = 0

    /// A hash under this key, of nothing so far.
    @inlinable
    public init(_ key: Secret) {
        v0 = key.low ^ 0x736f_6d65_7073_6575
        v1 = key.high ^ 0x646f_7261_6e64_6f6d
        v2 = key.low ^ 0x6c79_6765_6e65_7261
        v3 = key.high ^ 0x7465_6462_7974_6573
    }

    /// Adds one byte.
    @inlinable
    public mutating func combine(_ byte: UInt8) { combine(UInt64(byte), bytes: 1) }

    /// Adds the eight bytes of `word`, the lowest first.
    @inlinable
    @inline(__always)
    public mutating func combine(_ word: UInt64) {
        let offset = (count & 7) * 8
        count &+= 8
        if offset == 0 {
            compress(word)
        } else {
            compress(tail | word << offset)
            tail = word >> (64 - offset)
        }
    }

    /// Adds the eight bytes of `number`, the lowest first.
    @inlinable
    @inline(__always)
    public mutating func combine(_ number: Int) {
        combine(UInt64(truncatingIfNeeded: number))
    }

    /// Adds every byte and their count, so that two neighbouring sequences cannot be mistaken for one.
    @inlinable
    public mutating func combine(_ bytes: some Collection<UInt8>) {
        combine(bytes.count)
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { combine(UnsafeRawBufferPointer($0)) }
        if isContiguous == nil {
            for byte in bytes { combine(byte) }
        }
    }

    /// Adds every byte, and not how many there are.
    @inlinable
    package mutating func combine(_ buffer: UnsafeRawBufferPointer) {
        guard var next = buffer.baseAddress else { return }
        // A copy, whose words stay in registers.
        var hash = self
        // Each word stands behind as many bytes of the word before it.
        let filled = (count & 7) * 8
        for _ in 0..<buffer.count / 8 {
            let word = UInt64(littleEndian: next.loadUnaligned(as: UInt64.self))
            hash.compress(hash.tail | word << filled)
            // A shift by all 64 bits gives zero.
            hash.tail = word >> (64 - filled)
            next += 8
        }
        hash.count &+= UInt64(buffer.count & ~7)
        let left = buffer.count & 7
        var rest: UInt64 = 0
        for place in 0..<left { rest |= UInt64(next.load(fromByteOffset: place, as: UInt8.self)) << (8 * UInt64(place)) }
        hash.combine(rest, bytes: UInt64(left))
        self = hash
    }

    /// Adds the lowest of the bytes of `word`, at most seven. The others are zero.
    @inlinable
    @inline(__always)
    mutating func combine(_ word: UInt64, bytes: UInt64) {
        let offset = (count & 7) * 8
        count &+= bytes
        tail |= word << offset
        guard offset + bytes * 8 >= 64 else { return }
        compress(tail)
        // A shift by all 64 bits gives zero.
        tail = word >> (64 - offset)
    }

    /// The hash of all that was added.
    @inlinable
    @inline(__always)
    public consuming func finish() -> UInt64 {
        compress(tail | count << 56)
        v2 ^= 0xff
        round()
        round()
        round()
        round()
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inlinable
    @inline(__always)
    mutating func compress(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    // Always inlined, so that the four words stay in registers.
    @inlinable
    @inline(__always)
    mutating func round() {
        v0 &+= v1
        v1 = v1 << 13 | v1 >> 51
        v1 ^= v0
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v3
        v3 = v3 << 16 | v3 >> 48
        v3 ^= v2
        v0 &+= v3
        v3 = v3 << 21 | v3 >> 43
        v3 ^= v0
        v2 &+= v1
        v1 = v1 << 17 | v1 >> 47
        v1 ^= v2
        v2 = v2 << 32 | v2 >> 32
    }
}

/// A 128-bit key that never leaves the store: made with the journal, kept in it.
public struct Secret: Hashable, Sendable, BitwiseCopyable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// A secret of these bits; for tests. Stores draw theirs.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
