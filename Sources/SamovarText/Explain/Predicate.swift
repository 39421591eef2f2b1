import MessagePack

/// An expression over a state or a view, such as `state.left < 0` or `count(state.orders) > 10`: what `bisect` looks for.
///
/// ```
/// or      = and { "||" and }
/// and     = not { "&&" not }
/// not     = "!" not | comparison
/// comparison = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum ]
/// sum     = product { ( "+" | "-" ) product }
/// product = sign { ( "*" | "/" | "%" ) sign }
/// sign    = "-" sign | number | string | "true" | "false" | "null" | path | "count" "(" path ")" | "(" or ")"
/// ```
///
/// Total: what is not there is `null`, also the result of a calculation with what is no number, of a division by zero and of one that no
/// number can hold. Values of different kinds are unequal and neither is less; of all values, only `true` is true.
package struct Predicate: Equatable, Sendable {
    indirect enum Node: Equatable, Sendable {
        case value(MessagePackValue)
        case path(ValuePath)
        case count(ValuePath)
        case not(Node)
        case binary(Operator, Node, Node)
    }

    enum Operator: String, Sendable {
        case or = "||"
        case and = "&&"
        case equal = "=="
        case unequal = "!="
        case lessOrEqual = "<="
        case greaterOrEqual = ">="
        case less = "<"
        case greater = ">"
        case plus = "+"
        case minus = "-"
        case times = "*"
        case divided = "/"
        case remainder = "%"
    }

    let root: Node
    /// Those that occur.
    private(set) var paths: Set<ValuePath> = []

    init(root: Node) {
        self.root = root
        collect(root)
    }

    private mutating func collect(_ node: Node) {
        switch node {
        case .value: return
        case .path(let path), .count(let path): paths.insert(path)
        case .not(let part): collect(part)
        case .binary(_, let one, let other):
            collect(one)
            collect(other)
        }
    }

    var usesState: Bool { paths.contains { $0.root == .state } }
    var usesView: Bool { paths.contains { $0.root == .view } }

    /// Whether it is true.
    ///
    /// - Parameter part: what a path leads to, in MessagePack; nil if there is nothing.
    func holds(_ part: (ValuePath) throws -> ArraySlice<UInt8>?) rethrows -> Bool {
        try Self.evaluate(root, part) == .bool(true)
    }
}

// MARK: Evaluating

extension Predicate {
    private static func evaluate(_ node: Node, _ part: (ValuePath) throws -> ArraySlice<UInt8>?) rethrows -> MessagePackValue {
        switch node {
        case .value(let value): return value
        // What is no value is nothing.
        case .path(let path): return try part(path).flatMap { try? MessagePackValue(encoded: $0) } ?? .nil
        case .count(let path): return try part(path).map(count) ?? .nil
        case .not(let part1): return .bool(try evaluate(part1, part) != .bool(true))
        case .binary(.or, let one, let other):
            if try evaluate(one, part) == .bool(true) { return .bool(true) }
            return .bool(try evaluate(other, part) == .bool(true))
        case .binary(.and, let one, let other):
            guard try evaluate(one, part) == .bool(true) else { return .bool(false) }
            return .bool(try evaluate(other, part) == .bool(true))
        case .binary(let sign, let one, let other):
            return apply(sign, try evaluate(one, part), try evaluate(other, part))
        }
    }

    /// Of the elements of a sequence, the pairs of a map, the characters of a text.
    private static func count(_ bytes: ArraySlice<UInt8>) -> MessagePackValue {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        do {
            return switch try reader.peekType() {
            case .array: .int(Int64(try reader.readArrayHeader()))
            case .map: .int(Int64(try reader.readMapHeader()))
            case .string: .int(Int64(try reader.readString().count))
            default: .nil
            }
        } catch {
            // What is no value has no parts.
            return .nil
        }
    }

    private static func apply(_ sign: Operator, _ one: MessagePackValue, _ other: MessagePackValue) -> MessagePackValue {
        switch sign {
        case .equal: .bool(isEqual(one, other))
        case .unequal: .bool(!isEqual(one, other))
        case .less: .bool(isLess(one, other))
        case .greater: .bool(isLess(other, one))
        case .lessOrEqual: .bool(isLess(one, other) || areComparable(one, other) && isEqual(one, other))
        case .greaterOrEqual: .bool(isLess(other, one) || areComparable(one, other) && isEqual(one, other))
        case .plus, .minus, .times, .divided, .remainder: calculate(sign, one, other)
        case .or: .bool(one == .bool(true) || other == .bool(true))
        case .and: .bool(one == .bool(true) && other == .bool(true))
        }
    }

    private static func areComparable(_ one: MessagePackValue, _ other: MessagePackValue) -> Bool {
        if case (.string, .string) = (one, other) { return true }
        return one.asDouble != nil && other.asDouble != nil
    }

    private static func isEqual(_ one: MessagePackValue, _ other: MessagePackValue) -> Bool {
        guard one != other else { return true }
        // Whole numbers are equal only as themselves.
        guard let a = one.asDouble, let b = other.asDouble, isFloat(one) || isFloat(other) else { return false }
        return a == b
    }

    private static func isLess(_ one: MessagePackValue, _ other: MessagePackValue) -> Bool {
        switch (one, other) {
        case (.string(let a), .string(let b)): return a < b
        case (.int(let a), .int(let b)): return a < b
        case (.uint(let a), .uint(let b)): return a < b
        // A `uint` is always beyond every `int`.
        case (.int, .uint): return true
        case (.uint, .int): return false
        default:
            guard let a = one.asDouble, let b = other.asDouble else { return false }
            return a < b
        }
    }

    private static func isFloat(_ value: MessagePackValue) -> Bool {
        switch value {
        case .float, .double: true
        default: false
        }
    }

    /// Of a whole number, with room for what is calculated of two of them.
    private static func whole(_ value: MessagePackValue) -> Int128? {
        switch value {
        case .int(let value): Int128(value)
        case .uint(let value): Int128(value)
        default: nil
        }
    }

    private static func calculate(_ sign: Operator, _ one: MessagePackValue, _ other: MessagePackValue) -> MessagePackValue {
        if let a = whole(one), let b = whole(other) {
            let (result, overflow) =
                switch sign {
                case .plus: a.addingReportingOverflow(b)
                case .minus: a.subtractingReportingOverflow(b)
                case .times: a.multipliedReportingOverflow(by: b)
                case .divided: a.dividedReportingOverflow(by: b)
                default: a.remainderReportingOverflow(dividingBy: b)
                }
            if overflow { return .nil }
            if let number = Int64(exactly: result) { return .int(number) }
            if let number = UInt64(exactly: result) { return .uint(number) }
            return .nil
        }
        guard let a = one.asDouble, let b = other.asDouble else { return .nil }
        let result =
            switch sign {
            case .plus: a + b
            case .minus: a - b
            case .times: a * b
            case .divided: a / b
            default: a.truncatingRemainder(dividingBy: b)
            }
        return result.isFinite ? .double(result) : .nil
    }
}
