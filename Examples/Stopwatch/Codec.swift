// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Stopwatch.Input: GeneratedCodable {
    public static var generatedForm: String? { "reset() | start() | stop(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .reset: writer.beginCase("reset", 0)
        case .start: writer.beginCase("start", 0)
        case .stop: writer.beginCase("stop", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("reset") {
            try reader.endFields(left)
            self = .reset
        } else if let left = reader.readCase("start") {
            try reader.endFields(left)
            self = .start
        } else if let left = reader.readCase("stop") {
            try reader.endFields(left)
            self = .stop
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Stopwatch.Message: GeneratedCodable {
    public static var generatedForm: String? { "reset() | started() | stopped() | ticked(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .reset: writer.beginCase("reset", 0)
        case .started: writer.beginCase("started", 0)
        case .stopped: writer.beginCase("stopped", 0)
        case .ticked: writer.beginCase("ticked", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("reset") {
            try reader.endFields(left)
            self = .reset
        } else if let left = reader.readCase("started") {
            try reader.endFields(left)
            self = .started
        } else if let left = reader.readCase("stopped") {
            try reader.endFields(left)
            self = .stopped
        } else if let left = reader.readCase("ticked") {
            try reader.endFields(left)
            self = .ticked
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Stopwatch.ViewState: GeneratedCodable {
    public static var generatedForm: String? { "isRunning: Bool, time: String" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(2)
        writer.writeField("time", self.time)
        writer.writeField("isRunning", self.isRunning)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.time = try reader.readField("time", &left)
        self.isRunning = try reader.readField("isRunning", &left)
        try reader.endFields(left)
    }
}
