/// The key of one independent state of a program. Unnamed programs have a single instance, `main`.
public struct Instance: ExpressibleByStringLiteral, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    /// What names it.
    public let key: String

    /// The instance of this key.
    public init(_ key: String) {
        self.key = key
    }

    /// The instance of this key.
    public init(stringLiteral key: String) {
        self.key = key
    }

    /// The only one, so far.
    public static let main = Instance("main")

    /// By key.
    public static func < (a: Instance, b: Instance) -> Bool { a.key < b.key }

    /// Its key.
    public var description: String { key }
}
