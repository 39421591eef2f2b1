import MessagePack
import Testing

@Suite struct DecodingFailureTests {
    @Test(arguments: [true, false])
    func `An unknown case is named with those there are`(lenient: Bool) {
        #expect(
            failure(of: Input.self, ["foo": [:]], lenient)
                == "unknown case \"foo\" for Input; allowed: increment, decrement, incrementAsync")
        #expect(failure(of: Color.self, "blue", lenient) == "unknown case \"blue\" for Color; allowed: red, green")
        #expect(
            failure(of: [Message].self, [["tick": [:]], ["asks": [:]]], lenient)
                == "unknown case \"asks\" for Message at \"[1]\"; allowed: tick, asked, add, probed, both")
        #expect(
            failure(of: Message.self, [:], lenient)
                == "expected one case of Message, found 0; allowed: tick, asked, add, probed, both")
        #expect(
            failure(of: Message.self, ["tick": [:], "add": [:]], lenient)
                == "expected one case of Message, found 2; allowed: tick, asked, add, probed, both")
    }

    @Test(arguments: [true, false])
    func `What was read is quoted with its beginning`(lenient: Bool) {
        let long = String(repeating: "x", count: 900_000)
        let short = String(repeating: "x", count: 40) + "…"
        #expect(
            failure(of: Input.self, [MessagePackValue.string(long): [:]], lenient)
                == "unknown case \"\(short)\" for Input; allowed: increment, decrement, incrementAsync")
        #expect(
            failure(of: [String: Int].self, [MessagePackValue.string(long): "x"], lenient)
                == "field \"\(short)\": expected an integer, found a string of 1 byte")
    }

    @Test func `A bare word that is no case is named likewise`() {
        #expect(
            failure(of: Input.self, "foo", true)
                == "unknown case \"foo\" for Input; allowed: increment, decrement, incrementAsync")
        #expect(failure(of: Message.self, "asked", true) == "missing field \"asked._0\" in Message.asked; allowed: _0")
    }

    @Test(arguments: [true, false])
    func `A missing field is named with those there are`(lenient: Bool) {
        #expect(failure(of: Seed.self, [:], lenient) == "missing field \"root\" in Seed; allowed: root, minimumSize")
        #expect(
            failure(of: Message.self, ["add": ["url": "x"]], lenient)
                == "missing field \"add.tags\" in Message.add; allowed: url, tags")
        #expect(
            failure(of: Box.self, ["items": [["name": "a", "color": "red"], ["name": "b"]], "numbers": []], lenient)
                == "missing field \"items[1].color\" in Item; allowed: name, color, last")
    }

    @Test(arguments: [true, false])
    func `A field of another type is named with what was found`(lenient: Bool) {
        #expect(
            failure(of: Small.self, small(count: "x"), lenient)
                == "field \"count\": expected an integer, found a string of 1 byte")
        #expect(failure(of: Small.self, small(count: nil), lenient) == "field \"count\": expected an integer, found nil")
        #expect(
            failure(of: Small.self, small(count: [1]), lenient)
                == "field \"count\": expected an integer, found an array of 1")
        #expect(failure(of: Small.self, small(count: 1.5), lenient) == "field \"count\": expected an integer, found a float")
        #expect(
            failure(of: Small.self, small(count: 200), lenient)
                == "field \"count\": expected an integer from -128 to 127, found another one")
        #expect(failure(of: Small.self, small(count: true), lenient) == "field \"count\": expected an integer, found a boolean")
        #expect(failure(of: Seed.self, [1], lenient) == "expected a map, found an array of 1")
        #expect(failure(of: Seed.self, ["root": 7], lenient) == "field \"root\": expected a string, found an integer")
        #expect(failure(of: [Int].self, "x", lenient) == "expected an array, found a string of 1 byte")
        #expect(
            failure(of: [[String]].self, [["x"], ["y", 5]], lenient)
                == "field \"[1][1]\": expected a string, found an integer")
        #expect(
            failure(of: [String: Seed].self, ["main": ["root": false]], lenient)
                == "field \"main.root\": expected a string, found a boolean")
        #expect(
            failure(of: [String: Position].self, ["position": "x"], lenient)
                == "field \"position\": expected an array, found a string of 1 byte")
        #expect(
            failure(of: [String: Position].self, ["position": [1, true]], lenient)
                == "field \"position\": expected an integer, found a boolean")
        #expect(
            failure(of: [String: Position].self, ["position": [1]], lenient)
                == "field \"position\": expected an array of 2, found one of 1")
        #expect(
            failure(of: Message.self, ["both": ["_0": ["tick": [:]], "_1": ["asked": ["_0": "x"]]]], lenient)
                == "field \"both._1.asked._0\": expected an integer, found a string of 1 byte")
    }

    @Test(arguments: [true, false])
    func `A word in the place of a case's values is no map, and is not repeated`(lenient: Bool) {
        enum Query: Codable { case filter(by: [String: Int]?) }
        #expect(failure(of: Message.self, ["add": "Ada"], lenient) == "field \"add\": expected a map, found a string of 3 bytes")
        #expect(failure(of: Message.self, ["tick": "tick"], lenient) == "field \"tick\": expected a map, found a string of 4 bytes")
        #expect(failure(of: Query.self, ["filter": "by"], lenient) == "field \"filter\": expected a map, found a string of 2 bytes")
    }

    @Test func `An unknown field is named with those there are`() {
        #expect(
            failure(of: Seed.self, ["root": "/", "minimum": 5], true)
                == "unknown field \"minimum\" in Seed; allowed: root, minimumSize")
        #expect(
            failure(of: Message.self, ["add": ["urll": "x", "tags": []]], true)
                == "unknown field \"add.urll\" in Message.add; allowed: url, tags")
        #expect(
            failure(of: Input.self, ["increment": ["by": 1]], true)
                == "unknown field \"increment.by\" in Input.increment; allowed: none")
    }

    @Test func `A failure of a type's own is placed`() {
        struct Even: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                guard try container.decode(Int.self).isMultiple(of: 2) else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "an odd number")
                }
            }
        }
        #expect(failure(of: [Even].self, [2, 3], false) == "field \"[1]\": an odd number")
        #expect(failure(of: Even.self, 3, false) == "an odd number")
    }

    @Test func `A key that occurs twice is named`() {
        #expect(failure(of: [String: Int].self, .map([.init("a", 1), .init("a", 1)]), false) == "the key \"a\" occurs twice")
    }

    @Test func `Bytes that are no MessagePack are said to be none`() {
        do {
            _ = try MessagePackDecoder().decode(Seed.self, from: [0xc1])
            Issue.record("0xc1 was decoded")
        } catch {
            #expect(
                describe(decodingFailure: error, of: Seed.self)
                    == "not a MessagePack value: 0xc1 begins no value (byte 0)")
        }
    }

    @Test func `The keys of a type are known for every number of cases`() {
        enum One: CodingKey { case only }
        enum Renamed: String, CodingKey { case a = "alpha", b }
        enum All: String, CodingKey, CaseIterable { case x, y }
        struct Free: CodingKey {
            var stringValue = ""
            var intValue: Int? { nil }
            init?(stringValue: String) {}
            init?(intValue: Int) {}
        }
        let cases: [(any CodingKey, String)] = [
            (Renamed.a, "; allowed: alpha, b"), (One.only, "; allowed: only"), (All.x, "; allowed: x, y"),
            (Free(stringValue: "")!, ""),
        ]
        for (key, list) in cases {
            let error = DecodingError.keyNotFound(key, DecodingError.Context(codingPath: [], debugDescription: ""))
            #expect(describe(decodingFailure: error, of: Seed.self) == "missing field \"\(key.stringValue)\" in Seed" + list)
        }
    }

    private func small(count: MessagePackValue) -> MessagePackValue {
        ["id": 1, "name": "", "count": count, "ratio": 1.0, "isOn": true]
    }

    private func failure<T: Decodable>(of type: T.Type, _ value: MessagePackValue, _ lenient: Bool) -> String {
        var writer = MessagePackWriter()
        writer.write(value)
        do {
            return "decoded \(try MessagePackDecoder(lenient: lenient).decode(type, from: writer.bytes))"
        } catch {
            return describe(decodingFailure: error, of: type)
        }
    }
}
