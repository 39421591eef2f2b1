/// Decodes `Codable` values from MessagePack, straight from the bytes.
///
/// ```swift
/// let counts = try MessagePackDecoder().decode([String: Int].self, from: bytes)
/// ```
///
/// It reads what ``MessagePackEncoder`` writes, and also what other writers make of the same types: every width of a number,
/// arrays of integers for `[UInt8]`, keys that are integers, dictionaries as arrays of keys and values in turn. Of several
/// equal keys one counts, always the same one for a type and its bytes: the first, as long as fields come in order. In a
/// dictionary they are an error.
///
/// Bytes never trap, and neither their depth nor a count they announce costs more than the limits allow.
public struct MessagePackDecoder: Sendable {
    /// How deep and how large what it reads may be.
    public let limits: MessagePackLimits

    /// Whether values are accepted that were transcoded from JSON without knowing their types, as a person types them:
    /// an integer for a float, a float with an integral value for an integer, base64 text for `[UInt8]`, and a bare string
    /// for an enum's case without values (`"reset"` for `{"reset": {}}`).
    public let isLenient: Bool

    /// Whether a field which the type does not have is an error. To a person a misspelt optional field must not be silent, so a lenient
    /// decoder refuses it, unless it is told otherwise: for what was recorded, a field that is gone is none that is missing.
    public let refusesUnknownFields: Bool

    /// A decoder; it may be used again, from any thread.
    ///
    /// - Parameters:
    ///   - limits: how deep and how large what it reads may be.
    ///   - lenient: whether values are taken that came from JSON; see ``isLenient``.
    ///   - refusingUnknownFields: see ``refusesUnknownFields``; nil for what a decoder does by itself.
    public init(limits: MessagePackLimits = .default, lenient: Bool = false, refusingUnknownFields: Bool? = nil) {
        self.limits = limits
        isLenient = lenient
        refusesUnknownFields = refusingUnknownFields ?? lenient
    }

    /// Decodes one value from all the bytes.
    ///
    /// - Throws: `DecodingError` if the value does not fit the type, with a path and a text that names the field;
    ///   ``MessagePackError`` if the bytes are not exactly one MessagePack value, or exceed the limits; besides, what the
    ///   type's `init(from:)` throws. ``describe(decodingFailure:of:)`` puts any of them into a sentence.
    public func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws -> T {
        try decode(type, from: bytes[...])
    }

    /// Decodes one value from all the bytes of a slice, without copying it. The offset of an error counts from its start.
    ///
    /// - Throws: as ``decode(_:from:)``.
    public func decode<T: Decodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        try DecodingSession(self).decode(type, from: bytes)
    }

    /// Decodes one value from all the bytes of any collection, which are copied.
    ///
    /// - Throws: as ``decode(_:from:)``.
    public func decode<T: Decodable>(_ type: T.Type, from bytes: some Collection<UInt8>) throws -> T {
        try decode(type, from: [UInt8](bytes))
    }
}
