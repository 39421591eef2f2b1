import SamovarCore
import Testing

/// The vectors of the authors' reference implementation: key 00 01 … 0f, messages of 0, 1, 2 … bytes 00 01 02 ….
/// https://github.com/veorq/SipHash/blob/master/vectors.h
@Suite struct KeyedHashTests {
    static let vectors: [UInt64] = [
        0x726f_db47_dd0e_0e31, 0x74f8_39c5_93dc_67fd, 0x0d6c_8009_d9a9_4f5a, 0x8567_6696_d7fb_7e2d,
        0xcf27_94e0_2771_87b7, 0x1876_5564_cd99_a68d, 0xcbc9_466e_58fe_e3ce, 0xab02_00f5_8b01_d137,
        0x93f5_f579_9a93_2462, 0x9e00_82df_0ba9_e4b0, 0x7a5d_bbc5_94dd_b9f3, 0xf4b3_2f46_226b_ada7,
        0x751e_8fbc_860e_e5fb, 0x14ea_5627_c084_3d90, 0xf723_ca90_8e7a_f2ee, 0xa129_ca61_49be_45e5,
    ]

    @Test(arguments: vectors.indices)
    func `Agrees with the published vectors`(_ count: Int) {
        var hash = KeyedHash(secret)
        for byte in 0..<UInt8(count) { hash.combine(byte) }
        #expect(hash.finish() == Self.vectors[count])
    }

    @Test func `A word is its eight bytes lowest first at any offset`() {
        for offset in 0..<8 {
            var words = KeyedHash(secret)
            var bytes = KeyedHash(secret)
            for byte in 0..<UInt8(offset) {
                words.combine(byte)
                bytes.combine(byte)
            }
            words.combine(0x8877_6655_4433_2211 as UInt64)
            for byte: UInt8 in [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88] { bytes.combine(byte) }
            words.combine(0xff as UInt8)
            bytes.combine(0xff as UInt8)
            #expect(words.finish() == bytes.finish())
        }
    }

    @Test func `Bytes that are added together are those that are added one by one, at any offset`() {
        let bytes = (0..<40).map { UInt8($0) }
        for offset in 0..<9 {
            for count in 0...30 {
                var together = KeyedHash(secret)
                var single = KeyedHash(secret)
                for byte in bytes[..<offset] {
                    together.combine(byte)
                    single.combine(byte)
                }
                bytes[offset..<offset + count].withUnsafeBytes { together.combine($0) }
                for byte in bytes[offset..<offset + count] { single.combine(byte) }
                together.combine(0xff as UInt8)
                single.combine(0xff as UInt8)
                #expect(together.finish() == single.finish(), "\(count) bytes after \(offset)")
            }
        }
    }

    @Test func `Bytes give the same hash however they are stored`() {
        let bytes = (0..<100).map { UInt8($0) }
        for count in 0...100 {
            var contiguous = KeyedHash(secret)
            var lazy = KeyedHash(secret)
            contiguous.combine(Array(bytes.prefix(count)))
            lazy.combine(bytes.prefix(count).reversed().reversed().lazy.map { $0 })
            #expect(contiguous.finish() == lazy.finish())
        }
    }

    @Test func `Neighbouring sequences are not mistaken for one`() {
        func hash(_ parts: [UInt8]...) -> UInt64 {
            var hash = KeyedHash(secret)
            for part in parts { hash.combine(part) }
            return hash.finish()
        }
        #expect(hash([1, 2], [3]) != hash([1], [2, 3]))
        #expect(hash([1, 2, 3]) != hash([1, 2, 3], []))
    }
}
