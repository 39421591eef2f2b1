import MessagePack
import Testing

@Suite struct CodableTests {
    let encoder = MessagePackEncoder()
    let decoder = MessagePackDecoder()

    @Test func `A struct is a map of its fields in their order`() throws {
        let bytes = try encoder.encode(Seed(root: "/", minimumSize: 5))
        #expect(bytes == hex("82a4726f6f74a12fab6d696e696d756d53697a6505"))
        #expect(try decoder.decode(Seed.self, from: bytes) == Seed(root: "/", minimumSize: 5))
    }

    @Test func `An enum is a map from its case to the map of its values`() throws {
        let bytes = try encoder.encode(Message.asked(3))
        #expect(hex(bytes) == "81a561736b656481a25f3003")
        #expect(try hex(encoder.encode(Input.increment)) == "81" + "a9696e6372656d656e74" + "80")
    }

    @Test(arguments: [
        Message.tick, .asked(.min), .add(url: "", tags: []), .probed(isUp: false, milliseconds: nil),
        .both(.both(.tick, .asked(1)), .probed(isUp: true, milliseconds: 1)),
    ])
    func `an enum survives`(message: Message) throws {
        #expect(try decoder.decode(Message.self, from: encoder.encode(message)) == message)
    }

    @Test func `A value of everything survives, plain and canonical, strict and lenient`() throws {
        for encoder in [MessagePackEncoder(), MessagePackEncoder(canonical: true)] {
            for decoder in [MessagePackDecoder(), MessagePackDecoder(lenient: true)] {
                #expect(try decoder.decode(Box.self, from: encoder.encode(fullBox)) == fullBox)
                #expect(try decoder.decode(Box.self, from: encoder.encode(Box())) == Box())
            }
        }
    }

    @Test func `Scalars, optionals and arrays stand alone`() throws {
        #expect(try encoder.encode(5) == [5])
        #expect(try encoder.encode(Int?.none) == [0xc0])
        #expect(try encoder.encode([nil, 1] as [Int?]) == hex("92c001"))
        #expect(try decoder.decode(Int?.self, from: [0xc0]) == nil)
        #expect(try decoder.decode([Int?].self, from: hex("92c001")) == [nil, 1])
        #expect(try decoder.decode(String.self, from: hex("a178")) == "x")
        #expect(try decoder.decode(UInt8.self, from: hex("ccff")[...]) == 255)
        #expect(try decoder.decode([Int8].self, from: AnyCollection(hex("91ff"))) == [-1])
        #expect(try encoder.encode([Int16](0..<20)).prefix(3) == hex("dc0014")[...])
    }

    @Test func `Bytes are binary data, and are read from an array too`() throws {
        #expect(try hex(encoder.encode([1, 255] as [UInt8])) == "c40201ff")
        #expect(try decoder.decode([UInt8].self, from: hex("c40201ff")) == [1, 255])
        #expect(try decoder.decode([UInt8].self, from: hex("9201ccff")) == [1, 255])
    }

    @Test func `A dictionary whose keys are strings or integers is a map`() throws {
        #expect(try hex(encoder.encode([-1: true])) == "81ffc3")
        #expect(try hex(encoder.encode([Color.red: 1])) == "81a372656401")
        #expect(try hex(encoder.encode([Position(x: 1, y: 2): 3])) == "9292010203")
        #expect(try hex(encoder.encode([Position: Int]())) == "80")
    }

    @Test func `A dictionary is read from a map or from keys and values in turn`() throws {
        for bytes in ["8201a161" + "02a162", "9401a161" + "02a162", "82a131a161" + "a132a162"] {
            #expect(try decoder.decode([Int: String].self, from: hex(bytes)) == [1: "a", 2: "b"])
        }
        #expect(throws: DecodingError.self) { try decoder.decode([Int: Int].self, from: hex("93010203")) }
    }

    @Test func `A key that occurs twice in a dictionary is an error`() {
        #expect(throws: DecodingError.self) { try decoder.decode([Int: Int].self, from: hex("8201010102")) }
    }

