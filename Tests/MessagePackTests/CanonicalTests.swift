import MessagePack
import Testing

@Suite struct CanonicalTests {
    let encoder = MessagePackEncoder(canonical: true)

    @Test func `Equal sets are equal bytes, however they were filled`() throws {
        let numbers = (0..<500).map { $0 * 7919 % 1000 - 300 }
        var forward = Set<Int>(), backward = Set<Int>(minimumCapacity: 4000)
        for number in numbers { forward.insert(number) }
        for number in numbers.reversed() { backward.insert(number) }
        #expect(Array(forward) != Array(backward))
        #expect(try encoder.encode(forward) == encoder.encode(backward))
        #expect(try MessagePackDecoder().decode(Set<Int>.self, from: encoder.encode(forward)) == forward)
    }

    @Test func `A set is sorted wherever it stands`() throws {
        struct Holder: Codable, Equatable { var some: Set<String>?, none: Set<String>?, list: [Set<Int>?] }
        let holder = Holder(some: ["c", "a", "b"], none: nil, list: [[3, 2, 1], nil])
        let bytes = try encoder.encode(holder)
        #expect(hex(bytes) == "82a46c6973749293010203c0a4736f6d6593a161a162a163")
        #expect(try MessagePackDecoder().decode(Holder.self, from: bytes) == holder)
        #expect(try hex(encoder.encode([Set([2, 1])] as [Set<Int>?])) == "91920102")
    }

    @Test func `Equal dictionaries are equal bytes, whatever their keys are`() throws {
        let numbers = Array(0..<300)
        try expectEqual(numbers.map { ("key \($0)", $0) })
        try expectEqual(numbers.map { ($0 - 100, $0) })
        try expectEqual(numbers.map { (Message.asked($0), [$0: Set($0..<$0 + 5)]) })
        try expectEqual(numbers.map { (Position(x: $0, y: -$0), $0) })
    }

    private func expectEqual<Key: Hashable & Codable, Value: Codable & Equatable>(_ pairs: [(Key, Value)]) throws {
        var forward: [Key: Value] = [:], backward = [Key: Value](minimumCapacity: 4000)
        for (key, value) in pairs { forward[key] = value }
        for (key, value) in pairs.reversed() { backward[key] = value }
        #expect(Array(forward.keys) != Array(backward.keys))
        #expect(try encoder.encode(forward) == encoder.encode(backward))
        #expect(try MessagePackDecoder().decode([Key: Value].self, from: encoder.encode(forward)) == forward)
    }

    @Test func `Keys and elements are in the order of their bytes`() throws {
        #expect(try hex(encoder.encode(Seed(root: "", minimumSize: 1))) == "82a4726f6f74a0ab6d696e696d756d53697a6501")
        #expect(try hex(encoder.encode([3: 1, -1: 2, 300: 3])) == "830301cd012c03ff02")
        #expect(try hex(encoder.encode(["b": 1, "a": 2, "aa": 3])) == "83a16102a16201a2616103")
        #expect(try hex(encoder.encode(Set([[2], [1, 1], []]))) == "93909102920101")
    }

