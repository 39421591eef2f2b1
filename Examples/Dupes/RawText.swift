/// Bytes that are nearly always text: what a file system calls a name.
///
/// Coded as a plain string where the bytes are UTF-8, so that people can read them, and as `{"bytes": …}` where they are not,
/// so that every name survives.
protocol RawText: Codable {
    var bytes: [UInt8] { get }
    init(bytes: [UInt8])
}

private enum RawTextKey: String, CodingKey {
    case bytes
}

extension RawText {
    init(from decoder: any Decoder) throws {
        do {
            self.init(bytes: Array(try decoder.singleValueContainer().decode(String.self).utf8))
        } catch let noText as DecodingError {
            // Nearly everybody meant to write a text, so what is no map either is told of as no text.
            guard let container = try? decoder.container(keyedBy: RawTextKey.self) else { throw noText }
            self.init(bytes: try container.decode([UInt8].self, forKey: .bytes))
        }
    }

    func encode(to encoder: any Encoder) throws {
        if let text = String(validating: bytes, as: UTF8.self) {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        } else {
            var container = encoder.container(keyedBy: RawTextKey.self)
            try container.encode(bytes, forKey: .bytes)
        }
    }
}
