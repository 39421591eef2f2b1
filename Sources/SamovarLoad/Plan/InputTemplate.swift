public import MessagePack

/// An input with holes: `{n}` is its number among all inputs of the test, `{client}` that of its client, and `{sequence}` its number among
/// those of its client. All count from 1.
///
/// A hole is written as it stands: as a number outside of strings (`{"add":{"key":{n}}}`), and within them as a part of the text
/// (`{"add":{"key":"k{n}"}}`).
public struct InputTemplate: Equatable, Sendable {
    public enum Hole: String, CaseIterable, Sendable {
        case n, client, sequence

        var text: String { "{\(rawValue)}" }
        /// What stands for a hole that is a number. Nobody writes this noncharacter by hand.
        var mark: String { "\u{FFFF}\(rawValue)" }
    }

    private let value: MessagePackValue
    /// What to send if there are no holes: most of the cost of a template is then paid once.
    private let constant: [UInt8]?

    public init(_ value: MessagePackValue) {
        self.value = value
        constant = Self.hasHoles(value) ? nil : value.encoded
    }

    /// Text that is JSON, for the holes outside of strings are marks now. The quotes of JSON are scalars: with an accent behind it, one would
    /// be another character.
    public static func withMarks(_ text: String) -> String {
        var result = "".unicodeScalars
        var rest = text.unicodeScalars[...]
        var isInString = false
        while let scalar = rest.first {
            if !isInString, let hole = Hole.allCases.first(where: { rest.starts(with: $0.text.unicodeScalars) }) {
                result.append(contentsOf: "\"\(hole.mark)\"".unicodeScalars)
                rest = rest.dropFirst(hole.text.unicodeScalars.count)
                continue
            }
            if isInString, scalar == "\\" {
                result.append(contentsOf: rest.prefix(2))
                rest = rest.dropFirst(2)
                continue
            }
            if scalar == "\"" { isInString.toggle() }
            result.append(scalar)
            rest.removeFirst()
        }
        return String(result)
    }

    /// - Throws: `MessagePackError` if the bytes are no value.
    public init(encoded: [UInt8]) throws {
        self.init(try MessagePackValue(encoded: encoded))
    }

    /// With its holes.
    public var encoded: [UInt8] { value.encoded }

    /// The input in MessagePack.
    public func input(n: Int, client: Int, sequence: Int) -> [UInt8] {
        if let constant { return constant }
        return Self.filled(value) { hole in
            switch hole {
            case .n: n
            case .client: client
            case .sequence: sequence
            }
        }.encoded
    }

    private static func hasHoles(_ value: MessagePackValue) -> Bool {
        switch value {
        case .string(let text): Hole.allCases.contains { text == $0.mark || text.contains($0.text) }
        case .array(let values): values.contains(where: hasHoles)
        case .map(let pairs): pairs.contains { hasHoles($0.key) || hasHoles($0.value) }
        default: false
        }
    }

    private static func filled(_ value: MessagePackValue, _ number: (Hole) -> Int) -> MessagePackValue {
        switch value {
        case .string(let text):
            if let hole = Hole.allCases.first(where: { text == $0.mark }) { return .int(Int64(number(hole))) }
            return .string(Hole.allCases.reduce(text) { $0.replacing($1.text, with: "\(number($1))") })
        case .array(let values): return .array(values.map { filled($0, number) })
        case .map(let pairs): return .map(pairs.map { MessagePackPair(filled($0.key, number), filled($0.value, number)) })
        default: return value
        }
    }
}
