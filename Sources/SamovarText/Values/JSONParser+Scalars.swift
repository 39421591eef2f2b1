import Foundation
import MessagePack

extension JSONParser {
    mutating func number() throws(JSONError) -> MessagePackValue {
        let start = next
        _ = pass("-")
        let leading = peek
        let digits = skipDigits()
        guard digits > 0 else { throw unexpected("a digit after the minus") }
        guard digits == 1 || leading != UInt8(ascii: "0") else { throw error("a number cannot begin with a zero", at: start) }

        var isInteger = true
        if pass(".") {
            isInteger = false
            guard skipDigits() > 0 else { throw unexpected("a digit after the point") }
        }
        if pass("e") || pass("E") {
            isInteger = false
            if !pass("+") { _ = pass("-") }
            guard skipDigits() > 0 else { throw unexpected("a digit in the exponent") }
        }

        let text = String(decoding: bytes[start..<next], as: UTF8.self)
        if isInteger {
            if let value = Int64(text) { return .int(value) }
            if let value = UInt64(text) { return .uint(value) }
        }
        guard let value = Double(text), value.isFinite else {
            throw error("a number is beyond the range of 64-bit floats", at: start)
        }
        return .double(value)
    }

    private mutating func skipDigits() -> Int {
        let start = next
        while let byte = peek, byte.isDigit { next += 1 }
        return next - start
    }

    /// Reads a string, at whose opening quote the parser stands.
    mutating func string() throws(JSONError) -> String {
        let start = next
        var text = ""
        next += 1
        while true {
            let run = next
            while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { next += 1 }
            text += String(decoding: bytes[run..<next], as: UTF8.self)
            switch peek {
            case UInt8(ascii: "\""):
                next += 1
                return text
            case UInt8(ascii: "\\"): text.unicodeScalars.append(try escape())
            case nil: throw error("a string is not closed", at: start)
            default: throw error("a control character in a string must be written as \(escapeOfNext)", at: next)
            }
        }
    }

    private var escapeOfNext: String {
        switch peek {
        case 0x0a: "\\n"
        case 0x0d: "\\r"
        case 0x09: "\\t"
        case let byte?: "\\u" + fourDigits(UInt16(byte))
        case nil: ""
        }
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        let start = next
        next += 1
        let letter = peek
        next += 1
        if let letter, let scalar = Self.escapes[letter] { return scalar }
        guard letter == UInt8(ascii: "u") else {
            throw error("an escape is one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX", at: start)
        }
        let first = try hexadecimal(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), pass("\\"), pass("u") else { throw halfOfPair(at: start) }
        let second = try hexadecimal(from: start)
        guard UTF16.isTrailSurrogate(second) else { throw halfOfPair(at: start) }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    /// What a letter behind a backslash stands for.
    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{08}",
        UInt8(ascii: "f"): "\u{0c}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
    ]

    private func halfOfPair(at start: Int) -> JSONError {
        error("\\u\(String(decoding: bytes[start + 2..<start + 6], as: UTF8.self)) is half of a surrogate pair", at: start)
    }

    private mutating func hexadecimal(from start: Int) throws(JSONError) -> UInt16 {
        let digits = bytes[min(next, bytes.count)...].prefix(4)
        // An initialiser of integers would take a sign, too.
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw error("\\u needs four hexadecimal digits", at: start) }
        next += 4
        return value
    }
}

/// A number as `\u` escapes want it: `001b`.
func fourDigits(_ number: UInt16) -> String { String(format: "%04x", number) }
