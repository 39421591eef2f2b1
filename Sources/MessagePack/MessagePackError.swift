/// Why bytes are not what the reader was asked for.
///
/// Thrown by ``MessagePackReader`` for every malformed, truncated or unexpected input, and by `MessagePackDecoder` for
/// bytes that are not one well-formed MessagePack value. No input traps.
public struct MessagePackError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What went wrong. Further kinds may come: compare with the ones you handle.
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The bytes end inside a value, or a header announces more than there is.
        case truncated
        /// The format byte `0xc1`, which the specification never uses.
        case invalidFormat
        /// A string is not UTF-8.
        case invalidUTF8
        /// The next value is of another type than the one asked for.
        case typeMismatch
        /// The next value is a number which does not fit the type asked for.
        case outOfRange
        /// Values are nested deeper than `MessagePackLimits.maximumDepth`.
        case tooDeep
        /// The bytes are more than `MessagePackLimits.maximumBytes`.
        case tooLarge
        /// Bytes follow the one value that was expected.
        case trailingBytes
        /// A well-formed value with a meaningless content, such as a timestamp with too many nanoseconds.
        case invalidValue

        /// The name of the code.
        public var description: String { rawValue }
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
