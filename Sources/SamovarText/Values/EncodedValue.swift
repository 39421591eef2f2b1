package import MessagePack

extension MessagePackValue {
    /// Reads one value from its bytes.
    package init(encoded bytes: [UInt8]) throws(MessagePackError) {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        self = try reader.readValue()
    }

    package var encoded: [UInt8] {
        var writer = MessagePackWriter()
        write(to: &writer)
        return writer.bytes
    }
}
