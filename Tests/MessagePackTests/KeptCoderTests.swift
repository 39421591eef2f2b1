import Testing

@testable import MessagePack

// Serialized: the values of two tests know of each other.

/// What no type should do, and what must do no harm: to keep coders and containers beyond the value that they were given to.
@Suite(.serialized) struct KeptCoderTests {
    private static func codec<Value: Codable>(_ type: Value.Type) -> ValueCodec<Value> {
        ValueCodec(MessagePackEncoder(canonical: true), MessagePackDecoder(lenient: true))
    }

    private enum Key: String, CodingKey { case name, list, inner, `super` }
    private struct Refusal: Error {}

    /// Keeps whatever it gets, and uses it again when the next one is coded.
    private final class Hoarder: Codable {
        /// What the newest one has kept.
        nonisolated(unsafe) static var newest: Hoarder?

        let name: String
        let refuses: Bool
        var encoders: [any Encoder] = []
        var encodings: [KeyedEncodingContainer<Key>] = []
        var elements: [any UnkeyedEncodingContainer] = []
        /// Of nodes made after the value was encoded.
        var late: [KeyedEncodingContainer<Key>] = []
        var decoders: [any Decoder] = []
        var decodings: [KeyedDecodingContainer<Key>] = []

        init(_ name: String, refuses: Bool = false) {
            self.name = name
            self.refuses = refuses
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            name = try container.decode(String.self, forKey: .name)
            refuses = name == "refused"
            let inner = try container.nestedContainer(keyedBy: Key.self, forKey: .inner)
            decoders = [decoder, try container.superDecoder(), try inner.superDecoder()]
            decodings = [container, inner]
            try Self.newest?.useDecoding()
            Self.newest = self
            if refuses { throw Refusal() }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(name, forKey: .name)
            var inner = container.nestedContainer(keyedBy: Key.self, forKey: .inner)
            try inner.encode(name, forKey: .name)
            let innerSuper = inner.superEncoder()
            let list = container.nestedUnkeyedContainer(forKey: .list)
            let superEncoder = container.superEncoder()
            encoders = [encoder, superEncoder, innerSuper]
            encodings = [container, inner]
            elements = [list]
            try Self.newest?.useEncoding()
            Self.newest = self
            if refuses { throw Refusal() }
        }

        func useEncoding() throws {
            for var container in late { try container.encode(["very": "late"], forKey: .name) }
            late = []
            for var container in encodings {
                try container.encode(["late": "field"], forKey: .name)
                try use(container)
            }
            for var element in elements {
                try element.encode(["late": "element"])
                try use(element.nestedContainer(keyedBy: Key.self))
                #expect(element.superEncoder().codingPath.count >= 2)
            }
            for encoder in encoders { try use(encoder.container(keyedBy: Key.self)) }
        }

        /// Uses what is made so late, keeps only the last of it, and lets go of what it belongs to.
        private func use(_ container: KeyedEncodingContainer<Key>) throws {
            var container = container
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .inner)
            for _ in 1...12 { nested = nested.nestedContainer(keyedBy: Key.self, forKey: .inner) }
            try nested.encode([["late": ["nested": "field"]]], forKey: .list)
            #expect(nested.codingPath.count >= 13)
            late.append(nested)
        }

