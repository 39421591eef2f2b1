import MessagePack

extension Predicate {
    /// Brackets and signs inside each other.
    static let maximumDepth = 64
    /// Operators after each other, of one expression: a chain of them is a tree as deep as the chain is long.
    static let maximumOperators = 256

    /// - Throws: `ExpressionError`, pointing at what is wrong.
    init(parsing text: String) throws(ExpressionError) {
        var parser = PredicateParser(scanner: try TextScanner(text))
        self.init(root: try parser.document())
    }
}

/// By recursive descent, one function for each level of binding.
private struct PredicateParser {
    var scanner: TextScanner
    var depth = 0
    var operators = 0

    mutating func document() throws(ExpressionError) -> Predicate.Node {
        let node = try binary(level: 0)
        if scanner.next == "=" { throw scanner.error("`=` is no operator: did you mean `==`?") }
        guard scanner.isAtEnd else { throw scanner.error("expected an operator or the end, found \(scanner.found)") }
        return node
    }

    /// From those that bind least.
    private static let levels: [[Predicate.Operator]] = [
        [.or], [.and], [.equal, .unequal, .lessOrEqual, .greaterOrEqual, .less, .greater], [.plus, .minus],
        [.times, .divided, .remainder],
    ]
    private static let comparison = 2

    private mutating func binary(level: Int) throws(ExpressionError) -> Predicate.Node {
        guard level < Self.levels.count else { return try sign() }
        scanner.skipSpaces()
        if level == Self.comparison, scanner.next == "!" { return try negation() }
        var node = try binary(level: level + 1)
        var found = 0
        while let sign = takeOperator(Self.levels[level]) {
            found += 1
            operators += 1
            guard operators <= Predicate.maximumOperators else {
                throw scanner.error("it has more than \(Predicate.maximumOperators) operators")
            }
            guard level != Self.comparison || found == 1 else {
                throw scanner.error("comparisons do not chain: join two with `&&`")
            }
            node = .binary(sign, node, try binary(level: level + 1))
        }
        return node
    }

    private mutating func takeOperator(_ candidates: [Predicate.Operator]) -> Predicate.Operator? {
        scanner.skipSpaces()
        return candidates.first { scanner.take($0.rawValue) }
    }

    private mutating func negation() throws(ExpressionError) -> Predicate.Node {
        try deeper { (parser) throws(ExpressionError) in
            _ = parser.scanner.take("!")
            return .not(try parser.binary(level: Self.comparison))
        }
    }

    private mutating func sign() throws(ExpressionError) -> Predicate.Node {
        scanner.skipSpaces()
        return try deeper { (parser) throws(ExpressionError) in
            if parser.scanner.take("-") {
                return .binary(.minus, .value(.int(0)), try parser.sign())
            }
            if parser.scanner.take("(") {
                let node = try parser.binary(level: 0)
                try parser.close()
                return node
            }
            return try parser.operand()
        }
    }

    private mutating func operand() throws(ExpressionError) -> Predicate.Node {
        let start = scanner.position
        switch scanner.next {
        case "\"": return .value(.string(try scanner.takeString()))
        case let next? where next.isDigit: return .value(try number())
        default: break
        }
        var ahead = scanner
        switch ahead.takeWord() {
        case "true": return take(ahead, .bool(true))
        case "false": return take(ahead, .bool(false))
        case "null", "nil": return take(ahead, .nil)
        case "count":
            scanner = ahead
            scanner.skipSpaces()
            guard scanner.take("(") else { throw scanner.error("expected `(` after `count`, found \(scanner.found)") }
            scanner.skipSpaces()
            let path = try ValuePath(from: &scanner)
            try close()
            return .count(path)
        case "": throw scanner.error("expected a path, a number, a string or `(`, found \(scanner.found)", at: start)
        default: return .path(try ValuePath(from: &scanner))
        }
    }

    private mutating func take(_ ahead: TextScanner, _ value: MessagePackValue) -> Predicate.Node {
        scanner = ahead
        return .value(value)
    }

    private mutating func number() throws(ExpressionError) -> MessagePackValue {
        let start = scanner.position
        let isPart: (Unicode.Scalar) -> Bool = { $0.isASCII && ($0.isDigit || $0.isLetter || $0 == ".") }
        var text = scanner.takeWhile(isPart)
        // The sign of an exponent is a part of the number, and no operator.
        if text.last == "e" || text.last == "E", let sign = scanner.next, sign == "-" || sign == "+" {
            _ = scanner.take(String(sign))
            text += String(sign) + scanner.takeWhile(isPart)
        }
        do throws(JSONError) {
            return try JSONTranscoder.parse(text)
        } catch {
            throw scanner.error("“\(shortened(text, to: 40))” is no number", at: start)
        }
    }

    private mutating func close() throws(ExpressionError) {
        scanner.skipSpaces()
        guard scanner.take(")") else { throw scanner.error("expected `)`, found \(scanner.found)") }
    }

    private mutating func deeper(
        _ body: (inout PredicateParser) throws(ExpressionError) -> Predicate.Node
    ) throws(ExpressionError) -> Predicate.Node {
        guard depth < Predicate.maximumDepth else { throw scanner.error("it is nested deeper than \(Predicate.maximumDepth)") }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }
}
