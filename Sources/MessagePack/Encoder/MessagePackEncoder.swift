/// Encodes `Codable` values as MessagePack.
///
/// ```swift
/// let bytes = try MessagePackEncoder().encode(["count": 3])
/// ```
///
/// What the standard library's containers ask for, with these forms of its own:
/// - `[UInt8]` is binary data.
/// - A dictionary is a map if all its keys are encoded as strings or integers, whatever their type; else an array of keys
///   and values in turn. (By itself a dictionary asks for a map only with keys of type `String` and `Int`.)
/// - A ``MessagePackable`` value writes itself, as deep as it likes: see there.
///
/// The keys of other maps are strings. A value which encodes nothing is an empty map.
public struct MessagePackEncoder: Sendable {
    /// Whether equal values are encoded as equal bytes in every process.
    ///
    /// The pairs of every map are sorted by the bytes of their keys, the elements of every `Set` by their bytes; −0.0 is
    /// written as 0.0, and every NaN as one NaN. Not covered are types with an order or a writer of their own
    /// (``MessagePackable``), and strings which are equal only by Unicode's canonical equivalence.
    public let isCanonical: Bool
    /// How deep and how large what it writes may be.
    public let limits: MessagePackLimits
    /// Whether, if it is canonical, the fields of a type are sorted as the pairs of dictionaries are.
    private(set) var sortsFields = true
    private(set) var floats: FloatForm

    /// An encoder; it may be used again, from any thread.
    ///
    /// - Parameters:
    ///   - canonical: whether equal values shall be equal bytes; see ``isCanonical``.
    ///   - limits: how deep and how large what it writes may be.
    public init(canonical: Bool = false, limits: MessagePackLimits = .default) {
        isCanonical = canonical
        self.limits = limits
        floats = canonical ? .canonical : .exact
    }

    /// An encoder of what a store records: canonical, but for −0.0, which a program can tell from 0.0.
    package init(recording limits: MessagePackLimits) {
        self.init(canonical: true, limits: limits)
        floats = .oneNaN
    }

    /// An encoder of values that are shown: canonical, but for the fields of types, which stay in the order of their declaration.
    package init(keepingFieldsInOrder limits: MessagePackLimits) {
        self.init(canonical: true, limits: limits)
        sortsFields = false
    }

    /// Encodes one value.
    ///
    /// - Throws: ``MessagePackError`` if the value exceeds the limits, or what the value's `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
        var writer = MessagePackWriter()
        try encode(value, into: &writer)
        return writer.storage
    }

    /// Appends one encoded value. After an error the writer holds what it held before.
    ///
    /// - Throws: ``MessagePackError`` if the value exceeds the limits, or what the value's `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T, into writer: inout MessagePackWriter) throws {
        try EncodingSession(self).encode(value, into: &writer)
    }
}