        func useDecoding() throws {
            for container in decodings {
                #expect(try container.decode(String.self, forKey: .name) == name)
                #expect(container.allKeys.contains(.inner) == container.contains(.inner))
            }
            for decoder in decoders {
                let container = try decoder.container(keyedBy: Key.self)
                guard container.contains(.inner) else { continue }
                for _ in 1...12 {
                    let inner = try container.nestedContainer(keyedBy: Key.self, forKey: .inner)
                    #expect(inner.codingPath.last?.stringValue == "inner")
                    #expect(try inner.decode(String.self, forKey: .name) == name)
                    #expect(try inner.decode([String: String].self, forKey: .super).isEmpty)
                    if decodings.count < 16 { decodings.append(inner) }
                }
            }
        }

    }

    @Test func `Coders and containers may be used in the next value, after the call, and when the codec is gone`() throws {
        var hoarders = (0..<6).map { Hoarder("number \($0)") }
        var decoded: [Hoarder] = []
        do {
            let codec = Self.codec([Hoarder].self)
            for _ in 1...3 {
                Hoarder.newest = nil
                let bytes = try codec.encode(hoarders)
                let plain = try MessagePackDecoder().decode([[String: Anything]].self, from: bytes)
                #expect(plain.map { $0.keys.sorted() } == hoarders.map { _ in ["inner", "list", "name", "super"] })
                Hoarder.newest = nil
                for hoarder in try codec.decode(bytes) {
                    #expect(hoarder.name.hasPrefix("number"))
                    // The codec has let go of the bytes.
                    #expect(throws: MessagePackError.self) { try hoarder.useDecoding() }
                }
                Hoarder.newest = nil
                decoded = try MessagePackDecoder().decode([Hoarder].self, from: bytes)
            }
        }
        Hoarder.newest = nil
        for _ in 1...2 {
            for hoarder in hoarders { try hoarder.useEncoding() }
            hoarders.removeFirst(3)
            for hoarder in decoded { try hoarder.useDecoding() }
            decoded.removeFirst(3)
        }
    }

    /// Anything at all, passed over.
    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }

    @Test func `What a value has kept that failed may be used, too`() throws {
        let refused = [Hoarder("first"), Hoarder("refused", refuses: true)]
        let codec = Self.codec([Hoarder].self)
        for _ in 1...3 {
            Hoarder.newest = nil
            #expect(throws: Refusal.self) { try codec.encode(refused) }
            for hoarder in refused { try hoarder.useEncoding() }
            Hoarder.newest = nil
            let bytes = try codec.encode([Hoarder("fine")])
            Hoarder.newest = nil
            #expect(try codec.decode(bytes).first?.name == "fine")
        }
        Hoarder.newest = nil
    }

    /// A level of a value for each level of nesting, all with the same type of keys.
    private final class Deep: Codable {
        let number: Int
        let below: Deep?

        init(_ depth: Int) {
            number = depth
            below = depth > 1 ? Deep(depth - 1) : nil
        }

        var depth: Int { 1 + (below?.depth ?? 0) }
    }

    @Test(arguments: [1, 15, 16, 17, 40])
    func `Containers of one type may be inside each other`(_ depth: Int) throws {
        let codec = Self.codec(Deep.self)
        for _ in 1...3 {
            let bytes = try codec.encode(Deep(depth))
            #expect(try bytes == MessagePackEncoder(canonical: true).encode(Deep(depth)))
            #expect(try codec.decode(bytes).depth == depth)
        }
    }

    /// A type of keys for each two marks.
    private struct Marked<First, Second>: Codable, Equatable {
        var number = 7
        var inner: [Marked<Second, First>] = []
    }

    private protocol Mark: SendableMetatype {}
    private enum Marks<A>: Mark {}

    /// Values of so many types that they share their places.
    private struct Crowd: Codable {
        static let marks: [any Mark.Type] = [
            Marks<Int>.self, Marks<Int8>.self, Marks<Int16>.self, Marks<Int32>.self, Marks<Int64>.self, Marks<UInt>.self,
            Marks<UInt8>.self, Marks<UInt16>.self, Marks<UInt32>.self, Marks<UInt64>.self, Marks<Bool>.self, Marks<String>.self,
        ]

        init() {}

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            func check<A: Mark, B: Mark>(_ first: A.Type, _ second: B.Type) throws {
                #expect(try list.decode(Marked<A, B>.self) == Marked(inner: [Marked(), Marked()]))
            }
            for first in Self.marks { for second in Self.marks { try check(first, second) } }
        }

        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            func encode<A: Mark, B: Mark>(_ first: A.Type, _ second: B.Type) throws {
                try list.encode(Marked<A, B>(inner: [Marked(), Marked()]))
            }
            for first in Self.marks { for second in Self.marks { try encode(first, second) } }
        }
    }

    @Test func `More types of keys than there are places for them`() throws {
        let codec = Self.codec(Crowd.self)
        for _ in 1...3 {
            let bytes = try codec.encode(Crowd())
            #expect(try bytes == MessagePackEncoder(canonical: true).encode(Crowd()))
            _ = try codec.decode(bytes)
        }
    }

    /// Reads some fields of a map inside a map, or a part of a list.
    private struct Glance: Decodable, Equatable {
        enum Key: String, CodingKey { case a, b, c, list }

        let found: [Int]

        init(_ found: [Int]) { self.found = found }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            if container.contains(.list) {
                var list = try container.nestedUnkeyedContainer(forKey: .list)
                found = try (1...2).map { _ in try list.decode(Int.self) }
            } else if container.contains(.a) {
                _ = try container.superDecoder(forKey: .a)
                let fields = try container.nestedContainer(keyedBy: Key.self, forKey: .a)
                found = try [Key.a, .c, .b].compactMap { try fields.decodeIfPresent(Int.self, forKey: $0) }
            } else {
                found = []
            }
        }
    }

    @Test func `What follows is read, whatever was left out of what is inside`() throws {
        let cases: [(bytes: String, found: [Int])] = [
            ("81a16180", []), ("81a16181a16101", [1]), ("81a16182a16101a17892c001", [1]),
            ("81a16183a16303a16101a16202", [1, 3, 2]), ("81a16183a16101a17807a16202", [1, 2]), ("82a16181a16101a16291c0", [1]),
            ("82a17891c0a16181a16101", [1]), ("81a178c0", []), ("81a46c697374930102c0", [1, 2]), ("81a46c697374920102", [1, 2]),
            ("82a46c697374930102c0a16105", [1, 2]),
        ]
        for (bytes, found) in cases {
            let glances = try MessagePackDecoder().decode([Glance].self, from: hex("92" + bytes + bytes))
            #expect(glances == [Glance(found), Glance(found)], "\(bytes)")
            for end in 0..<(bytes.count / 2) {
                #expect(throws: (any Error).self) { try MessagePackDecoder().decode(Glance.self, from: hex(bytes).prefix(end)) }
            }
        }
    }

    /// Many words, which stand for maps of their own, between values that do not.
    private enum Word: Codable, Equatable {
        case none
        case some(number: Int)
        case list([Word])
    }

    @Test func `Bare words are read among other values`() throws {
        let codec = Self.codec([Word].self)
        var writer = MessagePackWriter()
        writer.writeArrayHeader(4)
        writer.write("none")
        writer.writeMapHeader(1)
        writer.write("some")
        writer.writeMapHeader(1)
        writer.write("number")
        writer.write(5)
        writer.writeMapHeader(1)
        writer.write("list")
        writer.writeMapHeader(1)
        writer.write("_0")
        writer.writeArrayHeader(2)
        for _ in 1...3 { writer.write("none") }
        let bytes = writer.bytes
        for _ in 1...3 {
            #expect(try codec.decode(bytes) == [.none, .some(number: 5), .list([.none, .none]), .none])
        }
        var wrong = bytes
        wrong[wrong.count - 1] = UInt8(ascii: "x")
        let error = #expect(throws: DecodingError.self) { try codec.decode(wrong) }
        let text = error.map { describe(decodingFailure: $0, of: [Word].self) } ?? ""
        #expect(text == #"unknown case "nonx" for Word at "[3]"; allowed: none, some, list"#)
    }
}