    @Test func `Of equal fields one counts, which is the first as long as fields come in order`() throws {
        struct Two: Codable, Equatable { var a: Int, b: Int }
        for bytes in ["83a16101a16202a16103", "83a16202a16101a16103", "83a16101a16103a16202"] {
            #expect(try decoder.decode(Two.self, from: hex(bytes)) == Two(a: 1, b: 2))
        }
        // Read out of order, a look-up begins behind the field that was read last.
        #expect(try decoder.decode(Two.self, from: hex("83a16202a16101a16203")) == Two(a: 1, b: 3))
    }

    @Test func `Fields are found in any order, among others and by integer keys`() throws {
        enum Keys: String, CodingKey { case one = "1", name }
        struct Odd: Decodable {
            var one: Int, name: String
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                one = try container.decode(Int.self, forKey: .one)
                name = try container.decode(String.self, forKey: .name)
            }
        }
        let bytes = hex("84a1789181a17a01a46e616d65a162c0c00107")
        let odd = try decoder.decode(Odd.self, from: bytes)
        #expect(odd.one == 7)
        #expect(odd.name == "b")
    }

    @Test func `Containers nested by hand may be filled in any order`() throws {
        for encoder in [MessagePackEncoder(), MessagePackEncoder(canonical: true)] {
            let bytes = try encoder.encode(Interleaved())
            #expect(hex(bytes) == "83a161920102a16281a16303a17304")
            #expect(try decoder.decode(Interleaved.self, from: bytes).sum == 10)
        }
    }

    @Test func `A superclass is under its own key`() throws {
        let bytes = try encoder.encode(Derived())
        #expect(hex(bytes) == "82a16e02a5737570657281a16201")
        let derived = try decoder.decode(Derived.self, from: bytes)
        #expect(derived.base == 1)
        #expect(derived.own == 2)
    }

    @Test func `A superclass is no unknown field, and a field beside it still is`() throws {
        let lenient = MessagePackDecoder(lenient: true)
        let derived = try lenient.decode(Derived.self, from: hex("82a16e05a5737570657281a16206"))
        #expect(derived.base == 6)
        #expect(derived.own == 5)
        #expect(throws: DecodingError.self) {
            try lenient.decode(Derived.self, from: hex("83a16e05a5737570657281a16206a17801"))
        }
    }

    @Test func `What a failed element has written is taken back`() throws {
        struct Partial: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode([1])
                #expect(throws: Failure.self) { try container.encode([Failing()]) }
                try container.encode([2])
            }
        }
        #expect(try hex(encoder.encode(Partial())) == "9291019102")
        var writer = MessagePackWriter()
        writer.write(1)
        #expect(throws: Failure.self) { try encoder.encode([Failing()], into: &writer) }
        #expect(writer.bytes == [1])
    }

    @Test func `A value that encodes nothing is an empty map`() throws {
        struct Nothing: Codable {}
        struct Silent: Encodable { func encode(to encoder: any Encoder) {} }
        #expect(try encoder.encode(Nothing()) == [0x80])
        #expect(try encoder.encode(Silent()) == [0x80])
        _ = try decoder.decode(Nothing.self, from: [0x80])
    }

    @Test func `Containers that exclude each other are an error`() {
        struct Confused: Encodable {
            func encode(to encoder: any Encoder) throws {
                var array = encoder.unkeyedContainer()
                try array.encode(1)
                _ = encoder.container(keyedBy: Input.CodingKeysForTests.self)
            }
        }
        #expect(throws: EncodingError.self) { try encoder.encode(Confused()) }
    }

    @Test func `One value must fill the bytes`() {
        #expect(throws: MessagePackError(.trailingBytes, "2 bytes follow the value", offset: 1)) {
            try decoder.decode(Int.self, from: hex("01c0c0"))
        }
    }

    @Test func `What is passed over is still checked`() {
        #expect(throws: MessagePackError.self) { try decoder.decode(Seed.self, from: hex("82a4726f6f74a12fa178c1")) }
        #expect(throws: (any Error).self) { try decoder.decode(Seed.self, from: hex("82a4726f6f74a12fa178")) }
    }

    @Test func `Encoder and decoder have the same depth limit`() throws {
        func tree(_ depth: Int) -> Tree { depth == 1 ? Tree() : Tree([tree(depth - 1)]) }
        for limit in [1, 5, 64, MessagePackLimits.largestDepth] {
            let limits = MessagePackLimits(maximumDepth: limit)
            let bytes = try MessagePackEncoder(limits: limits).encode(tree(limit))
            #expect(try MessagePackDecoder(limits: limits).decode(Tree.self, from: bytes) == tree(limit))
            let deeper = [0x91] + bytes
            #expect { try MessagePackDecoder(limits: limits).decode(Tree.self, from: deeper) } throws: {
                ($0 as? MessagePackError)?.code == .tooDeep
            }
            #expect { try MessagePackEncoder(limits: limits).encode(tree(limit + 1)) } throws: {
                ($0 as? MessagePackError)?.code == .tooDeep
            }
        }
    }

    @Test(arguments: [false, true])
    func `What is too deep is named by its path, also inside of dictionaries`(isCanonical: Bool) {
        let encoder = MessagePackEncoder(canonical: isCanonical, limits: MessagePackLimits(maximumDepth: 2))
        func error(_ value: some Encodable) -> String? {
            #expect(throws: MessagePackError.self) { try encoder.encode(value) }?.message
        }
        #expect(error(["a": ["b": [1]]]) == "a.b is nested deeper than the limit of 2")
        #expect(error([["a": [1]]]) == "[0].a is nested deeper than the limit of 2")
        #expect(error([7: ["b": [1]]]) == "7.b is nested deeper than the limit of 2")
    }

    @Test func `A type which decodes itself without end is an error`() {
        struct Endless: Codable {
            init(from decoder: any Decoder) throws { self = try decoder.singleValueContainer().decode(Endless.self) }
            init() {}
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
        #expect(throws: MessagePackError.self) { try decoder.decode(Endless.self, from: [1]) }
        #expect(throws: MessagePackError.self) { try encoder.encode(Endless()) }
    }

    @Test func `A type which reads itself must read one whole value`() {
        struct Greedy: Codable, MessagePackable {
            func write(to writer: inout MessagePackWriter) { writer.write(1) }
            init(from reader: inout MessagePackReader) throws(MessagePackError) {
                try reader.skip()
                if !reader.isAtEnd { try reader.skip() }
            }
        }
        #expect(throws: DecodingError.self) { try decoder.decode([Greedy].self, from: hex("920102")) }
    }
}

