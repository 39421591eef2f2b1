// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension GeneratedEffect: GeneratedCodable {
    public static var generatedForm: String? { "payload: Bytes" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(1)
        writer.writeField("payload", self.payload)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.payload = try reader.readField("payload", &left)
        try reader.endFields(left)
    }
}

extension GeneratedMessage: GeneratedCodable {
    public static var generatedForm: String? { "answer(number: Int) | order(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .answer(let v0):
            writer.beginCase("answer", 1)
            writer.writeField("number", v0)
        case .order: writer.beginCase("order", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("answer") {
            let v0: Swift.Int = try reader.readField("number", &left)
            try reader.endFields(left)
            self = .answer(number: v0)
        } else if let left = reader.readCase("order") {
            try reader.endFields(left)
            self = .order
        } else {
            throw reader.notGenerated()
        }
    }
}
