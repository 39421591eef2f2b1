import Foundation
import MessagePack
import SamovarCore
import Testing

/// The bytes of Swift values, as `docs/protocol.md` shows them to who writes a peer in another language.
@Suite struct ValueTests {
    struct Item: Hashable, Codable {
        var name: String
        var count: Int?
    }

    struct Nothing: Codable {}

    enum Order: Codable {
        case increment
        case add(text: String, count: Int)
        case pair(Int, Int)
        case find(text: String?)
    }

    enum Color: String, Codable, CodingKeyRepresentable { case red, green }

    /// One value of each kind, by the name under which the document has its bytes.
    static func examples() throws -> [String: [UInt8]] {
        let encoder = MessagePackEncoder(canonical: true)
        let id = UniqueID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10)
        let uuid = try #require(UUID(uuidString: "\(id)"))
        let tea = Item(name: "tea", count: 5)
        return try [
            #"struct with a string and an integer: Item(name: "tea", count: 5)"#: encoder.encode(tea),
            "optional field that is nil: the key is missing": encoder.encode(Item(name: "tea", count: nil)),
            "struct without fields": encoder.encode(Nothing()),
            "enum case without values: .increment": encoder.encode(Order.increment),
            #"enum case with labels: .add(text: "tea", count: 5)"#: encoder.encode(Order.add(text: "tea", count: 5)),
            "enum case without labels: .pair(1, 2)": encoder.encode(Order.pair(1, 2)),
            "enum case with an optional that is nil: .find(text: nil)": encoder.encode(Order.find(text: nil)),
            "enum with raw values: Color.red": encoder.encode(Color.red),
            "optional alone or in an array: [nil, 1]": encoder.encode([nil, 1] as [Int?]),
            "Bool: true": encoder.encode(true),
            "Int, of up to 64 bits: -1": encoder.encode(-1 as Int16),
            "UInt64: its maximum": encoder.encode(UInt64.max),
            "Double: 1.5": encoder.encode(1.5),
            "Float: 1.5": encoder.encode(1.5 as Float),
            #"String: "ä""#: encoder.encode("ä"),
            "array, or set: [1, 2]": encoder.encode([2, 1] as Set),
            "[UInt8]: bytes 1, 255": encoder.encode([1, 255] as [UInt8]),
            #"dictionary with strings as keys: ["a": 1]"#: encoder.encode(["a": 1]),
            "dictionary with integers as keys: [7: true]": encoder.encode([7: true]),
            "dictionary with an enum with raw values as keys: [.red: 1]": encoder.encode([Color.red: 1]),
            "dictionary with other keys: keys and values in turn, [Item: 3]": encoder.encode([tea: 3]),
            "range: 1..<3": encoder.encode(1..<3),
            "Timestamp: microseconds since 1970, 1 s": encoder.encode(Timestamp(microseconds: 1_000_000)),
            "Duration: attoseconds in two halves of 64 bits, 1 s": encoder.encode(Duration.seconds(1)),
            "UniqueID: text, as a UUID in small letters": encoder.encode(id),
            "Date: seconds since 2001-01-01 as a double, 1.5 s": encoder.encode(Date(timeIntervalSinceReferenceDate: 1.5)),
            "Data: an array of its bytes, 1 and 255": encoder.encode(Data([1, 255])),
            "UUID: text in capitals": encoder.encode(uuid),
            #"URL: "http://a/""#: encoder.encode(#require(URL(string: "http://a/"))),
        ]
    }

    @Test func `The document shows the bytes of each, and nothing else`() throws {
        let documented = try Self.documented()
        let examples = try Self.examples().mapValues(hexadecimal)
        for (name, bytes) in examples { #expect(documented[name] == bytes, "\(name)") }
        #expect(Set(documented.keys) == Set(examples.keys))
    }

    @Test func `Other encodings of a value are read as the document says`() throws {
        let decoder = MessagePackDecoder(lenient: true)
        // Keys in another order, and nil for what is missing.
        let reordered = bytes("82 a5636f756e74 05 a46e616d65 a3746561")
        #expect(try decoder.decode(Item.self, from: reordered) == Item(name: "tea", count: 5))
        let explicit = bytes("82 a46e616d65 a3746561 a5636f756e74 c0")
        #expect(try decoder.decode(Item.self, from: explicit) == Item(name: "tea", count: nil))
        #expect(try decoder.decode(Double.self, from: [5]) == 5)
        #expect(try decoder.decode(Int.self, from: bytes("cb 4014000000000000")) == 5)
        #expect(try decoder.decode([UInt8].self, from: bytes("a4 41513d3d")) == [1])
        #expect(try decoder.decode([UInt8].self, from: bytes("92 01 ccff")) == [1, 255])
        guard case .increment = try decoder.decode(Order.self, from: bytes("a9 696e6372656d656e74")) else {
            return _ = #expect(Bool(false), "the bare name is not read as its case")
        }
        // Unknown fields, and missing ones.
        #expect(throws: DecodingError.self) { try decoder.decode(Item.self, from: bytes("82 a46e616d65 a3746561 a16e 05")) }
        #expect(throws: DecodingError.self) { try decoder.decode(Item.self, from: bytes("81 a5636f756e74 05")) }
        // Anything, in the place of a struct that asks for nothing.
        #expect(throws: Never.self) { try decoder.decode(Nothing.self, from: bytes("81 a16e 05")) }
        #expect(throws: Never.self) { try decoder.decode(Nothing.self, from: [5]) }
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.filter { $0 != " " }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The block marked `values`: a name, and below it the hexadecimal digits.
    private static func documented() throws -> [String: String] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = tests.deletingLastPathComponent().deletingLastPathComponent()
        let document = try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
        let block = try #require(document.firstMatch(of: /```values\n((?s:.*?))```/)).1
        let lines = block.split(separator: "\n")
        var examples: [String: String] = [:]
        for (name, bytes) in zip(lines, lines.dropFirst()) where bytes.hasPrefix("  ") {
            examples[String(name)] = bytes.filter { $0 != " " }
        }
        return examples
    }
}
