import MessagePack
import Testing

/// Values that are written into room made for all of them have the bytes that each has by itself.
@Suite struct ShortWriterTests {
    @Test(arguments: [
        0, 1, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, Int64.max, -1, -32, -33, -128, -129, -32_768,
        -32_769,
        -2_147_483_648, -2_147_483_649, Int64.min,
    ])
    func `An integer has its smallest format`(value: Int64) {
        #expect(written { $0.writeShort(1) { $0.write(value) } } == written { $0.write(value) })
        #expect(written { $0.writeShort(1) { $0.write(Int(value)) } } == written { $0.write(Int(value)) })
        let bits = UInt64(bitPattern: value)
        #expect(written { $0.writeShort(1) { $0.write(bits) } } == written { $0.write(bits) })
    }

    @Test(arguments: [0, 1, 31, 32, 255, 256, 65_535, 65_536])
    func `Binary data has its smallest format`(count: Int) {
        let bytes = [UInt8](repeating: 7, count: count)
        let short = written { writer in
            bytes.withUnsafeBytes { bytes in writer.writeShort(1, bytes: bytes.count) { $0.writeBinary(bytes) } }
        }
        #expect(short == written { $0.writeBinary(bytes) })
    }

    @Test func `Values follow what was written before, and each other`() {
        let short = written { writer in
            writer.write("before")
            writer.writeShort(6) {
                $0.writeArrayHeader(4)
                $0.writeNil()
                $0.write(true)
                $0.write(false)
                $0.write(Int64.min)
            }
            writer.write("after")
        }
        let each = written { writer in
            writer.write("before")
            writer.writeArrayHeader(4)
            writer.writeNil()
            writer.write(true)
            writer.write(false)
            writer.write(Int64.min)
            writer.write("after")
        }
        #expect(short == each)
    }

    @Test func `A thousand values need room for no more than those that were announced`() {
        let short = written { writer in
            writer.writeShort(1_000) { values in
                for _ in 0..<1_000 { values.write(UInt64.max) }
            }
        }
        #expect(short == written { writer in for _ in 0..<1_000 { writer.write(UInt64.max) } })
    }

    @Test func `More than there is room for ends the process`() async {
        await #expect(processExitsWith: .failure) {
            var writer = MessagePackWriter()
            writer.writeShort(1) { values in
                for _ in 0..<100_000 { values.write(UInt64.max) }
            }
        }
    }
}
