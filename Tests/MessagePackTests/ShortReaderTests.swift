import Testing

@testable import MessagePack

/// Values that are read in one go are those that a reader reads one by one; anything else is left to it.
@Suite struct ShortReaderTests {
    private func written(_ write: (inout MessagePackWriter) -> Void) -> [UInt8] {
        var writer = MessagePackWriter()
        write(&writer)
        return writer.bytes
    }

    /// Behind the value are as many bytes as a value takes at most.
    private func read<Value>(_ bytes: [UInt8], _ read: (inout ShortReader) -> Value) -> Value? {
        var reader = MessagePackReader(bytes + [UInt8](repeating: 0xc1, count: 9))
        let value = reader.readShort(read)
        #expect(reader.position == (value == nil ? 0 : bytes.count))
        return value
    }

    @Test(arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, Int64.max])
    func `An integer is read in each of its formats`(value: Int64) {
        #expect(read(written { $0.write(value) }) { $0.readInt() } == Int(value))
        #expect(read(written { $0.write(value) }) { $0.readUInt64() } == UInt64(value))
        #expect(read([0xcf] + (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }) { $0.readInt() } == Int(value))
    }

    @Test func `An integer that is negative, signed or too large is left to the reader`() {
        for value in [-1, -32, -33, Int64.min] { #expect(read(written { $0.write(value) }) { $0.readInt() } == nil) }
        #expect(read([0xd0, 5]) { $0.readInt() } == nil)
        #expect(read(written { $0.write(UInt64.max) }) { $0.readInt() } == nil)
        #expect(read(written { $0.write(UInt64.max) }) { $0.readUInt64() } == .max)
        #expect(read(written { $0.writeNil() }) { $0.readInt() } == nil)
    }

    @Test(arguments: [0, 1, 31, 255, 256, 65_535, 65_536])
    func `Binary data is read where it stands`(count: Int) {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let bytes = written { $0.writeBinary(content) }
        let place = read(bytes) { $0.readBinaryPlace() }
        #expect(place.map { Array(bytes[$0]) } == content)
        #expect(read(written { $0.write("text") }) { $0.readBinaryPlace() } == nil)
    }

    @Test func `Places count as in the slice that is read`() throws {
        let bytes = [9, 9, 9] + written { $0.writeBinary([1, 2, 3, 4, 5]) }
        var reader = MessagePackReader(bytes[3...])
        let place = reader.readShort { $0.readBinaryPlace() }
        #expect(bytes[try #require(place)] == [1, 2, 3, 4, 5] && reader.isAtEnd)
    }

    @Test func `What is repeated stands in the slice, before what repeats it`() {
        let bytes: [UInt8] = [5, 6, 1, 2, 1, 2, 5, 6] + [UInt8](repeating: 0, count: 9)
        func skips(_ positions: Range<Int>) -> Bool {
            var reader = MessagePackReader(bytes[2...])
            let isRead: Void? = reader.readShort { short in
                short.read(expected: 1)
                short.read(expected: 2)
                short.skip(repeating: positions)
            }
            return isRead != nil
        }
        #expect(skips(0..<2))
        #expect(!skips(2..<4), "itself")
        #expect(!skips(-2..<0))
    }

    @Test func `What is expected is passed over, and nothing else`() {
        let bytes = written { writer in
            writer.writeArrayHeader(3)
            writer.write(7)
        }
        #expect(read(bytes) { ($0.readArrayHeader(of: 3), $0.read(expected: 7)) } != nil)
        #expect(read(bytes) { ($0.readArrayHeader(of: 4), $0.read(expected: 7)) } == nil)
        #expect(read(bytes) { ($0.readArrayHeader(of: 3), $0.read(expected: 8)) } == nil)
        #expect(read([1, 2, 3, 1, 2, 3]) { ($0.readInt(), $0.readInt(), $0.readInt(), $0.skip(repeating: 0..<3)) } != nil)
        #expect(read([1, 2, 3, 1, 2, 4]) { ($0.readInt(), $0.readInt(), $0.readInt(), $0.skip(repeating: 0..<3)) } == nil)
    }

    @Test func `Nothing is read beyond the end, and what gave up stays so`() {
        let bytes = written { writer in
            writer.write(300)
            writer.writeBinary([1, 2, 3, 4, 5, 6])
        }
        for count in 0..<bytes.count {
            var reader = MessagePackReader(Array(bytes[..<count]))
            #expect(reader.readShort { ($0.readInt(), $0.readBinaryPlace()) } == nil && reader.position == 0)
        }
        #expect(read([0xc1, 1]) { ($0.readInt(), $0.readInt()) } == nil)
    }
}
