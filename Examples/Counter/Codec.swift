// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Counter.Effect: GeneratedCodable {
    public static var generatedForm: String? { "addOne(to: Int)" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .addOne(let v0):
            writer.beginCase("addOne", 1)
            writer.writeField("to", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("addOne") {
            let v0: Swift.Int = try reader.readField("to", &left)
            try reader.endFields(left)
            self = .addOne(to: v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Counter.Input: GeneratedCodable {
    public static var generatedForm: String? { "decrement() | increment() | incrementAsync(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .decrement: writer.beginCase("decrement", 0)
        case .increment: writer.beginCase("increment", 0)
        case .incrementAsync: writer.beginCase("incrementAsync", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("decrement") {
            try reader.endFields(left)
            self = .decrement
        } else if let left = reader.readCase("increment") {
            try reader.endFields(left)
            self = .increment
        } else if let left = reader.readCase("incrementAsync") {
            try reader.endFields(left)
            self = .incrementAsync
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Counter.Message: GeneratedCodable {
    public static var generatedForm: String? { "decremented() | finished(count: Int) | gaveUp(reason: String) | incremented() | started(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .decremented: writer.beginCase("decremented", 0)
        case .finished(let v0):
            writer.beginCase("finished", 1)
            writer.writeField("count", v0)
        case .gaveUp(let v0):
            writer.beginCase("gaveUp", 1)
            writer.writeField("reason", v0)
        case .incremented: writer.beginCase("incremented", 0)
        case .started: writer.beginCase("started", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("decremented") {
            try reader.endFields(left)
            self = .decremented
        } else if var left = reader.readCase("finished") {
            let v0: Swift.Int = try reader.readField("count", &left)
            try reader.endFields(left)
            self = .finished(count: v0)
        } else if var left = reader.readCase("gaveUp") {
            let v0: Swift.String = try reader.readField("reason", &left)
            try reader.endFields(left)
            self = .gaveUp(reason: v0)
        } else if let left = reader.readCase("incremented") {
            try reader.endFields(left)
            self = .incremented
        } else if let left = reader.readCase("started") {
            try reader.endFields(left)
            self = .started
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Counter.State: GeneratedCodable {
    public static var generatedForm: String? { "async: Int, isBusy: Bool, problem: String?, sync: Int" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(3 + (self.problem == nil ? 0 : 1))
        writer.writeField("sync", self.sync)
        writer.writeField("async", self.async)
        writer.writeField("isBusy", self.isBusy)
        writer.writeFieldIfPresent("problem", self.problem)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.sync = try reader.readField("sync", &left)
        self.async = try reader.readField("async", &left)
        self.isBusy = try reader.readField("isBusy", &left)
        self.problem = try reader.readFieldIfPresent("problem", &left)
        try reader.endFields(left)
    }
}

extension Counter.ViewState: GeneratedCodable {
    public static var generatedForm: String? { "async: String, status: String, sync: String" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(3)
        writer.writeField("sync", self.sync)
        writer.writeField("async", self.async)
        writer.writeField("status", self.status)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.sync = try reader.readField("sync", &left)
        self.async = try reader.readField("async", &left)
        self.status = try reader.readField("status", &left)
        try reader.endFields(left)
    }
}
