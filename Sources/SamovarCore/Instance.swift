/// The key of one independent state of a program. Unnamed programs have a single instance, `main`.
public struct Instance: ExpressibleByStringLiteral, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    public let key: String

    public init(_ key: String) {
        self.key = key
    }

    public init(stringLiteral key: String) {
        self.key = key
    }

    public static let main = Instance("main")

    public static func < (a: Instance, b: Instance) -> Bool { a.key < b.key }

    public var description: String { key }
}
