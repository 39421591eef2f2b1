import MessagePack
import Testing

@Suite struct ReaderTests {
    @Test func `What comes next is passed over only if it is what stood there before, wherever the bytes begin`() throws {
        var reader = MessagePackReader(hex("ff01c0a17801c0a17801c0a17901c0a1")[1...])
        let first = 0..<4
        #expect(!reader.skip(repeating: first) && reader.position == 0, "it was not read yet")
        for _ in 0..<3 { try reader.skip() }
        #expect(reader.skip(repeating: first) && reader.position == 8)
        #expect(!reader.skip(repeating: first) && reader.position == 8, "the last byte is another")
        for _ in 0..<3 { try reader.skip() }
        #expect(!reader.skip(repeating: first) && reader.position == 12, "the last byte is missing")
    }

    @Test func `An error leaves the reader where it was`() throws {
        var reader = MessagePackReader(hex("a178"))
        #expect(throws: MessagePackError(.typeMismatch, "expected an integer, found a string of 1 byte", offset: 0)) {
            try reader.readInt()
        }
        #expect(throws: MessagePackError(.typeMismatch, "expected a map, found a string of 1 byte", offset: 0)) {
            try reader.readMapHeader()
        }
        #expect(try reader.readString() == "x")
        #expect(reader.isAtEnd)
    }

    @Test func `Offsets count from the start of a slice`() throws {
        let bytes = hex("c0c001c1")
        var reader = MessagePackReader(bytes[2...])
        #expect(try reader.readInt() == 1)
        #expect(throws: MessagePackError(.invalidFormat, "0xc1 begins no value", offset: 1)) { try reader.peekType() }
        #expect(throws: MessagePackError(.invalidFormat, "0xc1 begins no value", offset: 1)) { try reader.skip() }
        #expect(throws: MessagePackError(.invalidFormat, "0xc1 begins no value", offset: 1)) { try reader.readInt() }
    }

    @Test(arguments: ["", "cc", "cd01", "cb3ff0", "a578", "d9", "d905", "c6ffffffff", "dc", "d4", "d405", "c7ff", "d6ff0000"])
    func `Truncated bytes are an error`(bytes: String) {
        for read in everyRead {
            var reader = MessagePackReader(hex(bytes))
            #expect(throws: MessagePackError.self) { try read(&reader) }
        }
    }

    @Test(arguments: ["ddffffffff", "dfffffffff", "dcffff", "df7fffffff0000", "9f01", "8f0101"])
    func `A count beyond the bytes is refused before anything is allocated`(bytes: String) {
        for read in everyRead {
            var reader = MessagePackReader(hex(bytes))
            #expect(throws: MessagePackError.self) { try read(&reader) }
        }
        #expect(throws: (any Error).self) { try MessagePackDecoder().decode([Int].self, from: hex(bytes)) }
        #expect(throws: (any Error).self) { try MessagePackDecoder().decode([Int: Int].self, from: hex(bytes)) }
    }

    @Test(arguments: ["a1ff", "a2c328", "a3eda080", "a4f4908080"])
    func `A string must be UTF-8`(bytes: String) {
        #expect(throws: MessagePackError(.invalidUTF8, "a string is not UTF-8", offset: 0)) {
            try read(bytes) { try $0.readString() }
        }
    }

    @Test func `Depth is limited`() throws {
        let limits = MessagePackLimits(maximumDepth: 3)
        let three = hex("919190"), four = hex("91919190"), maps = hex("810181018101") + hex("80")
        var reader = MessagePackReader(three, limits: limits)
        #expect(try reader.readRaw() == three[...])
        for bytes in [four, maps] {
            var reader = MessagePackReader(bytes, limits: limits)
            #expect { try reader.skip() } throws: { ($0 as? MessagePackError)?.code == .tooDeep }
            #expect { try reader.readRaw() } throws: { ($0 as? MessagePackError)?.code == .tooDeep }
            #expect { try reader.readValue() } throws: { ($0 as? MessagePackError)?.code == .tooDeep }
            #expect(reader.position == 0)
        }
        #expect(MessagePackLimits(maximumDepth: .max).maximumDepth == MessagePackLimits.largestDepth)
    }

    @Test func `A million nested arrays are an error and not an overflow`() {
        let bytes = [UInt8](repeating: 0x91, count: 1_000_000)
        let limits = MessagePackLimits(maximumDepth: .max)
        for read in everyRead.suffix(2) {
            var reader = MessagePackReader(bytes, limits: limits)
            #expect { try read(&reader) } throws: { ($0 as? MessagePackError)?.code == .tooDeep }
        }
        #expect(throws: (any Error).self) { try MessagePackDecoder(limits: limits).decode(Tree.self, from: bytes) }
    }

    @Test func `A recursive type that reads itself is limited`() {
        let bytes = [UInt8](repeating: 0x91, count: 1000)
        var reader = MessagePackReader(bytes)
        #expect { try reader.read(Nest.self) } throws: { ($0 as? MessagePackError)?.code == .tooDeep }
        #expect { try MessagePackDecoder().decode(Nest.self, from: bytes) } throws: {
            ($0 as? MessagePackError)?.code == .tooDeep
        }
    }

    @Test func `A value that writes itself is held to the depth where it is read, and not where it is written`() throws {
        func nest(_ depth: Int) -> Nest { (1..<depth).reduce(Nest()) { inner, _ in Nest(children: [inner]) } }
        let codec = ValueCodec<Nest>(MessagePackEncoder(), MessagePackDecoder())
        let writers: [(Nest) throws -> [UInt8]] = [{ try MessagePackEncoder().encode($0) }, { try codec.encode($0) }]
        for write in writers {
            let (flat, deep) = (try write(nest(64)), try write(nest(65)))
            #expect(try MessagePackDecoder().decode(Nest.self, from: flat).children.count == 1)
            #expect(try codec.decode(flat).children.count == 1)
            #expect { try MessagePackDecoder().decode(Nest.self, from: deep) } throws: {
                ($0 as? MessagePackError)?.code == .tooDeep
            }
            #expect { try codec.decode(deep) } throws: { ($0 as? MessagePackError)?.code == .tooDeep }
        }
    }

    @Test func `Size is limited`() throws {
        let limits = MessagePackLimits(maximumBytes: 3)
        var reader = MessagePackReader(hex("a3787878"), limits: limits)
        let error = MessagePackError(.tooLarge, "4 bytes are more than the limit of 3", offset: 0)
        #expect(throws: error) { try reader.readString() }
        #expect(!reader.isAtEnd)
        #expect(throws: error) { try MessagePackDecoder(limits: limits).decode(String.self, from: hex("a3787878")) }
        #expect(throws: error) { try MessagePackEncoder(limits: limits).encode("xxx") }
        #expect(try MessagePackEncoder(limits: limits).encode("xx") == hex("a27878"))
    }

    @Test func `The type of the next value can be seen`() throws {
        let types: [(String, MessagePackType)] = [
            ("c0", .nil), ("c2", .bool), ("00", .integer), ("ff", .integer), ("d3", .integer), ("ca", .float), ("a0", .string),
            ("c4", .binary), ("90", .array), ("dd", .array), ("80", .map), ("df", .map), ("d8", .extension), ("c9", .extension),
        ]
        for (bytes, type) in types { #expect(try MessagePackReader(hex(bytes)).peekType() == type) }
    }

    private var everyRead: [(inout MessagePackReader) throws -> Void] {
        [
            { _ = try $0.readBool() }, { _ = try $0.readInt() },
            { _ = try $0.readUInt64() }, { _ = try $0.readDouble() },
            { _ = try $0.readFloat() }, { _ = try $0.readString() },
            { _ = try $0.readBinary() }, { _ = try $0.readExtension() },
            { _ = try $0.readTimestamp() }, { try $0.skip() },
            { _ = try $0.readRaw() }, { _ = try $0.readValue() },
        ]
    }
}

private struct Nest: Codable {
    var children: [Nest] = []
}

extension Nest: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(children.count)
        for child in children { writer.write(child) }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        for _ in 0..<(try reader.readArrayHeader()) { children.append(try reader.read()) }
    }
}
