// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Tally.Input: GeneratedCodable {
    public static var generatedForm: String? { "add(name: String) | count(by: Int, name: String) | remove(name: String) | setGoal(to: Int)" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .add(let v0):
            writer.beginCase("add", 1)
            writer.writeField("name", v0)
        case .count(let v0, let v1):
            writer.beginCase("count", 2)
            writer.writeField("by", v1)
            writer.writeField("name", v0)
        case .remove(let v0):
            writer.beginCase("remove", 1)
            writer.writeField("name", v0)
        case .setGoal(let v0):
            writer.beginCase("setGoal", 1)
            writer.writeField("to", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("add") {
            let v0: Swift.String = try reader.readField("name", &left)
            try reader.endFields(left)
            self = .add(name: v0)
        } else if var left = reader.readCase("count") {
            let v1: Swift.Int = try reader.readField("by", &left)
            let v0: Swift.String = try reader.readField("name", &left)
            try reader.endFields(left)
            self = .count(name: v0, by: v1)
        } else if var left = reader.readCase("remove") {
            let v0: Swift.String = try reader.readField("name", &left)
            try reader.endFields(left)
            self = .remove(name: v0)
        } else if var left = reader.readCase("setGoal") {
            let v0: Swift.Int = try reader.readField("to", &left)
            try reader.endFields(left)
            self = .setGoal(to: v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Tally.State: GeneratedCodable {
    public static var generatedForm: String? { "counts: [String: Int], goal: Int" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(2)
        writer.writeField("goal", self.goal)
        writer.writeField("counts", self.counts)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.goal = try reader.readField("goal", &left)
        self.counts = try reader.readField("counts", &left)
        try reader.endFields(left)
    }
}
