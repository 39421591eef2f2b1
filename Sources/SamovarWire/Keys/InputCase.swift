import MessagePack

/// The case of the enum that encoded bytes are a value of: their only key, or their text where it has no values. Nil if they are no case.
package func inputCase(of bytes: [UInt8]) -> String? {
    var reader = MessagePackReader(bytes)
    do {
        if try reader.peekType() == .string { return try reader.readString() }
        guard try reader.readMapHeader() == 1 else { return nil }
        return try reader.readString()
    } catch {
        return nil
    }
}
