import MessagePack
import Testing

@testable import SamovarText

@Suite struct JSONWritingTests {
    @Test(
        arguments: [
            (.nil, "null"),
            (.bool(true), "true"),
            (.int(.min), "-9223372036854775808"),
            (.uint(.max), "18446744073709551615"),
            (.float(0.1), "0.1"),
            (.double(1), "1.0"),
            (.double(-0.0), "-0.0"),
            (.double(1e20), "1e+20"),
            (.double(.leastNonzeroMagnitude), "5e-324"),
            (.double(.nan), "null"),
            (.double(.infinity), "null"),
            (.float(-.infinity), "null"),
            (.string("a\"\\/\u{8}\n\r\t€😀"), #""a\"\\/\u0008\n\r\t€😀""#),
            (.string("\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{2066}"), #""\u001b[2J\u007f\u009b\u202e\u2066""#),
            (.binary([]), #""""#),
            (.binary([1, 2]), #""AQI=""#),
            (.extension(type: 5, bytes: [1, 2]), #"{"type":5,"base64":"AQI="}"#),
            (.extension(type: -1, bytes: [1, 2]), #"{"type":-1,"base64":"AQI="}"#),
            ([], "[]"),
            ([:], "{}"),
            ([1, [2, []], ["b": 1, "a": nil]], #"[1,[2,[]],{"b":1,"a":null}]"#),
            (
                [.int(7): 1, .bool(true): 2, .nil: 3, .double(.nan): 4, .binary([255]): 5],
                #"{"7":1,"true":2,"null":3,"nan":4,"/w==":5}"#
            ),
            ([["a", 1]: 1, ["k": "v"]: 2], #"{"[\"a\",1]":1,"{\"k\":\"v\"}":2}"#),
        ] as [(MessagePackValue, String)])
    func `A value is written`(_ value: MessagePackValue, _ expected: String) {
        #expect(JSONTranscoder.text(of: value) == expected)
    }

    @Test(
        arguments: [
            (0, 0, "1970-01-01T00:00:00Z"),
            (1_785_488_700, 250_000_000, "2026-07-31T09:05:00.25Z"),
            (951_782_400, 1, "2000-02-29T00:00:00.000000001Z"),
            (-1, 999_999_999, "1969-12-31T23:59:59.999999999Z"),
            (-2_203_891_200, 0, "1900-03-01T00:00:00Z"),
            (-62_167_219_200, 0, "0000-01-01T00:00:00Z"),
            (253_402_300_799, 0, "9999-12-31T23:59:59Z"),
        ] as [(Int64, UInt32, String)])
    func `A timestamp is RFC 3339`(_ seconds: Int64, _ nanoseconds: UInt32, _ expected: String) {
        #expect(JSONTranscoder.text(of: timestamp(seconds, nanoseconds)) == "\"\(expected)\"")
    }

    @Test(arguments: [-62_167_219_201, 253_402_300_800, .min, .max] as [Int64])
    func `An instant beyond RFC 3339 is an extension`(_ seconds: Int64) {
        #expect(JSONTranscoder.text(of: timestamp(seconds, 0)).hasPrefix(#"{"type":-1,"base64":"#))
    }

    @Test func `Pretty text is indented by two spaces`() {
        let value: MessagePackValue = [
            "count": 3, "users": [["name": "ada"], "x"], "none": [:], "raw": .extension(type: 1, bytes: []),
        ]
        #expect(
            JSONTranscoder.text(of: value, pretty: true) == """
                {
                  "count": 3,
                  "users": [
                    {
                      "name": "ada"
                    },
                    "x"
                  ],
                  "none": {},
                  "raw": {
                    "type": 1,
                    "base64": ""
                  }
                }
                """)
    }

    @Test func `A bottomless value ends in null`() {
        var value: MessagePackValue = 1
        for _ in 0..<2_000 { value = [value] }
        let depth = MessagePackLimits.largestDepth
        let expected = String(repeating: "[", count: depth) + "null" + String(repeating: "]", count: depth)
        #expect(JSONTranscoder.text(of: value) == expected)
    }

    /// In the widest of its forms, which holds all of them.
    private func timestamp(_ seconds: Int64, _ nanoseconds: UInt32) -> MessagePackValue {
        let bytes = withUnsafeBytes(of: nanoseconds.bigEndian) { [UInt8]($0) }
        return .extension(type: -1, bytes: bytes + withUnsafeBytes(of: seconds.bigEndian) { [UInt8]($0) })
    }
}
