import MessagePack

func hex(_ text: String) -> [UInt8] {
    let digits = Array(text)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
}

func hex(_ bytes: some Collection<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func written(_ write: (inout MessagePackWriter) -> Void) -> String {
    var writer = MessagePackWriter()
    write(&writer)
    return hex(writer.bytes)
}

/// Reads from all of the bytes.
func read<T>(_ bytes: String, _ read: (inout MessagePackReader) throws -> T) throws -> T {
    var reader = MessagePackReader(hex(bytes))
    let value = try read(&reader)
    guard reader.isAtEnd else { throw MessagePackError(.trailingBytes, "not all was read", offset: reader.position) }
    return value
}
