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
}
