/// What stands in the text instead of what was expected.
extension JSONParser {
    func error(_ message: String, at offset: Int) -> JSONError {
        JSONError(message, at: JSONError.Position(of: offset, in: bytes))
    }

    func unexpected(_ expected: String) -> JSONError {
        error("expected \(expected), found \(found)", at: next)
    }

    /// The mistakes that are usual where a value should be.
    func unexpectedForValue() -> JSONError {
        let hint: String =
            switch word {
            case "": peek == UInt8(ascii: "'") ? "; a string needs double quotes" : ""
            case let word where Self.words[word.lowercased()] != nil: "; write \(word.lowercased())"
            default: "; a string needs double quotes"
            }
        return error("expected a value, found \(found)\(hint)", at: next)
    }

    func quoted(_ text: String) -> String { "\"\(shortened(text, to: 40))\"" }

    /// The letters that follow; empty if something else does.
    var word: String {
        guard let first = peek, first.isWordStart else { return "" }
        return String(decoding: bytes[next...].prefix(while: \.isWordPart), as: UTF8.self)
    }

    private var found: String {
        if !word.isEmpty { return quoted(word) }
        guard let scalar = String(decoding: bytes[next...].prefix(4), as: UTF8.self).unicodeScalars.first else {
            return "the end of the text"
        }
        return quoted(String(scalar))
    }
}
