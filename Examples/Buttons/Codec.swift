// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Buttons.Effect: GeneratedCodable {
    public static var generatedForm: String? { "load() | save(_0: Int); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .load: writer.beginCase("load", 0)
        case .save(let v0):
            writer.beginCase("save", 1)
            writer.writeField("_0", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("load") {
            try reader.endFields(left)
            self = .load
        } else if var left = reader.readCase("save") {
            let v0: Swift.Int = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .save(v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Buttons.Input: GeneratedCodable {
    public static var generatedForm: String? { "add(by: Int) | load() | save(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .add(let v0):
            writer.beginCase("add", 1)
            writer.writeField("by", v0)
        case .load: writer.beginCase("load", 0)
        case .save: writer.beginCase("save", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("add") {
            let v0: Swift.Int = try reader.readField("by", &left)
            try reader.endFields(left)
            self = .add(by: v0)
        } else if let left = reader.readCase("load") {
            try reader.endFields(left)
            self = .load
        } else if let left = reader.readCase("save") {
            try reader.endFields(left)
            self = .save
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Buttons.Message: GeneratedCodable {
    public static var generatedForm: String? { "added(_0: Int) | failed(reason: String) | leaving() | loadAsked() | loaded(_0: Int) | returned() | saveAsked() | saved(_0: Int); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .added(let v0):
            writer.beginCase("added", 1)
            writer.writeField("_0", v0)
        case .failed(let v0):
            writer.beginCase("failed", 1)
            writer.writeField("reason", v0)
        case .leaving: writer.beginCase("leaving", 0)
        case .loadAsked: writer.beginCase("loadAsked", 0)
        case .loaded(let v0):
            writer.beginCase("loaded", 1)
            writer.writeField("_0", v0)
        case .returned: writer.beginCase("returned", 0)
        case .saveAsked: writer.beginCase("saveAsked", 0)
        case .saved(let v0):
            writer.beginCase("saved", 1)
            writer.writeField("_0", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("added") {
            let v0: Swift.Int = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .added(v0)
        } else if var left = reader.readCase("failed") {
            let v0: Swift.String = try reader.readField("reason", &left)
            try reader.endFields(left)
            self = .failed(reason: v0)
        } else if let left = reader.readCase("leaving") {
            try reader.endFields(left)
            self = .leaving
        } else if let left = reader.readCase("loadAsked") {
            try reader.endFields(left)
            self = .loadAsked
        } else if var left = reader.readCase("loaded") {
            let v0: Swift.Int = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .loaded(v0)
        } else if let left = reader.readCase("returned") {
            try reader.endFields(left)
            self = .returned
        } else if let left = reader.readCase("saveAsked") {
            try reader.endFields(left)
            self = .saveAsked
        } else if var left = reader.readCase("saved") {
            let v0: Swift.Int = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .saved(v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Buttons.State: GeneratedCodable {
    public static var generatedForm: String? { "count: Int, problem: String?, saved: Int?" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(1 + (self.saved == nil ? 0 : 1) + (self.problem == nil ? 0 : 1))
        writer.writeField("count", self.count)
        writer.writeFieldIfPresent("saved", self.saved)
        writer.writeFieldIfPresent("problem", self.problem)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.count = try reader.readField("count", &left)
        self.saved = try reader.readFieldIfPresent("saved", &left)
        self.problem = try reader.readFieldIfPresent("problem", &left)
        try reader.endFields(left)
    }
}
