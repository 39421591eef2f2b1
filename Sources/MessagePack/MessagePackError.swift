/// Why bytes are not what the reader was asked for.
///
/// Thrown by ``MessagePackReader`` for every malformed, truncated or unexpected input, and by `MessagePackDecoder` for
/// bytes that are not one well-formed MessagePack value. No input traps.
public struct MessagePackError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What went wrong, open to growth: switch over it with a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        @usableFromInline
        enum Kind: String, Sendable {
            case truncated, invalidFormat, invalidUTF8, typeMismatch, outOfRange, tooDeep, tooLarge, trailingBytes, invalidValue
        }

        @usableFromInline let kind: Kind

        @usableFromInline
        init(_ kind: Kind) { self.kind = kind }

        /// The name of the code.
        public var description: String { kind.rawValue }

        /// The bytes end inside a value, or a header announces more than there is.
        public static var truncated: Code { Code(.truncated) }
        /// The format byte `0xc1`, which the specification never uses.
        public static var invalidFormat: Code { Code(.invalidFormat) }
        /// A string is not UTF-8.
        public static var invalidUTF8: Code { Code(.invalidUTF8) }
        /// The next value is of another type than the one asked for.
        public static var typeMismatch: Code { Code(.typeMismatch) }
        /// The next value is a number which does not fit the type asked for.
        public static var outOfRange: Code { Code(.outOfRange) }
        /// Values are nested deeper than `MessagePackLimits.maximumDepth`.
        public static var tooDeep: Code { Code(.tooDeep) }
        /// The bytes are more than `MessagePackLimits.maximumBytes`.
        public static var tooLarge: Code { Code(.tooLarge) }
        /// Bytes follow the one value that was expected.
        public static var trailingBytes: Code { Code(.trailingBytes) }
        /// A well-formed value with a meaningless content, such as a timestamp with too many nanoseconds.
        public static var invalidValue: Code { Code(.invalidValue) }
    }

    /// What went wrong, for code.
    public let code: Code
    /// What was expected and what was found, for people.
    public let message: String
    /// Where the offending value begins, counted from the first byte given to the reader.
    public let offset: Int

    /// Makes an error, for a `MessagePackable` type which refuses what it reads.
    public init(_ code: Code, _ message: String, offset: Int) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    /// What went wrong and where, for people.
    public var description: String { "\(message) (byte \(offset))" }
}
