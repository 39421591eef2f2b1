import MessagePack
import Testing

@testable import SamovarText

@Suite struct ViewTextTests {
    private let view: MessagePackValue = [
        "count": 3,
        "by": "ada",
        "users": ["ada": "admin", "grace": ["role": "guest", "since": nil]],
        "last": [1, 2.5, ["x": 1, "y": 2], []],
        "open": [:],
        "title": "",
    ]

    @Test func `A view is rows`() {
        #expect(
            ViewText.lines(of: view) == [
                "count  3",
                "by     ada",
                "users",
                "  ada  admin",
                "  grace",
                "    role   guest",
                "    since  null",
                "last",
                "  - 1",
                "  - 2.5",
                "  - x  1",
                "    y  2",
                "  - []",
                "open   {}",
                "title  \"\"",
            ])
    }

    @Test func `Values stand below each other beside names of wide letters`() {
        #expect(ViewText.lines(of: ["緑茶": 3, "tea": 1]) == ["緑茶  3", "tea   1"])
    }

    @Test func `A view is a line`() {
        #expect(
            ViewText.line(of: view)
                == "count 3, by ada, users {ada admin, grace {…}}, last [1, 2.5, {…}, …], open {}, title \"\"")
    }

    @Test(
        arguments: [
            (7, "7"), ("text", "text"), (nil, "null"), ([], "[]"), ([:], "{}"), (.binary([1, 2]), "AQI="),
            (.extension(type: -1, bytes: [0, 0, 0, 0]), "1970-01-01T00:00:00Z"),
        ] as [(MessagePackValue, String)])
    func `A view may be one value`(_ view: MessagePackValue, _ expected: String) {
        #expect(ViewText.lines(of: view) == [expected])
        #expect(ViewText.line(of: view) == expected)
    }

    @Test func `Long arrays end in a count`() {
        let lines = ViewText.lines(of: .array((1...23).map { .int($0) }))
        #expect(lines.count == 21)
        #expect(lines.first == "- 1")
        #expect(lines.last == "… and 3 more")
    }

    @Test func `Long maps end in a count`() {
        let lines = ViewText.lines(of: .map((1...102).map { MessagePackPair(.string("k\($0)"), .int($0)) }))
        #expect(lines.count == 101)
        #expect(lines.first == "k1    1")
        #expect(lines.last == "… and 2 more")
    }

    @Test func `A bottomless view is cut`() {
        var value: MessagePackValue = 1
        for _ in 0..<2_000 { value = ["a": value] }
        let lines = ViewText.lines(of: value)
        #expect(lines.count == 16)
        #expect(lines.last?.hasSuffix("a  {…}") == true)
    }

    @Test func `A line has at most200 characters`() {
        let long = ViewText.line(of: .map((1...1_000).map { MessagePackPair(.string("name\($0)"), .int($0)) }))
        #expect(long.count == 200)
        #expect(long.hasPrefix("name1 1, name2 2, "))
        #expect(long.hasSuffix("…"))

        let word = String(repeating: "x", count: 100)
        #expect(ViewText.line(of: ["a": .string(word), "b": 1]) == "a \(String(repeating: "x", count: 59))…, b 1")
        #expect(ViewText.line(of: .string(String(repeating: "x", count: 500))).count == 200)
    }

    @Test func `Alignment is by characters`() {
        #expect(ViewText.lines(of: ["e\u{301}te\u{301}": 1, "summer": 2]) == ["e\u{301}te\u{301}     1", "summer  2"])
        let long = String(repeating: "n", count: 40)
        #expect(ViewText.lines(of: [.string(long): 1, "a": 2]) == ["\(long)  1", "a\(String(repeating: " ", count: 31))  2"])
    }

    @Test func `A hostile view cannot control the terminal`() {
        let clear = "\u{1b}[2J\u{1b}]0;owned\u{7}"
        let text = "a\nb\r\u{9b}1m\u{7f}\u{202e}gpj.exe\u{2066}\u{2028}"
        let view: MessagePackValue = [.string(clear): .string(text)]
        let name = "\\u{1b}[2J\\u{1b}]0;owned\\u{7}"
        let value = "a\\u{a}b\\u{d}\\u{9b}1m\\u{7f}\\u{202e}gpj.exe\\u{2066}\\u{2028}"
        #expect(ViewText.lines(of: view) == ["\(name)  \(value)"])
        #expect(ViewText.line(of: view) == "\(name) \(value)")

        // One character may have any number of accents.
        let zalgo = "a" + String(repeating: "\u{301}", count: 100_000)
        #expect(ViewText.line(of: .string(zalgo)).unicodeScalars.count == 200)
        #expect(ViewText.lines(of: .string(zalgo))[0].unicodeScalars.count == 1_000)
    }

    @Test func `A word for a shell has its quotes in pairs, whatever accent comes behind one`() {
        #expect(shellWord("a/b-1.key") == "a/b-1.key" && shellWord("") == "''" && shellWord("it's") == #"'it'\''s'"#)
        #expect(Array(shellWord("a'\u{301}b").unicodeScalars) == Array("'a'\\''\u{301}b'".unicodeScalars))
    }

    @Test func `Escaping leaves text alone`() {
        for text in ["", "plain", "Grüße, 世界 😀", "a\\u{1b}", "👨‍👩‍👧"] { #expect(escapeForTerminal(text) == text) }
        for value: UInt32 in 0...0x3000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isEscaped = escapeForTerminal(String(scalar)) != String(scalar)
            let controls =
                scalar.properties.generalCategory == .control || scalar.properties.isBidiControl || value == 0x2028
                || value == 0x2029
            #expect(isEscaped == controls, "U+\(String(value, radix: 16))")
        }
    }
}
