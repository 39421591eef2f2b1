// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Twice.Effect: GeneratedCodable {
    public static var generatedForm: String? { "log(text: String)" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .log(let v0):
            writer.beginCase("log", 1)
            writer.writeField("text", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("log") {
            let v0: Swift.String = try reader.readField("text", &left)
            try reader.endFields(left)
            self = .log(text: v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Twice.Message: GeneratedCodable {
    public static var generatedForm: String? { "once() | twice(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .once: writer.beginCase("once", 0)
        case .twice: writer.beginCase("twice", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("once") {
            try reader.endFields(left)
            self = .once
        } else if let left = reader.readCase("twice") {
            try reader.endFields(left)
            self = .twice
        } else {
            throw reader.notGenerated()
        }
    }
}
