import MessagePack
import Testing

/// The bytes of every format at its boundaries, from the MessagePack specification.
@Suite struct FormatTests {
    @Test(arguments: [
        (0, "00"), (1, "01"), (127, "7f"), (128, "cc80"), (255, "ccff"), (256, "cd0100"), (65535, "cdffff"),
        (65536, "ce00010000"), (4_294_967_295, "ceffffffff"), (4_294_967_296, "cf0000000100000000"),
        (Int64.max, "cf7fffffffffffffff"), (-1, "ff"), (-32, "e0"), (-33, "d0df"), (-128, "d080"), (-129, "d1ff7f"),
        (-32768, "d18000"), (-32769, "d2ffff7fff"), (-2_147_483_648, "d280000000"), (-2_147_483_649, "d3ffffffff7fffffff"),
        (Int64.min, "d38000000000000000"),
    ])
    func `An integer has its smallest format`(value: Int64, bytes: String) throws {
        #expect(written { $0.write(value) } == bytes)
        #expect(written { $0.write(Int(value)) } == bytes)
        #expect(try read(bytes) { try $0.readInt64() } == value)
        #expect(try read(bytes) { try $0.readInt() } == Int(value))
        #expect(try read(bytes) { try $0.readValue() } == .int(value))
        if value >= 0 {
            #expect(written { $0.write(UInt64(value)) } == bytes)
            #expect(try read(bytes) { try $0.readUInt64() } == UInt64(value))
        }
    }

    @Test func `An unsigned integer beyond Int64 is itself`() throws {
        #expect(written { $0.write(UInt64.max) } == "cfffffffffffffffff")
        #expect(try read("cfffffffffffffffff") { try $0.readUInt64() } == .max)
        #expect(try read("cfffffffffffffffff") { try $0.readValue() } == .uint(.max))
        #expect(throws: MessagePackError.self) { try read("cfffffffffffffffff") { try $0.readInt64() } }
    }

    @Test(arguments: ["d005", "d10005", "d200000005", "d30000000000000005", "cc05", "cd0005", "ce00000005", "cf0000000000000005"])
    func `An integer is read from any format that holds it`(bytes: String) throws {
        #expect(try read(bytes) { try $0.readInteger(as: UInt8.self) } == 5)
    }

