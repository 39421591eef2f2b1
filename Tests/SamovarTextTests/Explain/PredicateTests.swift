import ProcessSupport
import MessagePack
import Testing

@testable import SamovarText

@Suite struct PredicateTests {
    private static let state: MessagePackValue = [
        "n": 3, "big": .uint(.max), "half": 0.5, "name": "ada", "on": true, "list": .array([1, 2, 3]),
        "map": ["odd key": 7, "empty": .map([])],
        "huge": .int(.max),
    ]

    private func holds(_ text: String) throws -> Bool {
        let bytes = Self.state.encoded
        return try Predicate(parsing: text).holds { try $0.find(in: bytes) }
    }

    @Test(arguments: [
        "state.n == 3", "state.n != 4", "state.n < 3.5", "state.half >= 0.5", "state.n == 3.0", "state.on", "!state.off",
        "state.list[2] == 3", "state.map[\"odd key\"] == 7", "count(state.list) == 3", "count( state.map ) > 1",
        "count(state.name) == 3",
        "state.name == \"ada\" && state.name < \"b\"", "state.nothing == null", "state.n + 2 * 2 == 7", "(state.n + 2) * 2 == 10",
        "state.n - 1 - 1 == 1", "-state.n == -3", "7 % 4 == state.n", "state.big > state.huge", "state.n / 0 == null",
        "state.big + 1 == null", "state.huge + 1 == 9223372036854775808", "state.big % 2 == 1", "state.big - 1 < state.big",
        "-9223372036854775808 == -9223372036854775807 - 1", "state.big * state.big == null",
        "1e-5 < state.half", "5E-1 == state.half", "1 - 5e-1 == state.half", "-5e-1 < 0", "3e+0-1 == 2", "1e1-7 == state.n",
        "false || state.on && true", "!(state.n == 4)", "!state.n == 4",
    ])
    func `It is true`(_ text: String) throws {
        #expect(try holds(text))
    }

    @Test(arguments: [
        "state.n", "state.name", "state.nothing", "state.n < \"4\"", "state.n == \"3\"", "state.nothing < 1",
        "state.nothing >= null",
        "state.list[3] == 3", "state.list[\"2\"] == 3", "state.on && false", "state.huge == 9223372036854775808.0 + 1 && false",
        "state.big == state.huge", "-9223372036854775808 == -9223372036854775807", "state.big - 1 == state.big",
        "count(state.n) > 0",
    ])
    func `It is not true`(_ text: String) throws {
        #expect(try !holds(text))
    }

    @Test(arguments: [
        ("", 1, "expected a path"), ("state.n >", 10, "expected a path"), ("n > 3", 1, "did you mean `state.n`?"),
        ("state.n = 3", 9, "did you mean `==`?"), ("state.n > 2 > 1", 14, "do not chain"), ("(state.n", 9, "expected `)`"),
        ("state.", 7, "expected a name"), ("state[-1]", 7, "expected a number"), ("state[1", 8, "expected `]`"),
        ("state.n == \"x", 12, "has no end"), ("state.n == 3x", 12, "is no number"), ("state.n == 1e-", 12, "“1e-” is no number"),
        ("state.n == 1e -5", 12, "“1e” is no number"), ("state.n 3", 9, "expected an operator"),
        ("count state.n", 7, "expected `(`"), ("state.n == \"\\q\"", 12, "escape"),
        ("state[\"a\\\\\"] == 1 &&", 21, "expected a path"),
        ("state[99999999999999999999]", 7, "expected a number"), ("state.cafe\u{301} >", 13, "expected a path"),
    ])
    func `An error points at its column`(_ text: String, _ column: Int, _ words: String) {
        do {
            _ = try Predicate(parsing: text)
            Issue.record("“\(text)” was read")
        } catch {
            #expect(error.column == column && error.text.contains(words), "\(text): \(error)")
        }
    }

    @Test func `Depth and length are bounded`() {
        for text in [
            String(repeating: "(", count: 2_000), String(repeating: "!", count: 2_000), String(repeating: "-", count: 2_000),
            "state" + String(repeating: "[0]", count: 1_300), "1" + String(repeating: "+1", count: 2_000),
            String(repeating: "x", count: 5_000),
        ] {
            #expect(throws: ExpressionError.self) { try Predicate(parsing: text) }
        }
    }

    @Test(arguments: SearchTests.seeds)
    func `No text traps, and what is read can be evaluated`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pieces = [
            "state", "view", ".n", ".list", "[0]", "[\"odd key\"]", "[", "]", "(", ")", "!", "-", "+", "*", "/", "%", "==", "!=",
            "<", "<=", ">",
            ">=", "&&", "||", " ", "1", "0", "9223372036854775807", "1e400", "\"a\"", "\"", "\\", "true", "null", "count(", "é",
            "🙂", "\u{0}", "=", "\u{301}", "\u{600}",
        ]
        let bytes = Self.state.encoded
        var read = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...9, using: &random)).map { _ in pieces[Int.random(in: pieces.indices, using: &random)]
            }.joined()
            do {
                let predicate = try Predicate(parsing: text)
                read += 1
                _ = try predicate.holds { try $0.find(in: bytes) }
            } catch let error as ExpressionError {
                #expect((1...text.count + 1).contains(error.column), "seed \(seed): \(text)")
            }
        }
        #expect(read > 100, "seed \(seed) makes nothing that can be read")
    }

    @Test(arguments: [
        "state", "view.a.b[3].c", "state[\"odd key\"][\"\"].x", "state[\"a\\\"b\"]", "state.é", "state.cafe\u{301}",
        "state.\u{915}\u{94d}\u{937}\u{93f}",
    ])
    func `A path is written as it is read`(_ text: String) throws {
        let path = try ValuePath(parsing: text)
        #expect(try ValuePath(parsing: path.description) == path)
    }

    @Test(arguments: ["\u{301}", "\u{200d}a", "\u{fe0f}", "\u{1f3fd}", "\u{600}", "a\u{600}", "\u{301}\"\u{600}", "\u{301}\r\n]"])
    func `A key that makes characters with its quotes is read as it is written`(_ key: String) throws {
        let path = ValuePath(root: .state, steps: [.key(key), .index(0), .key(key)])
        #expect(try ValuePath(parsing: path.description) == path)
        let redaction = try Redaction(parsing: "message\(path.description.dropFirst("state".count))")
        #expect(redaction.steps == [.key(key), .index(0), .key(key)])
        let bytes = MessagePackValue.map([MessagePackPair(.string(key), .string(key))]).encoded
        let condition = "\(ValuePath(root: .state, steps: [.key(key)])) == \(JSONTranscoder.text(of: .string(key)))"
        #expect(try Predicate(parsing: condition).holds { try $0.find(in: bytes) }, "\(condition)")
    }

    @Test func `What is missing is named, with what is there instead`() throws {
        func words(_ text: String) throws -> String? { try ValuePath(parsing: text).missing(in: Self.state.encoded) }
        #expect(try words("state.n") == nil)
        #expect(try words("state.nam") == "there is no state.nam: did you mean state.name?")
        #expect(try words("state.list[9].x") == "there is no state.list[9]: state.list has 3 elements, from 0")
        #expect(try words("state.map.zzzzz") == "there is no state.map.zzzzz: state.map has \"odd key\", empty")
        #expect(try words("state.map.empty.x") == "there is no state.map.empty.x: state.map.empty is empty")
        #expect(try words("state.n.x") == "there is no state.n.x: state.n is 3")
    }
}
