extension MessagePackValue {
    /// Reads one value from its bytes, however many they are.
    package init(encoded bytes: [UInt8]) throws(MessagePackError) {
        try self.init(encoded: bytes[...])
    }

    package init(encoded bytes: ArraySlice<UInt8>) throws(MessagePackError) {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        self = try reader.readValue()
    }

    package var encoded: [UInt8] {
        var writer = MessagePackWriter()
        write(to: &writer)
        return writer.bytes
    }
}
