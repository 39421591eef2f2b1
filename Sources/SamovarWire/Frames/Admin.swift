public import MessagePack
import SamovarCore

/// What an operator asks of a running store, over its admin socket.
public struct AdminRequest: Equatable, Sendable {
    /// Chosen by the asker, repeated in the reply.
    public var id: Int
    public var verb: String
    public var arguments: MessagePackValue

    /// Verbs that change something: it is done once, however often it is asked for under the same number.
    package static let changes: Set<String> = ["requeue", "drop", "pause", "resume", "rule"]

    package var isChange: Bool { Self.changes.contains(verb) }

    public init(id: Int, verb: String, arguments: MessagePackValue = .nil) {
        self.id = id
        self.verb = verb
        self.arguments = arguments
    }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(id)
        writer.write(verb)
        writer.write(arguments)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(3, of: "a request")
        id = try reader.readInt()
        verb = try reader.readString()
        arguments = try reader.readValue()
    }
}

public struct AdminReply: Equatable, Sendable {
    public var id: Int
    /// Why it was not done, in at most 1,000 characters; nil if it was.
    public var refusal: String?
    public var value: MessagePackValue

    public init(id: Int, refusal: String? = nil, value: MessagePackValue = .nil) {
        self.id = id
        self.refusal = refusal?.bounded()
        self.value = value
    }

    /// Whether the same request may be granted later: such a refusal ends with the words that say so.
    package var isTemporary: Bool { refusal?.hasSuffix("ask again") ?? false }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(id)
        if let refusal { writer.write(refusal) } else { writer.writeNil() }
        writer.write(value)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(3, of: "a reply")
        id = try reader.readInt()
        refusal = try reader.readNil() ? nil : try reader.readString()
        value = try reader.readValue()
    }
}