extension Input {
    enum CodingKeysForTests: CodingKey { case a }
}

private struct Failure: Error {}

private struct Failing: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(7)
        throw Failure()
    }
}

private struct Interleaved: Codable {
    enum Keys: CodingKey { case a, b, c, s }
    var sum = 0

    init() {}

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var a = container.nestedUnkeyedContainer(forKey: .a)
        try a.encode(1)
        var b = container.nestedContainer(keyedBy: Keys.self, forKey: .b)
        try container.encode(4, forKey: .s)
        try b.encode(3, forKey: .c)
        try a.encode(2)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        var a = try container.nestedUnkeyedContainer(forKey: .a)
        let b = try container.nestedContainer(keyedBy: Keys.self, forKey: .b)
        sum = try a.decode(Int.self)
        sum += try container.decode(Int.self, forKey: .s)
        sum += try a.decode(Int.self) + b.decode(Int.self, forKey: .c)
    }
}

private class Base: Codable {
    enum Keys: CodingKey { case b }
    var base = 1

    init() {}
    required init(from decoder: any Decoder) throws {
        base = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .b)
    }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(base, forKey: .b)
    }
}

private final class Derived: Base {
    enum OwnKeys: CodingKey { case n }
    var own = 2

    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: OwnKeys.self)
        own = try container.decode(Int.self, forKey: .n)
        try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: OwnKeys.self)
        try container.encode(own, forKey: .n)
        try super.encode(to: container.superEncoder())
    }
}
