/// How values of one type become MessagePack and come back, found out once for all values.
///
/// A type that is ``MessagePackable`` writes and reads itself, with nothing in between. Any other goes through `Codable`'s containers.
/// ``MessagePackEncoder`` and ``MessagePackDecoder`` find the same out for each value, which takes longer than a small value does.
/// What is found out about the types inside is kept, too, with some memory: up to 64 KiB for each level of a value. So are the newest
/// small values beside their bytes: what `encode(to:)` and `init(from:)` do must depend on the value and the bytes alone.
///
/// `@unchecked`: its closures hold an encoder, a decoder and a type found at run time, whose conformance the compiler cannot know to be
/// usable everywhere. Make it off the actors, as store and worker do: there the cast finds no conformance that belongs to one.
public struct ValueCodec<Value: Codable>: @unchecked Sendable {
    @usableFromInline let write: (Value, inout MessagePackWriter) throws -> Void
    @usableFromInline let read: (ArraySlice<UInt8>) throws -> Value

    /// What `encoder` writes and `decoder` reads.
    public init(_ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder) {
        if let packable = Value.self as? any (MessagePackable & Codable).Type {
            self = Self.packable(packable, encoder, decoder)
        } else {
            let encoding = KeptSession<EncodingSession>()
            let decoding = KeptSession<DecodingSession>()
            write = { try encoder.encode($0, into: &$1, encoding) }
            read = { try decoder.decode(Value.self, from: $0, decoding) }
        }
    }

    private init(
        write: @escaping (Value, inout MessagePackWriter) throws -> Void,
        read: @escaping (ArraySlice<UInt8>) throws -> Value
    ) {
        self.write = write
        self.read = read
    }

    /// Opens the type, which is `Value` under another name. Whatever goes wrong goes wrong again in encoder or decoder, which say how.
    private static func packable<Packable: MessagePackable & Codable>(
        _ type: Packable.Type, _ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder
    ) -> Self {
        let codec = ValueCodec<Packable> { value, writer in
            let start = writer.count
            value.write(to: &writer)
            guard writer.count - start > encoder.limits.maximumBytes else { return }
            writer.storage.removeSubrange(start...)
            try encoder.encode(value, into: &writer)
        } read: { bytes in
            do throws(MessagePackError) {
                return try Packable(directlyFrom: bytes, decoder)
            } catch {
                return try decoder.decode(Packable.self, from: bytes)
            }
        }
        // The same type, as `init` has just seen.
        return unsafeBitCast(codec, to: Self.self)
    }

    /// Encodes one value.
    ///
    /// - Throws: as ``MessagePackEncoder/encode(_:)``.
    @inlinable
    public func encode(_ value: Value) throws -> [UInt8] {
        // Most messages and effects are small; one allocation does for them.
        var writer = MessagePackWriter(reserving: 96)
        try write(value, &writer)
        return writer.storage
    }

    /// Encodes one value behind what the writer has. After an error the writer holds what it held before.
    ///
    /// - Throws: as ``MessagePackEncoder/encode(_:)``.
    @inlinable
    public func encode(_ value: Value, into writer: inout MessagePackWriter) throws {
        try write(value, &writer)
    }

    /// Decodes one value from all the bytes.
    ///
    /// - Throws: as `decode(_:from:)` of ``MessagePackDecoder``.
    @inlinable
    public func decode(_ bytes: [UInt8]) throws -> Value {
        try read(bytes[...])
    }

    /// Decodes one value from all the bytes of a slice, without copying it.
    ///
    /// - Throws: as `decode(_:from:)` of ``MessagePackDecoder``.
    @inlinable
    public func decode(_ bytes: ArraySlice<UInt8>) throws -> Value {
        try read(bytes)
    }
}

extension MessagePackable {
    /// Fails, however, if the bytes are not exactly one value of this type.
    fileprivate init(directlyFrom bytes: ArraySlice<UInt8>, _ decoder: MessagePackDecoder) throws(MessagePackError) {
        var reader = MessagePackReader(bytes, limits: decoder.limits, lenient: decoder.isLenient)
        // Holds off bytes that are too deep from a type which does not count the depth.
        try reader.skip()
        guard reader.isAtEnd else { throw reader.truncated() }
        reader.next = bytes.startIndex
        self = try Self(from: &reader)
        guard reader.isAtEnd else { throw reader.truncated() }
    }
}
