/// How values of one type become MessagePack and come back, found out once for all values.
///
/// A type that is ``MessagePackable`` writes and reads itself, with nothing in between. For one that is ``GeneratedCodable`` generated code
/// does, and `Codable` where that does not go on. Any other goes through `Codable`'s containers.
/// ``MessagePackEncoder`` and ``MessagePackDecoder`` find the same out for each value, which takes longer than a small value does.
/// What is found out about the types inside is kept, too, with some memory: up to 64 KiB for each level of a value. So are the last
/// small value that was encoded and the last that was decoded beside their bytes, if they are nothing but bits: what `encode(to:)` and
/// `init(from:)` do must depend on the value and on the bytes alone.
public struct ValueCodec<Value: Codable>: Sendable {
    @usableFromInline let coder: ValueCoder<Value>

    /// What `encoder` writes and `decoder` reads.
    public init(_ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder) {
        if let packable = Value.self as? any (MessagePackable & Codable).Type {
            coder = Self.coder(of: packable, encoder, decoder)
        } else if let generated = Value.self as? any GeneratedCodable.Type, GeneratedForms(of: Value.self).areCurrent,
            min(encoder.limits.maximumDepth, decoder.limits.maximumDepth) >= GeneratedForms.largestDepth
        {
            coder = Self.coder(of: generated, encoder, decoder)
        } else {
            coder = ValueCoder(encoder, decoder)
        }
    }

    /// Opens the type, which is `Value` under another name.
    private static func coder<Packable: MessagePackable & Codable>(
        of type: Packable.Type, _ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder
    ) -> ValueCoder<Value> {
        unsafeDowncast(PackableCoder<Packable>(encoder, decoder), to: ValueCoder<Value>.self)
    }

    private static func coder<Generated: GeneratedCodable>(
        of type: Generated.Type, _ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder
    ) -> ValueCoder<Value> {
        unsafeDowncast(GeneratedCoder<Generated>(encoder, decoder), to: ValueCoder<Value>.self)
    }

    /// Encodes one value.
    ///
    /// - Throws: as ``MessagePackEncoder/encode(_:)``.
    @inlinable
    public func encode(_ value: Value) throws -> [UInt8] {
        // Most messages and effects are small; one allocation does for them.
        var writer = MessagePackWriter(reserving: 96)
        try coder.write(value, to: &writer)
        return writer.storage
    }

    /// Encodes one value behind what the writer has. After an error the writer holds what it held before.
    ///
    /// - Throws: as ``MessagePackEncoder/encode(_:)``.
    @inlinable
    public func encode(_ value: Value, into writer: inout MessagePackWriter) throws {
        try coder.write(value, to: &writer)
    }

    /// Decodes one value from all the bytes.
    ///
    /// - Throws: as `decode(_:from:)` of ``MessagePackDecoder``.
    @inlinable
    public func decode(_ bytes: [UInt8]) throws -> Value {
        try coder.read(bytes[...])
    }

    /// Decodes one value from all the bytes of a slice, without copying it.
    ///
    /// - Throws: as `decode(_:from:)` of ``MessagePackDecoder``.
    @inlinable
    public func decode(_ bytes: ArraySlice<UInt8>) throws -> Value {
        try coder.read(bytes)
    }
}

/// How values go through `Codable`'s containers, which are kept, or better where a codec has found that out about its type. A class, and neither
/// closures nor a protocol: to call one of its methods counts no reference, and asks the runtime for no type.
///
/// `@unchecked`: it holds an encoder, a decoder, and what those keep between two calls, all of it `Sendable`; the type was
/// found at run time, and the compiler cannot know its conformance to be usable everywhere. Make codecs off the actors, as store and worker
/// do: there the cast finds no conformance that belongs to one.
@usableFromInline
class ValueCoder<Value: Codable>: @unchecked Sendable {
    fileprivate let encoder: MessagePackEncoder
    fileprivate let decoder: MessagePackDecoder
    private let encoding = PooledSession<EncodingSession>()
    private let decoding = PooledSession<DecodingSession>()

    fileprivate init(_ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder) {
        self.encoder = encoder
        self.decoder = decoder
    }

    @usableFromInline
    func write(_ value: Value, to writer: inout MessagePackWriter) throws {
        try encoding.with {
            EncodingSession(encoder)
        } _: {
            try $0.encodeOrRepeat(value, into: &writer)
        }
    }

    @usableFromInline
    func read(_ bytes: ArraySlice<UInt8>) throws -> Value {
        try decoding.with {
            DecodingSession(decoder)
        } _: {
            try $0.decodeOrRepeat(Value.self, from: bytes)
        }
    }

    /// Whether what was written from here on is too large. Then it is taken back, to be written through the containers, which say so.
    @inline(__always)
    fileprivate final func takesBack(from start: Int, _ writer: inout MessagePackWriter) -> Bool {
        guard writer.count - start > encoder.limits.maximumBytes else { return false }
        writer.storage.removeSubrange(start...)
        return true
    }
}

/// Lets generated code write and read, and the containers what that does not know.
///
/// `@unchecked` as its superclass: it adds nothing.
private final class GeneratedCoder<Value: GeneratedCodable>: ValueCoder<Value>, @unchecked Sendable {
    override func write(_ value: Value, to writer: inout MessagePackWriter) throws {
        let start = writer.count
        writer.writing(floats: encoder.floats) { value.encode(into: &$0) }
        if takesBack(from: start, &writer) { try super.write(value, to: &writer) }
    }

    override func read(_ bytes: ArraySlice<UInt8>) throws -> Value {
        var reader = MessagePackReader(bytes, limits: decoder.limits, lenient: decoder.isLenient)
        do throws(MessagePackError) {
            let value = try Value(decoding: &reader)
            if reader.isAtEnd { return value }
        } catch {
            // The bytes may be right all the same.
        }
        return try super.read(bytes)
    }
}

/// Lets values write and read themselves. Whatever goes wrong goes wrong again in the containers, which say how.
///
/// `@unchecked` as its superclass: it adds nothing.
private final class PackableCoder<Value: MessagePackable & Codable>: ValueCoder<Value>, @unchecked Sendable {
    override func write(_ value: Value, to writer: inout MessagePackWriter) throws {
        let start = writer.count
        writer.writing(floats: encoder.floats) { value.write(to: &$0) }
        if takesBack(from: start, &writer) { try super.write(value, to: &writer) }
    }

    override func read(_ bytes: ArraySlice<UInt8>) throws -> Value {
        var reader = MessagePackReader(bytes, limits: decoder.limits, lenient: decoder.isLenient)
        do throws(MessagePackError) {
            return try Value(directlyFrom: &reader)
        } catch {
            return try super.read(bytes)
        }
    }
}

extension MessagePackable {
    /// Fails, however, if the bytes of the reader are not exactly one value of this type.
    fileprivate init(directlyFrom reader: inout MessagePackReader) throws(MessagePackError) {
        if reader.nextIsContainer {
            // Holds off bytes that are too deep from a type which does not count the depth.
            try reader.skip()
            guard reader.isAtEnd else { throw reader.truncated() }
            reader.next = reader.bytes.startIndex
        }
        self = try Self(from: &reader)
        guard reader.isAtEnd else { throw reader.truncated() }
    }
}
