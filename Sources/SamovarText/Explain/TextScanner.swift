import MessagePack

/// What is wrong with a path or an expression, and where.
package struct ExpressionError: Error, Equatable, CustomStringConvertible {
    /// From 1, in characters.
    package let column: Int
    package let text: String

    package var description: String { "column \(column): \(text)" }
}

/// Reads a path or an expression, scalar by scalar, for a key may begin or end with one that makes one character with its quote. Whatever
/// the text is, each reading moves on or ends.
struct TextScanner {
    /// Of a text, in bytes.
    static let maximumLength = 4_096

    private let scalars: [Unicode.Scalar]
    private(set) var position = 0

    init(_ text: String) throws(ExpressionError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw ExpressionError(column: 1, text: "it is longer than \(Self.maximumLength) bytes")
        }
        scalars = Array(text.unicodeScalars)
    }

    var isAtEnd: Bool { position == scalars.count }
    var next: Unicode.Scalar? { isAtEnd ? nil : scalars[position] }

    private func part(_ range: Range<Int>) -> String { String(String.UnicodeScalarView(scalars[range])) }

    func error(_ text: String, at position: Int? = nil) -> ExpressionError {
        ExpressionError(column: part(0..<(position ?? self.position)).count + 1, text: text)
    }

    mutating func skipSpaces() { while let next, next.properties.isWhitespace { position += 1 } }

    /// Consumes a text if it comes next.
    mutating func take(_ text: String) -> Bool {
        let wanted = text.unicodeScalars
        guard scalars[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    /// Letters of any script, digits and underscores, of which the first is no digit; empty if something else comes next.
    mutating func takeWord() -> String {
        guard let next, next.isLetter || next == "_" else { return "" }
        return takeWhile { $0.isLetter || $0.isNumber || $0.isMark || $0 == "_" }
    }

    mutating func takeWhile(_ isPart: (Unicode.Scalar) -> Bool) -> String {
        let start = position
        while let next, isPart(next) { position += 1 }
        return part(start..<position)
    }

    /// A string as JSON has it, whose opening quote comes next.
    mutating func takeString() throws(ExpressionError) -> String {
        let start = position
        position += 1
        while let next, next != "\"" { position += next == "\\" && position + 1 < scalars.count ? 2 : 1 }
        guard take("\"") else { throw error("the string that begins here has no end", at: start) }
        do throws(JSONError) {
            guard case .string(let text) = try JSONTranscoder.parse(part(start..<position)) else {
                throw JSONError("it is no string")
            }
            return text
        } catch {
            throw self.error("\(error)", at: start)
        }
    }

    /// What comes next, for an error.
    var found: String { part(position..<scalars.count).first.map { "“\($0)”" } ?? "the end" }
}

extension Unicode.Scalar {
    var isDigit: Bool { ("0"..."9").contains(self) }
    var isLetter: Bool { properties.isAlphabetic }
    fileprivate var isNumber: Bool { properties.numericType != nil }
    /// Belongs to the letter before it, as an accent does.
    fileprivate var isMark: Bool { properties.isGraphemeExtend || properties.generalCategory == .spacingMark || self == "\u{200d}" }
}

// MARK: Paths

extension ValuePath {
    /// - Throws: `ExpressionError`, pointing at what is wrong.
    package init(parsing text: String) throws(ExpressionError) {
        var scanner = try TextScanner(text)
        scanner.skipSpaces()
        self = try ValuePath(from: &scanner)
        scanner.skipSpaces()
        guard scanner.isAtEnd else { throw scanner.error("expected `.`, `[` or the end, found \(scanner.found)") }
    }

    /// Reads a path and stops behind it.
    init(from scanner: inout TextScanner) throws(ExpressionError) {
        let start = scanner.position
        let word = scanner.takeWord()
        guard let root = Root(rawValue: word) else {
            let hint = word.isEmpty ? ", found \(scanner.found)" : ": did you mean `state.\(word)`?"
            throw scanner.error("a path begins with `state` or `view`\(hint)", at: start)
        }
        self.root = root
        while true {
            guard steps.count < Self.maximumSteps else { throw scanner.error("the path has more than \(Self.maximumSteps) steps") }
            guard let step = try Self.step(&scanner) else { return }
            steps.append(step)
        }
    }

    /// The next step; nil if something else comes next.
    static func step(_ scanner: inout TextScanner) throws(ExpressionError) -> Step? {
        if scanner.take("[") { return try bracketed(&scanner) }
        guard scanner.take(".") else { return nil }
        let name = scanner.takeWord()
        guard !name.isEmpty else {
            throw scanner.error("expected a name after `.`, found \(scanner.found); quote others: state[\"odd key\"]")
        }
        return .key(name)
    }

    private static func bracketed(_ scanner: inout TextScanner) throws(ExpressionError) -> Step {
        let step: Step
        if scanner.next == "\"" {
            step = .key(try scanner.takeString())
        } else {
            let start = scanner.position
            let digits = scanner.takeWhile(\.isDigit)
            guard let index = Int(digits) else {
                throw scanner.error("expected a number from 0 or a key in quotes after `[`, found \(scanner.found)", at: start)
            }
            step = .index(index)
        }
        guard scanner.take("]") else { throw scanner.error("expected `]`, found \(scanner.found)") }
        return step
    }
}
