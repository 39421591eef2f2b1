/// A `Codable` type whose MessagePack form is also known to code that `PROGRAM schema --codec` has written.
///
/// That code writes the bytes that `MessagePackEncoder` makes in canonical mode, and reads those, some ten times as fast. A
/// `ValueCodec` lets it try first: whatever it does not know, such as fields in another order or further ones, is read by `Codable`,
/// which also says what is wrong. So a conformance changes the speed of a type and nothing else; only a coding by hand that the
/// type gets after the code was written, with the same keys, is neither noticed nor used. Floats it writes as the encoder of the
/// codec does: by one that is not canonical each has its own bits.
///
/// Do not conform by hand: a type with a form of its own is `MessagePackable`.
public protocol GeneratedCodable: Codable {
    /// The keys, cases and types that the code was written for, as `Shape.Definition.generatedForm` puts them; nil if it holds for whatever
    /// the type is. A `ValueCodec` leaves code alone that was written for another form.
    static var generatedForm: String? { get }

    /// Writes the value as `MessagePackEncoder` does in canonical mode.
    func encode(into writer: inout MessagePackWriter)

    /// Reads what ``encode(into:)`` writes.
    ///
    /// - Throws: ``MessagePackError`` at anything else, also at what `Codable` takes. Where the reader stands then is not said.
    init(decoding reader: inout MessagePackReader) throws(MessagePackError)

    /// Writes an array of such values. There is an implementation for all types but bytes.
    static func encode(_ array: [Self], into writer: inout MessagePackWriter)

    /// Reads what ``encode(_:into:)`` writes.
    ///
    /// - Throws: as ``init(decoding:)``.
    static func decodeArray(from reader: inout MessagePackReader) throws(MessagePackError) -> [Self]
}

extension GeneratedCodable {
    /// The code holds for whatever the type is.
    public static var generatedForm: String? { nil }
}

/// An enum with raw values, or a struct around one: the code for it is this.
extension GeneratedCodable where Self: RawRepresentable, RawValue: GeneratedCodable {
    /// Writes the raw value.
    @inlinable
    public func encode(into writer: inout MessagePackWriter) {
        rawValue.encode(into: &writer)
    }

    /// Reads a raw value, which must be one of the type's.
    @inlinable
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        guard let value = Self(rawValue: try RawValue(decoding: &reader)) else { throw reader.notGenerated() }
        self = value
    }
}
