import MessagePack
import Testing

@testable import SamovarText

@Suite struct JSONParsingTests {
    @Test(
        arguments: [
            ("null", .nil),
            ("true", .bool(true)),
            (" false ", .bool(false)),
            ("0", .int(0)),
            ("-0", .int(0)),
            ("-12", .int(-12)),
            ("9223372036854775807", .int(.max)),
            ("-9223372036854775808", .int(.min)),
            ("9223372036854775808", .uint(9_223_372_036_854_775_808)),
            ("18446744073709551615", .uint(.max)),
            ("18446744073709551616", .double(18_446_744_073_709_551_616)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
            ("1.0", .double(1)),
            ("-0.0", .double(-0.0)),
            ("1e3", .double(1_000)),
            ("25E-2", .double(0.25)),
            ("1.5e+3", .double(1_500)),
            ("1e-400", .double(0)),
            (#""""#, .string("")),
            (#""a\"\\\/\b\f\n\r\tz""#, .string("a\"\\/\u{8}\u{c}\n\r\tz")),
            (#""\u0041\u00e9\u20AC\ud83d\ude00""#, .string("Aé€😀")),
            (#""Grüße, 世界 😀""#, .string("Grüße, 世界 😀")),
            ("[]", []),
            ("[ ]", []),
            ("{}", [:]),
            ("{ }", [:]),
            ("\t[1,\r\n 2.0 , \"3\"] \n", [1, 2.0, "3"]),
            (#"{"b":1,"a":{"c":[null,true]}}"#, ["b": 1, "a": ["c": [nil, true]]]),
            (#"{"":{}}"#, ["": [:]]),
            // Two spellings of one letter are two keys, though Swift compares them as equal.
            (#"{"\u00e9":1,"e\u0301":2}"#, ["\u{e9}": 1, "e\u{301}": 2]),
        ] as [(String, MessagePackValue)])
    func `A text is read`(_ text: String, _ expected: MessagePackValue) throws {
        let value = try JSONTranscoder.parse(text)
        #expect(value == expected)
        #expect(MessagePackWriter.bytes(of: value) == MessagePackWriter.bytes(of: expected))
    }

    @Test(arguments: [
        ("", "expected a value, found the end of the text (line 1, column 1)"),
        ("  \n ", "expected a value, found the end of the text (line 2, column 2)"),
        ("1 2", "expected the end of the text, found \"2\" (line 1, column 3)"),
        ("{} x", "expected the end of the text, found \"x\" (line 1, column 4)"),
        ("incre-ment", "expected a value, found \"incre\"; a string needs double quotes (line 1, column 1)"),
        ("'a'", "expected a value, found \"'\"; a string needs double quotes (line 1, column 1)"),
        ("[True]", "expected a value, found \"True\"; write true (line 1, column 2)"),
        ("NaN", "expected a value, found \"NaN\"; a string needs double quotes (line 1, column 1)"),
        ("nullx", "expected a value, found \"nullx\"; a string needs double quotes (line 1, column 1)"),
        ("+1", "expected a value, found \"+\" (line 1, column 1)"),
        (".5", "expected a value, found \".\" (line 1, column 1)"),
        ("\u{feff}1", "expected a value, found \"\u{feff}\" (line 1, column 1)"),
        ("01", "a number cannot begin with a zero (line 1, column 1)"),
        ("[-012]", "a number cannot begin with a zero (line 1, column 2)"),
        ("-", "expected a digit after the minus, found the end of the text (line 1, column 2)"),
        ("1.", "expected a digit after the point, found the end of the text (line 1, column 3)"),
        ("1.e5", "expected a digit after the point, found \"e5\" (line 1, column 3)"),
        ("1e", "expected a digit in the exponent, found the end of the text (line 1, column 3)"),
        ("[1e+]", "expected a digit in the exponent, found \"]\" (line 1, column 5)"),
        ("1e400", "a number is beyond the range of 64-bit floats (line 1, column 1)"),
        ("0x10", "expected the end of the text, found \"x10\" (line 1, column 2)"),
        ("[1,]", "expected a value, found \"]\" (line 1, column 4)"),
        ("[1 2]", "expected \",\" or \"]\" after an element, found \"2\" (line 1, column 4)"),
        ("[1", "expected \",\" or \"]\" after an element, found the end of the text (line 1, column 3)"),
        ("{a:1}", "expected a key in double quotes, found \"a\" (line 1, column 2)"),
        ("{1:1}", "expected a key in double quotes, found \"1\" (line 1, column 2)"),
        ("{\"a\":1,}", "expected a key in double quotes, found \"}\" (line 1, column 8)"),
        ("{\"a\" 1}", "expected \":\" after the key \"a\", found \"1\" (line 1, column 6)"),
        ("{\"a\":1;}", "expected \",\" or \"}\" after the value of \"a\", found \";\" (line 1, column 7)"),
        ("{\"a\":1,\n \"b\":2,\n \"a\":3}", "the key \"a\" occurs twice in one object (line 3, column 2)"),
        ("{\"a\":1,\"\\u0061\":3}", "the key \"a\" occurs twice in one object (line 1, column 8)"),
        ("// no", "expected a value, found \"/\" (line 1, column 1)"),
        ("\"abc", "a string is not closed (line 1, column 1)"),
        ("\"abc\\", "an escape is one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX (line 1, column 5)"),
        ("\"\\x41\"", "an escape is one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX (line 1, column 2)"),
        ("\"\\u12\"", "\\u needs four hexadecimal digits (line 1, column 2)"),
        ("\"\\u+123\"", "\\u needs four hexadecimal digits (line 1, column 2)"),
        ("\"\\u", "\\u needs four hexadecimal digits (line 1, column 2)"),
        ("\"\\ud83d\"", "\\ud83d is half of a surrogate pair (line 1, column 2)"),
        ("\"\\ud83d\\n\"", "\\ud83d is half of a surrogate pair (line 1, column 2)"),
        ("\"\\ud83d\\u0041\"", "\\ud83d is half of a surrogate pair (line 1, column 2)"),
        ("\"é\\uDE00\"", "\\uDE00 is half of a surrogate pair (line 1, column 3)"),
        ("\"a\nb\"", "a control character in a string must be written as \\n (line 1, column 3)"),
        ("\"\u{1b}[2J\"", "a control character in a string must be written as \\u001b (line 1, column 2)"),
        // What an error repeats cannot control the terminal, and does not fill it.
        ("\u{1b}", "expected a value, found \"\\u{1b}\" (line 1, column 1)"),
        ("{\"\\u001b[2J\":1,\"\\u001b[2J\":2}", "the key \"\\u{1b}[2J\" occurs twice in one object (line 1, column 16)"),
        (
            "{\"\(String(repeating: "k", count: 100))\" 1}",
            "expected \":\" after the key \"\(String(repeating: "k", count: 39))…\", found \"1\" (line 1, column 105)"
        ),
    ])
    func aMistakeIsNamed(_ text: String, _ expected: String) {
        #expect(message { () throws(JSONError) in try JSONTranscoder.parse(text) } == expected)
    }

    @Test func `Depth is limited`() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        _ = try JSONTranscoder.parse(deepest)
        #expect(
            message { () throws(JSONError) in try JSONTranscoder.parse("[\(deepest)]") }
                == "arrays and objects are nested deeper than the limit of 64 (line 1, column 65)")
        let hostile = String(repeating: "{\"a\":", count: 200_000)
        #expect(
            message { () throws(JSONError) in try JSONTranscoder.parse(hostile) }
                == "arrays and objects are nested deeper than the limit of 64 (line 1, column 321)")
    }

    @Test func `Size is limited`() throws {
        let largest = "\"" + String(repeating: "x", count: 1_048_574) + "\""
        _ = try JSONTranscoder.parse(largest)
        #expect(
            message { () throws(JSONError) in try JSONTranscoder.parse(largest + " ") }
                == "the text has 1048577 bytes, more than the limit of 1048576")
        _ = try JSONTranscoder.parse(largest + " ", limits: MessagePackLimits(maximumBytes: 2_000_000))
    }

    @Test func `Bytes that are no text are refused`() throws {
        #expect(try JSONTranscoder.parse(utf8: Array("[1]".utf8)) == [1])
        #expect(message { () throws(JSONError) in try JSONTranscoder.parse(utf8: [0x22, 0xff, 0x22]) } == "the text is not UTF-8")
    }

    @Test(
        arguments: [
            ("increment", .string("increment")),
            ("_a9", .string("_a9")),
            ("True", .string("True")),
            ("true", .bool(true)),
            ("null", .nil),
            ("7", .int(7)),
            (#""two words""#, .string("two words")),
            (#"{"add":{"_0":3}}"#, ["add": ["_0": 3]]),
        ] as [(String, MessagePackValue)])
    func `An argument may be a bare word`(_ text: String, _ expected: MessagePackValue) throws {
        #expect(try JSONTranscoder.parseArgument(text) == expected)
    }

    @Test(arguments: [
        ("two words", "expected a value, found \"two\"; a string needs double quotes (line 1, column 1)"),
        ("9a", "expected the end of the text, found \"a\" (line 1, column 2)"),
        ("été", "expected a value, found \"é\" (line 1, column 1)"),
        ("", "expected a value, found the end of the text (line 1, column 1)"),
    ])
    func `An argument is else JSON`(_ text: String, _ expected: String) {
        #expect(message { () throws(JSONError) in try JSONTranscoder.parseArgument(text) } == expected)
    }

    private func message(_ body: () throws(JSONError) -> MessagePackValue) -> String {
        do {
            return "read as \(try body())"
        } catch {
            return error.description
        }
    }
}

extension MessagePackWriter {
    /// The encoded value, which also tells −0 from 0 and two spellings of one letter.
    static func bytes(of value: MessagePackValue) -> [UInt8] {
        var writer = MessagePackWriter()
        writer.write(value)
        return writer.bytes
    }
}
