/// Writes short values into room that was made for all of them at once: to look at the storage for each takes longer than to write it.
///
/// It never writes beyond that room: who asks for too little of it is stopped by a trap.
@usableFromInline
package struct ShortWriter: ~Copyable {
    @usableFromInline var next: UnsafeMutableRawPointer
    @usableFromInline let end: UnsafeMutableRawPointer

    /// What a short value takes at most: a format and eight bytes.
    @usableFromInline static var size: Int { 9 }

    @inlinable
    init(_ room: UnsafeMutableRawBufferPointer, from start: UnsafeMutableRawPointer) {
        next = start
        end = start + room.count
    }

    /// Writes an integer in its shortest form.
    @inlinable @inline(__always)
    package mutating func write(_ value: Int) {
        write(Int64(value))
    }

    /// Writes an integer in its shortest form.
    @inlinable @inline(__always)
    package mutating func write(_ value: Int64) {
        if value >= 0 { write(UInt64(bitPattern: value)) } else { write(negative: value) }
    }

    /// Writes an integer in its shortest form.
    @inlinable @inline(__always)
    package mutating func write(_ value: UInt64) {
        if value < 0x80 { append(UInt8(truncatingIfNeeded: value)) } else { write(long: value) }
    }

    @inlinable @inline(__always)
    package mutating func write(_ value: Bool) {
        append(value ? 0xc3 : 0xc2)
    }

    @inlinable @inline(__always)
    package mutating func writeNil() {
        append(0xc0)
    }

    /// Announces an array of fewer than 16 values.
    @inlinable @inline(__always)
    package mutating func writeArrayHeader(_ count: Int) {
        assert(count < 16)
        append(0x90 | UInt8(truncatingIfNeeded: count))
    }

    /// Writes binary data: a short value, and as many further bytes as there are.
    @usableFromInline
    package mutating func writeBinary(_ content: UnsafeRawBufferPointer) {
        precondition(content.count <= end - next - Self.size, "no room for \(content.count) bytes")
        switch content.count {
        case ...0xff: store(Format.binary8, UInt64(content.count), size: 1)
        case ...0xffff: store(Format.binary16, UInt64(content.count), size: 2)
        default: store(Format.binary32, UInt64(UInt32(content.count)), size: 4)
        }
        UnsafeMutableRawBufferPointer(start: next, count: content.count).copyMemory(from: content)
        next += content.count
    }

    /// Appends values that are already encoded.
    package mutating func append(_ encoded: UnsafeRawBufferPointer) {
        precondition(encoded.count <= end - next, "no room for \(encoded.count) bytes")
        UnsafeMutableRawBufferPointer(start: next, count: encoded.count).copyMemory(from: encoded)
        next += encoded.count
    }

    @usableFromInline
    mutating func write(long value: UInt64) {
        switch value {
        case ...0xff: store(Format.uint8, value, size: 1)
        case ...0xffff: store(Format.uint16, value, size: 2)
        case ...0xffff_ffff: store(Format.uint32, value, size: 4)
        default: store(Format.uint64, value, size: 8)
        }
    }

    @usableFromInline
    mutating func write(negative value: Int64) {
        let bits = UInt64(bitPattern: value)
        switch value {
        case (-32)...: append(UInt8(truncatingIfNeeded: value))
        case Int64(Int8.min)...: store(Format.int8, bits, size: 1)
        case Int64(Int16.min)...: store(Format.int16, bits, size: 2)
        case Int64(Int32.min)...: store(Format.int32, bits, size: 4)
        default: store(Format.int64, bits, size: 8)
        }
    }

    @inlinable @inline(__always)
    mutating func append(_ byte: UInt8) {
        precondition(end - next >= 1)
        next.storeBytes(of: byte, as: UInt8.self)
        next += 1
    }

    /// Stores a value with all its eight bytes, of which the next value overwrites those that are not part of it.
    @inline(__always)
    private mutating func store(_ format: UInt8, _ value: UInt64, size: Int) {
        precondition(end - next >= Self.size)
        next.storeBytes(of: format, as: UInt8.self)
        next.storeBytes(of: (value << (64 - 8 * UInt64(size))).bigEndian, toByteOffset: 1, as: UInt64.self)
        next += 1 + size
    }
}

extension MessagePackWriter {
    /// Makes room for so many short values, integers and the like, and for so many further bytes, and has them written there.
    ///
    /// - Parameters:
    ///   - count: how many values there are at most, the announcements of arrays and of binary data included.
    ///   - bytes: how many bytes all binary data have.
    @inlinable @inline(__always)
    package mutating func writeShort(_ count: Int, bytes: Int = 0, _ write: (inout ShortWriter) -> Void) {
        storage.append(addingCapacity: count * ShortWriter.size + bytes) { space in
            space.withUnsafeMutableBufferPointer { space, appended in
                let room = UnsafeMutableRawBufferPointer(space)
                guard let start = room.baseAddress else { return }
                var values = ShortWriter(room, from: start)
                write(&values)
                appended = values.next - start
            }
        }
    }
}
