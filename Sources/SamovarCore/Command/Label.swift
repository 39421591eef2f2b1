/// The name of an effect or a subscription within its program: what `cancel` and policies go by, and what keeps a timer the
/// same timer from one turn to the next.
///
/// ```swift
/// return .run(.probe(url), id: "probe \(url)", policy: .latest)
/// ```
public struct Label: ExpressibleByStringInterpolation, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    /// What it says.
    public let text: String

    /// A label that is made at run time.
    @inlinable
    public init(_ text: String) {
        self.text = text
    }

    /// A label in the source.
    @inlinable
    public init(stringLiteral text: String) {
        self.text = text
    }

    /// This label in the parent of a program: two children never share one, if their names have no `/`.
    public func under(_ prefix: String) -> Label { Label("\(prefix)/\(text)") }

    /// By text.
    @inlinable
    public static func < (a: Label, b: Label) -> Bool { a.text < b.text }

    /// Its text.
    public var description: String { text }
}
