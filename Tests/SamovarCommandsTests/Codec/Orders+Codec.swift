// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Orders.Address: GeneratedCodable {
    public static var generatedForm: String? { "aNameOfThirtyOneBytesIsTheLimit: Int, street: String" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(2)
        writer.writeField("street", self.street)
        writer.writeField("aNameOfThirtyOneBytesIsTheLimit", self.aNameOfThirtyOneBytesIsTheLimit)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.street = try reader.readField("street", &left)
        self.aNameOfThirtyOneBytesIsTheLimit = try reader.readField("aNameOfThirtyOneBytesIsTheLimit", &left)
        try reader.endFields(left)
    }
}

extension Orders.Input: GeneratedCodable {
    public static var generatedForm: String? { "grid(_0: [[Int?]], byNumber: [Int: SamovarCommandsTests.Orders.Item]) | in(a: Int?, items: [SamovarCommandsTests.Orders.Item], zebra: Int) | named(_0: String) | place(_0: SamovarCommandsTests.Orders.Item, at: Int) | reset() | through(inout: Int); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .grid(let v0, let v1):
            writer.beginCase("grid", 2)
            writer.writeField("_0", v0)
            writer.writeField("byNumber", v1)
        case .`in`(let v0, let v1, let v2):
            writer.beginCase("in", 2 + (v1 == nil ? 0 : 1))
            writer.writeFieldIfPresent("a", v1)
            writer.writeField("items", v2)
            writer.writeField("zebra", v0)
        case .named(let v0):
            writer.beginCase("named", 1)
            writer.writeField("_0", v0)
        case .place(let v0, let v1):
            writer.beginCase("place", 2)
            writer.writeField("_0", v0)
            writer.writeField("at", v1)
        case .reset: writer.beginCase("reset", 0)
        case .through(let v0):
            writer.beginCase("through", 1)
            writer.writeField("inout", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("grid") {
            let v0: Swift.Array<Swift.Array<Swift.Optional<Swift.Int>>> = try reader.readField("_0", &left)
            let v1: Swift.Dictionary<Swift.Int, Orders.Item> = try reader.readField("byNumber", &left)
            try reader.endFields(left)
            self = .grid(v0, byNumber: v1)
        } else if var left = reader.readCase("in") {
            let v1: Swift.Int? = try reader.readFieldIfPresent("a", &left)
            let v2: Swift.Array<Orders.Item> = try reader.readField("items", &left)
            let v0: Swift.Int = try reader.readField("zebra", &left)
            try reader.endFields(left)
            self = .`in`(zebra: v0, a: v1, items: v2)
        } else if var left = reader.readCase("named") {
            let v0: Swift.String = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .named(v0)
        } else if var left = reader.readCase("place") {
            let v0: Orders.Item = try reader.readField("_0", &left)
            let v1: Swift.Int = try reader.readField("at", &left)
            try reader.endFields(left)
            self = .place(v0, at: v1)
        } else if let left = reader.readCase("reset") {
            try reader.endFields(left)
            self = .reset
        } else if var left = reader.readCase("through") {
            let v0: Swift.Int = try reader.readField("inout", &left)
            try reader.endFields(left)
            self = .through(`inout`: v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Orders.Item: GeneratedCodable {
    public static var generatedForm: String? { "address: SamovarCommandsTests.Orders.Address?, at: SamovarCore.Timestamp, counts: [String: Int], default: Bool, id: SamovarCommandsTests.Orders.Reference, left: Int, level: SamovarCommandsTests.Orders.Level, name: String, note: String?, payload: Bytes, ratio: Double, reader: Int, seen: [Int], size: SamovarCommandsTests.Orders.Size, tags: [String], x: Double" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(14 + (self.note == nil ? 0 : 1) + (self.address == nil ? 0 : 1))
        writer.writeField("x", self.x)
        writer.writeField("at", self.at)
        writer.writeField("id", self.id)
        writer.writeField("left", self.left)
        writer.writeField("name", self.name)
        writer.writeFieldIfPresent("note", self.note)
        writer.writeField("seen", self.seen)
        writer.writeField("size", self.size)
        writer.writeField("tags", self.tags)
        writer.writeField("level", self.level)
        writer.writeField("ratio", self.ratio)
        writer.writeField("counts", self.counts)
        writer.writeField("reader", self.reader)
        writer.writeFieldIfPresent("address", self.address)
        writer.writeField("default", self.`default`)
        writer.writeField("payload", self.payload)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.x = try reader.readField("x", &left)
        self.at = try reader.readField("at", &left)
        self.id = try reader.readField("id", &left)
        self.left = try reader.readField("left", &left)
        self.name = try reader.readField("name", &left)
        self.note = try reader.readFieldIfPresent("note", &left)
        self.seen = try reader.readField("seen", &left)
        self.size = try reader.readField("size", &left)
        self.tags = try reader.readField("tags", &left)
        self.level = try reader.readField("level", &left)
        self.ratio = try reader.readField("ratio", &left)
        self.counts = try reader.readField("counts", &left)
        self.reader = try reader.readField("reader", &left)
        self.address = try reader.readFieldIfPresent("address", &left)
        self.`default` = try reader.readField("default", &left)
        self.payload = try reader.readField("payload", &left)
        try reader.endFields(left)
    }
}

extension Orders.Level: GeneratedCodable {}

extension Orders.Reference: GeneratedCodable {}

extension Orders.Size: GeneratedCodable {}

extension Orders.State: GeneratedCodable {
    public static var generatedForm: String? { "" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(0)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        let left = try reader.beginFields()
        try reader.endFields(left)
    }
}