    @Test func `An integer that does not fit is refused and not consumed`() throws {
        var reader = MessagePackReader(hex("cd0100"))
        #expect(throws: MessagePackError(.outOfRange, "expected an integer from 0 to 255, found another one", offset: 0)) {
            try reader.readInteger(as: UInt8.self)
        }
        #expect(reader.position == 0)
        #expect(try reader.readInt() == 256)
    }

    @Test func `Nil and booleans are one byte`() throws {
        #expect(written { $0.writeNil() } == "c0")
        #expect(written { $0.write(false) } == "c2")
        #expect(written { $0.write(true) } == "c3")
        #expect(try read("c0") { try $0.readNil() })
        #expect(try read("c2") { try $0.readBool() } == false)
        #expect(try read("c3") { try $0.readBool() })
        var reader = MessagePackReader(hex("c3"))
        #expect(try reader.readNil() == false)
        #expect(reader.position == 0)
    }

    @Test func `Floats keep their width`() throws {
        #expect(written { $0.write(1.5 as Float) } == "ca3fc00000")
        #expect(written { $0.write(1.5 as Double) } == "cb3ff8000000000000")
        #expect(try read("ca3fc00000") { try $0.readFloat() } == 1.5)
        #expect(try read("ca3fc00000") { try $0.readDouble() } == 1.5)
        #expect(try read("cb3ff8000000000000") { try $0.readDouble() } == 1.5)
        #expect(try read("cb3ff8000000000000") { try $0.readFloat() } == 1.5)
        #expect(try read("ca3fc00000") { try $0.readValue() } == .float(1.5))
        #expect(try read("cb3ff8000000000000") { try $0.readValue() } == .double(1.5))
        #expect(throws: MessagePackError.self) { try read("cb3ff199999999999a") { try $0.readFloat() } }
    }

    @Test(arguments: [
        (0, "a0"), (31, "bf"), (32, "d920"), (255, "d9ff"), (256, "da0100"), (65535, "daffff"), (65536, "db00010000"),
    ])
    func `A string has its smallest header`(count: Int, header: String) throws {
        let text = String(repeating: "x", count: count)
        let bytes = header + String(repeating: "78", count: count)
        #expect(written { $0.write(text) } == bytes)
        #expect(try read(bytes) { try $0.readString() } == text)
        #expect(try read(bytes) { try $0.readValue() } == .string(text))
    }

    @Test func `A string is its UTF-8`() throws {
        #expect(written { $0.write("é€😀") } == "a9c3a9e282acf09f9880")
        #expect(try read("a9c3a9e282acf09f9880") { try $0.readString() } == "é€😀")
    }

    @Test(arguments: [(0, "c400"), (255, "c4ff"), (256, "c50100"), (65535, "c5ffff"), (65536, "c600010000")])
    func `Binary data has its smallest header`(count: Int, header: String) throws {
        let content = [UInt8](repeating: 7, count: count)
        let bytes = header + String(repeating: "07", count: count)
        #expect(written { $0.writeBinary(content) } == bytes)
        #expect(written { $0.writeBinary(content.reversed()) } == bytes)
        #expect(try read(bytes) { try $0.readBinary() } == content)
        #expect(try read(bytes) { try $0.readValue() } == .binary(content))
    }

    @Test(arguments: [(0, "90"), (15, "9f"), (16, "dc0010"), (65535, "dcffff"), (65536, "dd00010000")])
    func `An array has its smallest header`(count: Int, header: String) throws {
        let bytes = header + String(repeating: "c0", count: count)
        #expect(written { $0.writeArrayHeader(count) } == header)
        var reader = MessagePackReader(hex(bytes))
        #expect(try reader.readArrayHeader() == count)
        #expect(try read(bytes) { try $0.readValue() } == .array(Array(repeating: .nil, count: count)))
        try read(bytes) { try $0.skip() }
    }

    @Test(arguments: [(0, "80"), (15, "8f"), (16, "de0010"), (65535, "deffff"), (65536, "df00010000")])
    func `A map has its smallest header`(count: Int, header: String) throws {
        let bytes = header + String(repeating: "01c0", count: count)
        #expect(written { $0.writeMapHeader(count) } == header)
        var reader = MessagePackReader(hex(bytes))
        #expect(try reader.readMapHeader() == count)
        #expect(try read(bytes) { try $0.readValue() } == .map(Array(repeating: MessagePackPair(1, nil), count: count)))
        try read(bytes) { try $0.skip() }
    }

    @Test(arguments: [
        (0, "c70005"), (1, "d405"), (2, "d505"), (3, "c70305"), (4, "d605"), (8, "d705"), (16, "d805"), (17, "c71105"),
        (255, "c7ff05"), (256, "c8010005"), (65535, "c8ffff05"), (65536, "c90001000005"),
    ])
    func `An extension has its smallest header`(count: Int, header: String) throws {
        let content = [UInt8](repeating: 9, count: count)
        let bytes = header + String(repeating: "09", count: count)
        #expect(written { $0.writeExtension(type: 5, content) } == bytes)
        let read = try read(bytes) { try $0.readExtension() }
        #expect(read.type == 5)
        #expect(read.bytes == content)
    }

    @Test(arguments: [
        (0, 0, "d6ff00000000"), (4_294_967_295, 0, "d6ffffffffff"), (4_294_967_296, 0, "d7ff0000000100000000"),
        (1, 999_999_999, "d7ffee6b27fc00000001"), (17_179_869_183, 1, "d7ff00000007ffffffff"),
        (17_179_869_184, 0, "c70cff000000000000000400000000"), (-1, 5, "c70cff00000005ffffffffffffffff"),
    ])
    func `A timestamp is read in each of its widths`(seconds: Int64, nanoseconds: UInt32, bytes: String) throws {
        let read = try read(bytes) { try $0.readTimestamp() }
        #expect(read.seconds == seconds)
        #expect(read.nanoseconds == nanoseconds)
    }

    @Test func `Nanoseconds of a whole second are refused`() throws {
        #expect(throws: MessagePackError(.invalidValue, "a timestamp with 1000000000 nanoseconds", offset: 0)) {
            try read("c70cff3b9aca000000000000000001") { try $0.readTimestamp() }
        }
    }

    @Test func `A value of every type survives`() throws {
        let value: MessagePackValue = [
            "a": [nil, true, 1, -1, 1.5, "x"], 2: .binary([1, 2]), "e": .extension(type: 3, bytes: [4]), "f": .float(0.5),
            "u": .uint(.max), [1]: [:],
        ]
        var writer = MessagePackWriter()
        writer.write(value)
        var reader = MessagePackReader(writer.bytes)
        #expect(try reader.readRaw() == writer.bytes[...])
        reader = MessagePackReader(writer.bytes)
        #expect(try reader.readValue() == value)
        #expect(reader.isAtEnd)
        #expect(value["u"] == .uint(.max))
    }
}
