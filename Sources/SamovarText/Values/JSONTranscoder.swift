public import MessagePack

/// JSON text to and from MessagePack values, without knowing types: the way of an input from the command line to a
/// program, and of a view back.
///
/// Foundation's parser was rejected because it loses the order of keys and the difference between integers and floats.
///
/// | JSON | MessagePack | back |
/// |---|---|---|
/// | number without fraction and exponent that fits 64 bits | `int`, or `uint` beyond `Int64.max` | the same |
/// | any other number | `double` | always with fraction or exponent |
/// | – | NaN and the infinities, which JSON does not have | `null` |
/// | – | `binary` | base64 text |
/// | – | a timestamp of the years 0 to 9999 | RFC 3339 text |
/// | – | any other extension | `{"type":5,"base64":"AQI="}` |
/// | – | a key that is no string | its text |
/// | – | anything nested deeper than `MessagePackLimits.largestDepth` | `null` |
public enum JSONTranscoder {
    /// What is read unless the caller says otherwise: 1 MiB, nested 64 deep.
    public static let inputLimits = MessagePackLimits(maximumDepth: 64, maximumBytes: 1 << 20)

    /// Reads one JSON text as RFC 8259 has it: no comments, no trailing commas, and no key twice in an object.
    public static func parse(
        _ text: String, limits: MessagePackLimits = inputLimits
    ) throws(JSONError) -> MessagePackValue {
        var parser = try JSONParser(text, limits: limits)
        return try parser.document()
    }

    /// Reads one JSON text from bytes that may be anything, such as a line of standard input.
    public static func parse(
        utf8: some Collection<UInt8>, limits: MessagePackLimits = inputLimits
    ) throws(JSONError) -> MessagePackValue {
        guard let text = String(validating: utf8, as: UTF8.self) else { throw JSONError("the text is not UTF-8") }
        return try parse(text, limits: limits)
    }

    /// Reads an argument of the command line: JSON, or one bare word such as `increment`, which stands for that string.
    ///
    /// A word is made of the letters A to Z, digits and underscores. `true`, `false` and `null` are JSON.
    public static func parseArgument(
        _ text: String, limits: MessagePackLimits = inputLimits
    ) throws(JSONError) -> MessagePackValue {
        isWord(text) && JSONParser.words[text] == nil ? .string(text) : try parse(text, limits: limits)
    }

    /// A value as JSON text, on one line or indented by two spaces. Keys keep their order.
    ///
    /// Characters which could control a terminal are written as `\u` escapes, which mean the same to a reader of JSON.
    public static func text(of value: MessagePackValue, pretty: Bool = false) -> String {
        var writer = JSONWriter(pretty: pretty)
        writer.write(value)
        return writer.text
    }

    /// Whether it needs no quotes.
    static func isWord(_ text: String) -> Bool {
        guard let first = text.utf8.first, first.isWordStart else { return false }
        return text.utf8.allSatisfy(\.isWordPart)
    }
}

extension UInt8 {
    /// `A`–`Z`, `a`–`z` or `_`.
    package var isWordStart: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isWordPart: Bool { isWordStart || isDigit }
}
