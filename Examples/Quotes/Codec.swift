// Written by `schema --codec`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
// Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
// A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
// swift-format-ignore-file

import Samovar

extension Fetcher.Effect: GeneratedCodable {
    public static var generatedForm: String? { "fetch(number: Int)" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .fetch(let v0):
            writer.beginCase("fetch", 1)
            writer.writeField("number", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("fetch") {
            let v0: Swift.Int = try reader.readField("number", &left)
            try reader.endFields(left)
            self = .fetch(number: v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Fetcher.Message: GeneratedCodable {
    public static var generatedForm: String? { "failed(reason: String) | fetched(_0: QuotesExample.Quote) | wanted(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .failed(let v0):
            writer.beginCase("failed", 1)
            writer.writeField("reason", v0)
        case .fetched(let v0):
            writer.beginCase("fetched", 1)
            writer.writeField("_0", v0)
        case .wanted: writer.beginCase("wanted", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("failed") {
            let v0: Swift.String = try reader.readField("reason", &left)
            try reader.endFields(left)
            self = .failed(reason: v0)
        } else if var left = reader.readCase("fetched") {
            let v0: Quote = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .fetched(v0)
        } else if let left = reader.readCase("wanted") {
            try reader.endFields(left)
            self = .wanted
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Fetcher.State: GeneratedCodable {
    public static var generatedForm: String? { "isBusy: Bool, problem: String?, quote: QuotesExample.Quote?" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(1 + (self.quote == nil ? 0 : 1) + (self.problem == nil ? 0 : 1))
        writer.writeFieldIfPresent("quote", self.quote)
        writer.writeField("isBusy", self.isBusy)
        writer.writeFieldIfPresent("problem", self.problem)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.quote = try reader.readFieldIfPresent("quote", &left)
        self.isBusy = try reader.readField("isBusy", &left)
        self.problem = try reader.readFieldIfPresent("problem", &left)
        try reader.endFields(left)
    }
}

extension Quote: GeneratedCodable {
    public static var generatedForm: String? { "author: String, text: String" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(2)
        writer.writeField("text", self.text)
        writer.writeField("author", self.author)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.text = try reader.readField("text", &left)
        self.author = try reader.readField("author", &left)
        try reader.endFields(left)
    }
}

extension Quotes.Effect: GeneratedCodable {
    public static var generatedForm: String? { "fetcher(_0: QuotesExample.Fetcher.Effect)" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .fetcher(let v0):
            writer.beginCase("fetcher", 1)
            writer.writeField("_0", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("fetcher") {
            let v0: Fetcher.Effect = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .fetcher(v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Quotes.Input: GeneratedCodable {
    public static var generatedForm: String? { "keep() | next(); version 2" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .keep: writer.beginCase("keep", 0)
        case .next: writer.beginCase("next", 0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if let left = reader.readCase("keep") {
            try reader.endFields(left)
            self = .keep
        } else if let left = reader.readCase("next") {
            try reader.endFields(left)
            self = .next
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Quotes.Message: GeneratedCodable {
    public static var generatedForm: String? { "fetcher(_0: QuotesExample.Fetcher.Message) | kept(_0: QuotesExample.Quote)" }

    public func encode(into writer: inout MessagePackWriter) {
        switch self {
        case .fetcher(let v0):
            writer.beginCase("fetcher", 1)
            writer.writeField("_0", v0)
        case .kept(let v0):
            writer.beginCase("kept", 1)
            writer.writeField("_0", v0)
        }
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.beginCase()
        if var left = reader.readCase("fetcher") {
            let v0: Fetcher.Message = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .fetcher(v0)
        } else if var left = reader.readCase("kept") {
            let v0: Quote = try reader.readField("_0", &left)
            try reader.endFields(left)
            self = .kept(v0)
        } else {
            throw reader.notGenerated()
        }
    }
}

extension Quotes.State: GeneratedCodable {
    public static var generatedForm: String? { "fetcher: QuotesExample.Fetcher.State, kept: [QuotesExample.Quote]" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(2)
        writer.writeField("kept", self.kept)
        writer.writeField("fetcher", self.fetcher)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.kept = try reader.readField("kept", &left)
        self.fetcher = try reader.readField("fetcher", &left)
        try reader.endFields(left)
    }
}

extension Quotes.ViewState: GeneratedCodable {
    public static var generatedForm: String? { "kept: [QuotesExample.Quote], quote: QuotesExample.Quote?, status: String" }

    public func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(2 + (self.quote == nil ? 0 : 1))
        writer.writeField("kept", self.kept)
        writer.writeFieldIfPresent("quote", self.quote)
        writer.writeField("status", self.status)
    }

    public init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        self.kept = try reader.readField("kept", &left)
        self.quote = try reader.readFieldIfPresent("quote", &left)
        self.status = try reader.readField("status", &left)
        try reader.endFields(left)
    }
}
