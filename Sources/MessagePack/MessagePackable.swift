/// A type which writes and reads itself, past the containers of `Codable`.
///
/// ``MessagePackEncoder`` and ``MessagePackDecoder`` use it wherever such a value stands, also inside `Codable` types, where
/// it is some ten times as fast. It is also the way to give a type of another module, such as a date, a form of its own.
///
/// ```swift
/// extension Position: MessagePackable {
///     func write(to writer: inout MessagePackWriter) {
///         writer.writeArrayHeader(2)
///         writer.write(x)
///         writer.write(y)
///     }
///     init(from reader: inout MessagePackReader) throws(MessagePackError) {
///         try reader.readArrayHeader(of: 2)
///         x = try reader.readInt()
///         y = try reader.readInt()
///     }
/// }
/// ```
///
/// Both must handle exactly one value; the decoder refuses a reader left elsewhere. In canonical mode it is the type's own
/// duty to write equal values as equal bytes. Children are read with ``MessagePackReader/read(_:)``, which counts the depth.
///
/// **Nothing counts the depth of what is written.** A value in which arrays and maps are nested deeper than
/// ``MessagePackLimits/maximumDepth``, 64 unless it is set, is encoded without an error, and refused as `tooDeep` where it is read;
/// a message, after it was journalled. The headers are the type's own, so only reading all that was written would tell how deep it
/// is, at each value. So a type whose values may contain values of the same type bounds their depth where they are made, or goes
/// through `Codable`, whose containers are counted when they are written. A `TestStore` finds messages that are too deep, as far as
/// the test has the program make them.
public protocol MessagePackable {
    func write(to writer: inout MessagePackWriter)
    init(from reader: inout MessagePackReader) throws(MessagePackError)
}

extension MessagePackWriter {
    /// Writes one value of a type with a form of its own.
    @inlinable
    public mutating func write(_ value: some MessagePackable) {
        value.write(to: &self)
    }
}
