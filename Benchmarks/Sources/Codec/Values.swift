import MessagePack

/// What a store's programs have: plain `Codable` types, as the compiler synthesises them.
enum Plain {
    struct Entry: Codable, Equatable {
        var number: Int
        var text: String
    }

    enum Message: Codable, Equatable {
        case answer(number: Int)
        case renamed(Entry, at: Int?)
        case reset
    }

    struct Report: Codable, Equatable {
        var title: String
        var isDone: Bool
        var share: Double
        var entries: [Entry]
        var counts: [String: Int]
        var last: Message?
    }
}

/// The same, each of which writes and reads itself.
enum Packable {
    struct Entry: Codable, Equatable, MessagePackable {
        var number: Int
        var text: String
    }

    enum Message: Codable, Equatable, MessagePackable {
        case answer(number: Int)
        case reset
    }

    struct Report: Codable, Equatable, MessagePackable {
        var title: String
        var share: Double
        var digest: [UInt8]
        var entries: [Entry]
    }
}

extension Packable.Entry {
    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 2)
        number = try reader.readInt()
        text = try reader.readString()
    }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(number)
        writer.write(text)
    }
}

extension Packable.Message {
    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        self = try reader.readNil() ? .reset : .answer(number: reader.readInt())
    }

    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .answer(let number): writer.write(number)
        case .reset: writer.writeNil()
        }
    }
}

extension Packable.Report {
    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 4)
        title = try reader.readString()
        share = try reader.readDouble()
        digest = try reader.readBinary()
        entries = []
        for _ in 0..<(try reader.readArrayHeader()) { entries.append(try reader.read()) }
    }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        writer.write(title)
        writer.write(share)
        writer.writeBinary(digest)
        writer.writeArrayHeader(entries.count)
        for entry in entries { writer.write(entry) }
    }
}
