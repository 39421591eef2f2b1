/// How much a reader, encoder or decoder accepts before it refuses with a typed error.
///
/// Encoder and decoder apply the same limits, so what was written with a set of limits can be read with it. Only how deep a
/// ``MessagePackable`` value nests is looked at where it is read, and not where it is written.
public struct MessagePackLimits: Hashable, Sendable {
    /// How deep arrays and maps may be nested. At most ``largestDepth``, because depth costs stack.
    public let maximumDepth: Int
    /// How long one message may be.
    public let maximumBytes: Int

    /// The deepest nesting any limits allow: what `Codable` takes for it fits a stack of 512 KiB, as a secondary thread may
    /// have (optimised; without optimisation, 1 MiB).
    public static let largestDepth = 128

    /// How many values of `Codable` types may be inside each other. More than arrays and maps, because a value may hand on
    /// to another one in its place, as an optional does.
    var maximumLevel: Int { 2 * maximumDepth + 16 }

    /// A depth of 64 and 64 MiB.
    public static let `default` = MessagePackLimits()

    /// - Parameters:
    ///   - maximumDepth: clamped to `0...largestDepth`.
    ///   - maximumBytes: clamped to at least 0.
    public init(maximumDepth: Int = 64, maximumBytes: Int = 64 << 20) {
        self.maximumDepth = min(max(maximumDepth, 0), Self.largestDepth)
        self.maximumBytes = max(maximumBytes, 0)
    }
}
