import MessagePack
import Testing

/// What JSON becomes that was transcoded without knowing the types it is meant for.
@Suite struct LenientTests {
    let decoder = MessagePackDecoder(lenient: true)
    let strict = MessagePackDecoder()

    @Test func `An integer is accepted for a float`() throws {
        #expect(try decoder.decode(Double.self, from: [5]) == 5)
        #expect(try decoder.decode([Double].self, from: hex("92ffcfffffffffffffffff")) == [-1, 0x1p64])
        #expect(try decoder.decode(Float.self, from: [5]) == 5)
        #expect(try decoder.decode(Float.self, from: hex("cb3fb999999999999a")) == 0.1)
        #expect(throws: DecodingError.self) { try strict.decode(Double.self, from: [5]) }
        #expect(throws: DecodingError.self) { try strict.decode(Float.self, from: [5]) }
    }

    @Test func `A float with an integral value is accepted for an integer`() throws {
        let values: [(Double, Int?)] = [
            (5, 5), (-0.0, 0), (-0x1p63, .min), (0x1p62, 1 << 62), (0x1p63, nil), (1.5, nil), (.nan, nil), (.infinity, nil),
            (-.infinity, nil), (1e300, nil), (-0x1.8p63, nil),
        ]
        for (value, expected) in values {
            let bytes = try MessagePackEncoder().encode(value)
            if let expected {
                #expect(try decoder.decode(Int.self, from: bytes) == expected)
            } else {
                #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: bytes) }
            }
            #expect(throws: DecodingError.self) { try strict.decode(Int.self, from: bytes) }
        }
        #expect(try decoder.decode(UInt64.self, from: MessagePackEncoder().encode(0x1p63)) == 1 << 63)
        #expect(throws: DecodingError.self) { try decoder.decode(UInt8.self, from: MessagePackEncoder().encode(256.0)) }
    }

    @Test(
        arguments: [
            ("", []), ("AA==", [0]), ("AQI=", [1, 2]), ("AQID", [1, 2, 3]), ("+/+/", [251, 255, 191]), ("AQIDBA==", [1, 2, 3, 4]),
        ] as [(String, [UInt8])])
    func `Base64 text is accepted for bytes`(text: String, bytes: [UInt8]) throws {
        let encoded = try MessagePackEncoder().encode(text)
        #expect(try decoder.decode([UInt8].self, from: encoded) == bytes)
        #expect(throws: DecodingError.self) { try strict.decode([UInt8].self, from: encoded) }
    }

    @Test(arguments: ["A", "AA", "AAA", "A===", "====", "AB==", "AAB=", "AA=A", "AQI=AQI=", "A Q=", "-_-_", "é=="])
    func `Text which is not exactly base64 is refused`(text: String) throws {
        let encoded = try MessagePackEncoder().encode(text)
        #expect(throws: DecodingError.self) { try decoder.decode([UInt8].self, from: encoded) }
    }

    @Test func `A bare word is a case without values`() throws {
        #expect(try decoder.decode(Input.self, from: MessagePackEncoder().encode("decrement")) == .decrement)
        #expect(try decoder.decode([Message].self, from: hex("92a47469636b81a561736b656481a25f3003")) == [.tick, .asked(3)])
        #expect(try decoder.decode(Message?.self, from: hex("a47469636b")) == .tick)
        #expect(try decoder.decode(Color.self, from: hex("a3726564")) == .red)
        #expect(throws: DecodingError.self) { try strict.decode(Input.self, from: MessagePackEncoder().encode("decrement")) }
        #expect(throws: DecodingError.self) { try decoder.decode(Seed.self, from: hex("a4726f6f74")) }
    }

    @Test func `A field which the type does not have is an error`() throws {
        let bytes = hex("82a4726f6f74a12fa161c0")
        #expect(throws: DecodingError.self) { try decoder.decode(Seed.self, from: bytes) }
        #expect(try strict.decode(Seed.self, from: bytes) == Seed(root: "/", minimumSize: nil))
    }

    @Test func `A type that asks for the keys of two types may have the fields of both`() throws {
        struct Both: Decodable {
            enum One: CodingKey { case a }
            enum Two: CodingKey { case b }
            init(from decoder: any Decoder) throws {
                _ = try decoder.container(keyedBy: One.self)
                _ = try decoder.container(keyedBy: Two.self)
            }
        }
        _ = try decoder.decode(Both.self, from: hex("82a16101a16202"))
        #expect(throws: DecodingError.self) { try decoder.decode(Both.self, from: hex("82a16101a16302")) }
    }

    @Test func `A dictionary has any keys`() throws {
        #expect(try decoder.decode([String: Int].self, from: hex("81a17801")) == ["x": 1])
        #expect(try decoder.decode([Int: Int].self, from: hex("81a3323530" + "01")) == [250: 1])
        #expect(try decoder.decode([Color: Int].self, from: hex("81a3726564" + "01")) == [.red: 1])
    }
}
