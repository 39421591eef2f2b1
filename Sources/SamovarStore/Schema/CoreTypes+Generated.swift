public import MessagePack
public import SamovarCore

// The types of SamovarCore that programs have in their own, so that generated code goes on with them.

extension Timestamp: GeneratedCodable {
    /// Writes the microseconds.
    public func encode(into writer: inout MessagePackWriter) {
        writer.write(microseconds)
    }

    /// Reads microseconds.
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        self.init(microseconds: try reader.readInt64())
    }
}

extension NoSeed: GeneratedCodable {
    /// Writes an empty map.
    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(0)
    }

    /// Reads an empty map.
    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.endFields(try reader.beginFields())
        self.init()
    }
}