    @Test func `An encoder of what is shown sorts dictionaries and sets, and leaves fields as they are declared`() throws {
        struct Shown: Codable { var zebra = ["b": 1, "a": 2, "c": 3], a = Set([3, 1, 2]) }
        let encoder = MessagePackEncoder(keepingFieldsInOrder: .default)
        #expect(
            try hex(encoder.encode(Shown())) == "82" + "a57a65627261" + "83a16102a16201a16303" + "a161" + "93010203")
        enum Case: Codable { case both(zebra: Int, a: Int) }
        #expect(try hex(encoder.encode(Case.both(zebra: 1, a: 2))) == "81a4626f7468" + "82a57a6562726101a16102")
    }

    @Test func `Arrays keep their order, and equal floats have equal bytes`() throws {
        #expect(try encoder.encode([3, 1, 2]) == hex("93030102"))
        #expect(try encoder.encode(-0.0) == encoder.encode(0.0))
        #expect(try encoder.encode([Float]([-0.0])) == encoder.encode([Float]([0.0])))
        #expect(try encoder.encode(-Double.nan) == encoder.encode(Double(nan: 5, signaling: false)))
        #expect(try MessagePackEncoder().encode(-0.0) != MessagePackEncoder().encode(0.0))
    }

    // MARK: Floats

    private let recording = MessagePackEncoder(recording: .default)
    private static let strangeNaNs = [-Double.nan, Double(nan: 5, signaling: false)]

    /// Writes itself, by generated code.
    private struct Reading: Codable, MessagePackable {
        var values: [Double]

        init(_ value: Double) { values = [value] }
        func write(to writer: inout MessagePackWriter) { values.encode(into: &writer) }
        init(from reader: inout MessagePackReader) throws(MessagePackError) { values = try [Double](decoding: &reader) }
    }

    /// Its fields are in the order of their keys, and its collections have one element: so each encoder writes it in one order.
    private struct Gauge: Codable {
        var a: Double
        var b: Float?
        var c: [Double?]
        var d: [String: Float]
        var e: [Double: Double]
        var f: Set<Double>
        var g: Reading

        init(_ float: Double) {
            a = float
            b = Float(float)
            c = [float]
            d = ["a": Float(float)]
            e = [float: float]
            f = [float]
            g = Reading(float)
        }
    }

    @Test func `What is recorded has the sign of its zeros wherever they stand, by whichever code, and comes back so`() throws {
        func expectKept<Value: Codable>(_ value: Value) throws {
            let bytes = try MessagePackEncoder().encode(value)
            for encoder in [recording, MessagePackEncoder()] {
                let codec = ValueCodec<Value>(encoder, MessagePackDecoder())
                #expect(try encoder.encode(value) == bytes)
                #expect(try codec.encode(value) == bytes, "\(Value.self)")
                #expect(try encoder.encode(codec.decode(bytes)) == bytes)
            }
        }
        for float in [-0.0, 0, 1.5, .nan] {
            try expectKept(float)
            try expectKept(Float(float))
            try expectKept(Double?.some(float))
            try expectKept([float])
            try expectKept([float, nil])
            try expectKept(["a": float])
            try expectKept([float: float])
            try expectKept(Set([float]))
            try expectKept(Reading(float))
            try expectKept(Gauge(float))
        }
        for float in [-0.0, 0, 1.5, .nan] + Self.strangeNaNs {
            #expect(try MessagePackEncoder().encode(float) == [0xcb] + bigEndian(float.bitPattern))
        }
    }

    @Test func `In what is recorded every NaN is one`() throws {
        for float in Self.strangeNaNs {
            let bytes = try MessagePackEncoder().encode(Gauge(.nan))
            #expect(try recording.encode(Gauge(float)) == bytes)
            #expect(try ValueCodec<Gauge>(recording, MessagePackDecoder()).encode(Gauge(float)) == bytes)
            let reading = try MessagePackEncoder().encode(Reading(.nan))
            #expect(try ValueCodec<Reading>(recording, MessagePackDecoder()).encode(Reading(float)) == reading)
        }
    }

    private func bigEndian(_ bits: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) } }

    @Test func `Equal floats have equal bytes by generated code, too`() throws {
        func expectEqual<Value: Codable>(_ value: Value, _ plain: Value) throws {
            let codec = ValueCodec<Value>(encoder, MessagePackDecoder())
            let bytes = try MessagePackEncoder().encode(plain)
            #expect(try encoder.encode(value) == bytes && codec.encode(value) == bytes, "\(Value.self)")
        }
        for (float, plain) in [(-0.0, 0.0), (-Double.nan, Double.nan), (Double(nan: 5, signaling: false), Double.nan)] {
            try expectEqual(float, plain)
            try expectEqual(Float(float), Float(plain))
            try expectEqual([float, nil], [plain, nil])
            try expectEqual(["a": float], ["a": plain])
            try expectEqual([float: float], [plain: plain])
            try expectEqual(Set([float]), Set([plain]))
            try expectEqual(Reading(float), Reading(plain))
            try expectEqual(Gauge(float), Gauge(plain))
        }
    }

    @Test func `Zeros with a sign are sorted by the bytes that they have`() throws {
        let (set, keys): (Set<Double>, [Double: Int]) = ([-0.0, 1.5], [-0.0: 1, 1.5: 2])
        let (minusZero, zero, more) = ("cb8000000000000000", "cb0000000000000000", "cb3ff8000000000000")
        for bytes in try [recording.encode(set), ValueCodec<Set<Double>>(recording, MessagePackDecoder()).encode(set)] {
            #expect(hex(bytes) == "92" + more + minusZero)
        }
        #expect(try hex(recording.encode(keys)) == "94" + more + "02" + minusZero + "01")
        for bytes in try [encoder.encode(set), ValueCodec<Set<Double>>(encoder, MessagePackDecoder()).encode(set)] {
            #expect(hex(bytes) == "92" + zero + more)
        }
    }

    @Test func `What one codec has a writer do with floats is no matter of what is written next`() throws {
        var writer = MessagePackWriter()
        try ValueCodec<[Double]>(recording, MessagePackDecoder()).encode([-0.0], into: &writer)
        try ValueCodec<[Double]>(encoder, MessagePackDecoder()).encode([-0.0], into: &writer)
        try ValueCodec<[Double]>(recording, MessagePackDecoder()).encode([-0.0], into: &writer)
        (-0.0).encode(into: &writer)
        let (minusZero, zero) = ("cb8000000000000000", "cb0000000000000000")
        #expect(hex(writer.bytes) == "91" + minusZero + "91" + zero + "91" + minusZero + zero)
    }
}
