import MessagePack
import Testing

/// A codec is used for all values of a type, so what it remembers of one must never show in another.
@Suite struct ValueCodecTests {
    private enum Step: Codable, Equatable {
        case by(amount: Int)
        case at(x: Int8, y: Float?)
        case named(String)
        case reset
    }

    private enum Bits: Codable, Equatable {
        case by(amount: Int)
        case at(x: Int8, y: Float?)
        case reset
    }

    private static let points = (0..<100).map { number -> Bits in
        let y = number % 3 == 0 ? nil : Float(number) / 2
        return .at(x: Int8(number), y: y)
    }

    private static func codec<Value: Codable>(_ type: Value.Type) -> ValueCodec<Value> {
        ValueCodec(MessagePackEncoder(canonical: true), MessagePackDecoder(lenient: true))
    }

    @Test func `A value is what its bytes say, however often and among whichever others they are decoded`() throws {
        let codec = Self.codec(Bits.self)
        var values: [Bits] = (0..<300).map { .by(amount: $0 * $0 * $0) }
        values += Self.points
        values.append(.reset)
        let encoded = try values.map { try codec.encode($0) }
        for round in 1...3 {
            for (value, bytes) in zip(values, encoded) {
                for _ in 1...round { #expect(try codec.decode(bytes) == value) }
            }
        }
    }

    @Test func `A value is encoded as ever, however often and among whichever others`() throws {
        let codec = Self.codec(Bits.self)
        let encoder = MessagePackEncoder(canonical: true)
        var values: [Bits] = (0..<100).map { .by(amount: $0 << ($0 % 60)) }
        values += Self.points
        values += [.at(x: 1, y: .nan), .at(x: 1, y: -0.0), .at(x: 1, y: 0), .reset]
        for round in 1...3 {
            for value in values {
                for _ in 1...round { #expect(try codec.encode(value) == encoder.encode(value)) }
            }
        }
    }

    @Test func `A type with references is encoded as ever, too`() throws {
        let codec = Self.codec(Step.self)
        var values: [Step] = (0..<40).map { .named(String(repeating: "é", count: $0)) } + (0..<40).map { .by(amount: $0) }
        values += values.reversed() + [.reset, .named("a"), .reset, .named("b")]
        for value in values {
            let expected = try MessagePackEncoder(canonical: true).encode(value)
            for _ in 1...2 { #expect(try codec.encode(value) == expected) }
        }
    }

    @Test func `Bytes are kept beside a value that still is what it was`() throws {
        let codec = Self.codec([String].self)
        for number in 0..<1_000 {
            // The memory of the one before is free, unless something holds it.
            let value = ["long enough for memory of its own", "\(number % 10)"]
            #expect(try codec.encode(value) == MessagePackEncoder(canonical: true).encode(value))
        }
    }

    private final class Tally: Codable {
        var count = 0
    }

    @Test func `An object is encoded as what it is now`() throws {
        let codec = Self.codec(Tally.self)
        let tally = Tally()
        for count in 1...3 {
            tally.count = count
            #expect(try codec.encode(tally) == MessagePackEncoder(canonical: true).encode(tally))
        }
    }

    private struct Tallies: Codable {
        let name: String
        let tally: Tally
    }

    @Test func `An object inside a value is encoded as what it is now`() throws {
        let codec = Self.codec(Tallies.self)
        let tallies = Tallies(name: "t", tally: Tally())
        for count in [0, 0, 0, 1, 1, 2, 0] {
            tallies.tally.count = count
            #expect(try codec.encode(tallies) == MessagePackEncoder(canonical: true).encode(tallies))
        }
    }

    private indirect enum Chain: Codable {
        case end
        case link(Int, Chain)
    }

    @Test func `A case in a box of its own is encoded as what it is, also when the box of another was in its place`() throws {
        let codec = Self.codec(Chain.self)
        for number in 0..<400 {
            let chain = Chain.link(number / 3 % 5, .link(number / 3 % 2, .end))
            #expect(try codec.encode(chain) == MessagePackEncoder(canonical: true).encode(chain))
        }
    }

    @Test func `What cannot be encoded is refused each time`() throws {
        struct Picky: Codable {
            struct No: Error {}
            let number: Int
            init(_ number: Int) { self.number = number }
            func encode(to encoder: any Encoder) throws {
                if number < 0 { throw No() }
                var container = encoder.singleValueContainer()
                try container.encode(number)
            }
        }
        let codec = Self.codec(Picky.self)
        for _ in 1...3 {
            #expect(try codec.encode(Picky(1)) == [1])
            #expect(throws: Picky.No.self) { try codec.encode(Picky(-1)) }
        }
    }

    /// A container for each pair: on one node, and each on a node of its own.
    private struct Wasteful: Codable {
        enum Key: CodingKey { case value }

        var count: Int
        var isNested: Bool

        init(_ count: Int, isNested: Bool) {
            self.count = count
            self.isNested = isNested
        }

        init(from decoder: any Decoder) throws {
            self.init(0, isNested: false)
            while count < 100_000, try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .value) == 1 { count += 1 }
        }

        func encode(to encoder: any Encoder) throws {
            if isNested {
                var list = encoder.unkeyedContainer()
                for _ in 0..<count {
                    var container = list.nestedContainer(keyedBy: Key.self)
                    try container.encode(1, forKey: .value)
                }
            } else {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .value)
                for _ in 0..<count { _ = encoder.container(keyedBy: Key.self) }
            }
        }
    }

    /// A list of them that is as long would be released by a recursion as deep.
    @Test func `A hundred thousand containers of one value are no more than that`() throws {
        let codec = Self.codec(Wasteful.self)
        for _ in 1...2 {
            let nested = try codec.encode(Wasteful(100_000, isNested: true))
            #expect(nested.count == 5 + 100_000 * 8)
            #expect(try codec.decode(codec.encode(Wasteful(100_000, isNested: false))).count == 100_000)
        }
    }

    /// What no type should do: it keeps the containers of its values.
    private final class Keeper: Codable {
        enum Key: CodingKey { case name }

        let name: String
        var encoding: KeyedEncodingContainer<Key>?
        let decoding: KeyedDecodingContainer<Key>?

        init(_ name: String) {
            self.name = name
            decoding = nil
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            name = try container.decode(String.self, forKey: .name)
            decoding = container
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(name, forKey: .name)
            encoding = container
        }
    }

    @Test func `A container that is kept beyond its value shows in no other`() throws {
        let codec = Self.codec([Keeper].self)
        let keepers = (0..<20).map { Keeper("keeper \($0)") }
        for _ in 1...3 {
            let bytes = try codec.encode(keepers)
            #expect(try bytes == MessagePackEncoder(canonical: true).encode(keepers.map { ["name": $0.name] }))
            for keeper in keepers { try keeper.encoding?.encode("another", forKey: .name) }
            let decoded = try codec.decode(bytes)
            #expect(decoded.map(\.name) == keepers.map(\.name))
        }
        let once = try MessagePackDecoder().decode([Keeper].self, from: codec.encode(keepers))
        #expect(try once.map { try $0.decoding?.decode(String.self, forKey: .name) } == keepers.map(\.name))
    }

    /// Values are looked for less often while none comes again.
    @Test func `Values that come again are what they are after many that did not`() throws {
        let numbers = Self.codec(Bits.self), names = Self.codec(Step.self)
        for round in 0..<3 {
            for amount in 0..<200 {
                let number = Bits.by(amount: 1000 * round + amount), name = Step.named("\(round) \(amount)")
                #expect(try numbers.decode(numbers.encode(number)) == number)
                #expect(try names.decode(names.encode(name)) == name)
            }
            for count in 0..<200 {
                let number = Bits.by(amount: count % 3), name = Step.named("\(count % 3)")
                #expect(try numbers.encode(number) == MessagePackEncoder(canonical: true).encode(number))
                #expect(try numbers.decode(numbers.encode(number)) == number)
                #expect(try names.encode(name) == MessagePackEncoder(canonical: true).encode(name))
                #expect(try names.decode(names.encode(name)) == name)
            }
        }
    }

    @Test func `A value with references is decoded each time`() throws {
        let codec = Self.codec(Step.self)
        for name in ["", "a", "b", String(repeating: "é", count: 100), "a", "b"] {
            #expect(try codec.decode(codec.encode(.named(name))) == .named(name))
        }
    }

    @Test func `Bytes that are nearly those of a value are refused after it, too`() throws {
        let codec = Self.codec(Bits.self)
        let bytes = try codec.encode(.by(amount: 7))
        for _ in 1...2 {
            #expect(try codec.decode(bytes) == .by(amount: 7))
            for index in bytes.indices.dropLast() {
                var damaged = bytes
                damaged[index] ^= 0x20
                #expect(throws: (any Error).self) { try codec.decode(damaged) }
            }
            #expect(throws: MessagePackError.self) { try codec.decode(bytes.dropLast()) }
            #expect(throws: MessagePackError.self) { try codec.decode(bytes + [0xc0]) }
            #expect(throws: MessagePackError.self) { try codec.decode([]) }
        }
    }

    @Test func `A field or a case that there is not is refused, whatever was met before`() throws {
        let codec = Self.codec(Bits.self)
        let encoder = MessagePackEncoder()
        for _ in 1...2 {
            #expect(try codec.decode(encoder.encode(["by": ["amount": 1]])) == .by(amount: 1))
            #expect(try codec.decode(encoder.encode("reset")) == .reset)
            #expect(throws: DecodingError.self) { try codec.decode(encoder.encode(["by": ["amounts": 1]])) }
            #expect(throws: DecodingError.self) { try codec.decode(encoder.encode(["by": ["amount": 1, "more": 2]])) }
            #expect(throws: DecodingError.self) { try codec.decode(encoder.encode(["amount": ["amount": 1]])) }
            #expect(throws: DecodingError.self) { try codec.decode(encoder.encode(["reset": ["amount": 1]])) }
            #expect(throws: DecodingError.self) { try codec.decode(encoder.encode("set")) }
        }
    }

    @Test(arguments: [0, 1, 60, 61, 62, 63, 64, 65, 500])
    func `A string of any length is UTF-8 or refused`(_ length: Int) throws {
        let text = String(repeating: "a", count: length)
        for end in ["", "é", "€", "👍"] {
            #expect(try MessagePackDecoder().decode(String.self, from: MessagePackEncoder().encode(text + end)) == text + end)
        }
        for end: [UInt8] in [[0x80], [0xc3], [0xff], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]] {
            let content = Array(text.utf8) + end
            let bytes = [0xda, UInt8(content.count >> 8), UInt8(content.count & 0xff)] + content
            #expect(throws: MessagePackError.self) { try MessagePackDecoder().decode(String.self, from: bytes) }
        }
    }
}
