package import MessagePack
public import SamovarCore

/// A part of something that goes on: what follows a place, as far as it exists. A client asks for the next page when it has
/// used this one, so a slow client slows nobody.
public struct OutputPage: Equatable, Sendable {
    public var instance: Instance
    /// The place that was asked for.
    public var after: EffectID
    /// Outputs after the place and up to this one are not kept any more; nil if all are there.
    public var lost: EffectID?
    public var outputs: [EmittedOutput]

    public init(instance: Instance = .main, after: EffectID, lost: EffectID? = nil, outputs: [EmittedOutput]) {
        self.instance = instance
        self.after = after
        self.lost = lost
        self.outputs = outputs
    }

    func write(to writer: inout MessagePackWriter) {
        writer.write(instance)
        writer.write(after)
        writer.writeOptional(lost)
        writer.writeList(outputs) { $0.write(to: &$1) }
    }

    package init(from reader: inout MessagePackReader) throws {
        instance = try reader.readInstance()
        after = try reader.readEffect()
        lost = try reader.readOptionalEffect()
        outputs = try reader.readList { try EmittedOutput(from: &$0) }
    }
}

/// What a turn told other programs: its place among that turn's orders, and the output in MessagePack.
public struct EmittedOutput: Equatable, Sendable {
    public var id: EffectID
    public var bytes: [UInt8]

    public init(id: EffectID, bytes: [UInt8]) {
        self.id = id
        self.bytes = bytes
    }

    package func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(id)
        writer.writeBinary(bytes)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(3, of: "an output")
        self.init(id: try reader.readEffect(), bytes: try reader.readBinary())
    }
}

/// The view after one turn.
public struct TurnView: Equatable, Sendable {
    public var turn: Int
    /// In MessagePack.
    public var bytes: [UInt8]

    public init(turn: Int, bytes: [UInt8]) {
        self.turn = turn
        self.bytes = bytes
    }
}

/// The views of all turns after one that applied a message.
public struct ViewPage: Equatable, Sendable {
    public var instance: Instance
    /// The turn that was asked for.
    public var after: Int
    /// Some views between that turn and those of this page are not kept.
    public var isMissingSome: Bool
    public var views: [TurnView]

    /// In place of a turn: from the current view on.
    public static let now = -1

    public init(instance: Instance = .main, after: Int, isMissingSome: Bool = false, views: [TurnView]) {
        self.instance = instance
        self.after = after
        self.isMissingSome = isMissingSome
        self.views = views
    }

    func write(to writer: inout MessagePackWriter) {
        writer.write(instance)
        writer.write(isMissingSome)
        writer.writeList(views) { view, writer in
            writer.writeArrayHeader(2)
            writer.write(view.turn)
            writer.writeRaw(view.bytes)
        }
    }

    package init(after turn: Int, from reader: inout MessagePackReader) throws {
        after = turn
        instance = try reader.readInstance()
        isMissingSome = try reader.readBool()
        views = try reader.readList { reader in
            try reader.readFields(2, of: "a view of a turn")
            return TurnView(turn: try reader.readInt(), bytes: Array(try reader.readRaw()))
        }
    }
}
