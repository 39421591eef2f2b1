import MessagePack

/// What shall not be shown of the contents of a journal: a path, such as `message.signUp.password`, `effect.charge.cards[*].number` or
/// `*.password`, which means every part with this name, however deep.
package struct Redaction: Equatable, Sendable, CustomStringConvertible {
    /// What the path leads into.
    enum Root: String, CaseIterable {
        case message, effect, refusal
        /// The words in which a failure is told, which have no parts.
        case failure
    }

    /// Stands for what is not shown.
    static let placeholder = "(redacted)"

    package let description: String
    /// Nil for all of them, at any depth.
    let root: Root?
    /// Nil where any does.
    let steps: [ValuePath.Step?]

    /// - Throws: `ExpressionError`, pointing at what is wrong.
    package init(parsing text: String) throws(ExpressionError) {
        var scanner = try TextScanner(text)
        description = text
        if scanner.take("*") {
            root = nil
        } else {
            let word = scanner.takeWord()
            guard let root = Root(rawValue: word) else {
                let roots = Root.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                throw scanner.error("what is redacted begins with \(roots) or `*`", at: 0)
            }
            self.root = root
        }
        steps = try Self.steps(&scanner)
        if root == nil, steps.isEmpty { throw scanner.error("expected a name behind `*`: *.password") }
        if root == .failure, !steps.isEmpty { throw scanner.error("a failure is words, and has no parts", at: 0) }
    }

    private static func steps(_ scanner: inout TextScanner) throws(ExpressionError) -> [ValuePath.Step?] {
        var steps: [ValuePath.Step?] = []
        while !scanner.isAtEnd {
            guard steps.count < ValuePath.maximumSteps else {
                throw scanner.error("the path has more than \(ValuePath.maximumSteps) steps")
            }
            if scanner.take(".*") || scanner.take("[*]") {
                steps.append(nil)
            } else if let step = try ValuePath.step(&scanner) {
                steps.append(step)
            } else {
                throw scanner.error("expected `.`, `[` or the end, found \(scanner.found)")
            }
        }
        return steps
    }

    /// A value without what shall not be shown.
    ///
    /// - Parameter hit: is called if there was something.
    func applied(to value: MessagePackValue, of root: Root, _ hit: () -> Void) -> MessagePackValue {
        switch self.root {
        case nil: everywhere(in: value, hit)
        case root: Self.redacted(value, steps[...], hit)
        default: value
        }
    }

    private func everywhere(in value: MessagePackValue, _ hit: () -> Void) -> MessagePackValue {
        switch Self.redacted(value, steps[...], hit) {
        case .map(let pairs): .map(pairs.map { MessagePackPair($0.key, everywhere(in: $0.value, hit)) })
        case .array(let elements): .array(elements.map { everywhere(in: $0, hit) })
        case let other: other
        }
    }

    private static func redacted(
        _ value: MessagePackValue, _ steps: ArraySlice<ValuePath.Step?>, _ hit: () -> Void
    ) -> MessagePackValue {
        guard let step = steps.first else {
            hit()
            return .string(placeholder)
        }
        switch value {
        case .map(let pairs):
            return .map(
                pairs.map { pair in
                    guard step?.leads(to: pair.key) ?? true else { return pair }
                    return MessagePackPair(pair.key, redacted(pair.value, steps.dropFirst(), hit))
                })
        case .array(let elements):
            return .array(
                elements.enumerated().map { index, element in
                    step == nil || step == .index(index) ? redacted(element, steps.dropFirst(), hit) : element
                })
        default: return value
        }
    }
}
