import MessagePack
public import SamovarCore
public import SamovarWire

/// What is in a capsule: the state before some turns, and what those had from outside, so that it can happen again anywhere.
///
/// In MessagePack: `[magic, format, program, version, secret, turn, state, last, [[follow-ups, turn, record], …]]`. A record is a batch of one, so
/// that it has its number for itself: between two of them there may be a hole.
public struct CapsuleContent: Equatable, Sendable {
    /// A record, and what followed from it.
    public struct Item: Equatable, Sendable {
        public var record: Record
        /// How many turns followed from it, with the numbers after its own.
        public var followUps: Int
    }

    /// Items of one capsule.
    public static let maximumItems = 1_000_000
    /// Bytes of one capsule.
    public static let maximumBytes = 256 << 20
    static let magic = "samovar capsule"
    static let format = 1

    public var schema: Schema
    /// Of which `Turn.random` and `Turn.uuid` are computed.
    public var secret: Secret
    /// The turn before the first one; 0 if there is none.
    public var turn: Int
    /// The state after it, in MessagePack; empty if there is none.
    public var state: [UInt8]
    /// The newest turn, follow-ups included.
    public var last: Int
    public var items: [Item]

    public init(schema: Schema, secret: Secret, turn: Int, state: [UInt8], last: Int, items: [Item]) {
        self.schema = schema
        self.secret = secret
        self.turn = turn
        self.state = state
        self.last = last
        self.items = items
    }
}

// MARK: Filling

extension CapsuleContent {
    /// Takes what a record brought from outside; a follow-up is only counted, and what the program never hears of is passed over.
    package mutating func note(_ record: Record) {
        if case .followUp = record.origin {
            if !items.isEmpty { items[items.count - 1].followUps += 1 }
        } else if record.isOfCapsule {
            items.append(Item(record: record, followUps: 0))
        }
    }

    /// The places of items that come and go together: of one answer, all messages. The start of the timeline is in none: without it there is no
    /// state.
    package var units: [[Int]] {
        var units: [[Int]] = []
        for (place, item) in items.enumerated() {
            if case .started = item.record.event { continue }
            if item.record.continuesGroup, !units.isEmpty { units[units.count - 1].append(place) } else { units.append([place]) }
        }
        return units
    }
}

extension Record {
    /// Whether the state, or what may still come, depends on it.
    fileprivate var isOfCapsule: Bool {
        switch event {
        case .started: turn == 1
        case .applied, .streamed, .done, .dead, .requeued, .dropped, .controlled, .divergenceAccepted: true
        // An item that was given up leaves its effect dead.
        case .quarantined: effect != nil
        case .refused, .attemptFailed, .workerJoined, .workerLeft, .sessionExpired, .drained, .stateDigest: false
        }
    }

    /// That which it answers, or is about.
    var effect: EffectID? {
        switch (event, origin) {
        case (.done(let effect), _), (.dead(let effect, _), _), (.requeued(let effect), _), (.dropped(let effect), _): effect
        case (_, .effect(let effect, _, _)), (_, .failure(let effect)): effect
        case (_, .store), (_, .client), (_, .operator), (_, .followUp), (_, .subscription): nil
        }
    }
}

/// A capsule that cannot be read, or cannot happen again.
public struct CapsuleError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description.bounded()
    }
}

// MARK: Bytes

extension CapsuleContent {
    public var bytes: [UInt8] {
        var writer = MessagePackWriter()
        writer.writeArrayHeader(9)
        writer.write(Self.magic)
        writer.write(Self.format)
        writer.write(schema.name)
        writer.write(schema.version)
        writer.write(UniqueID(high: secret.high, low: secret.low))
        writer.write(turn)
        writer.writeBinary(state)
        writer.write(last)
        writer.writeArrayHeader(items.count)
        for item in items {
            var batch = RecordBatch(after: item.record.turn - 1)
            batch.append(item.record)
            writer.writeArrayHeader(3)
            writer.write(item.followUps)
            writer.write(item.record.turn)
            writer.writeBinary(batch.bytes)
        }
        return writer.bytes
    }

    /// - Throws: `CapsuleError`.
    public init(bytes: [UInt8]) throws(CapsuleError) {
        do {
            var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: Self.maximumBytes))
            try self.init(from: &reader)
        } catch let error as CapsuleError {
            throw error
        } catch {
            throw CapsuleError("it is no capsule: \(error)")
        }
    }

    private init(from reader: inout MessagePackReader) throws {
        guard try reader.readArrayHeader() == 9, try reader.readString() == Self.magic else {
            throw CapsuleError("it is no capsule")
        }
        let format = try reader.readInt()
        guard format == Self.format else {
            throw CapsuleError("it is a capsule of format \(format); this build reads \(Self.format)")
        }
        schema = Schema(name: try reader.readString(), version: try reader.readCount())
        let key = try reader.readID()
        secret = Secret(high: key.high, low: key.low)
        turn = try reader.readCount()
        state = try reader.readBinary()
        last = try reader.readCount()
        let count = try reader.readArrayHeader()
        guard count <= Self.maximumItems else { throw CapsuleError("it has more than \(Self.maximumItems) records") }
        items = []
        var before = turn
        for _ in 0..<count {
            let item = try Self.item(from: &reader, after: before)
            before = item.record.turn
            items.append(item)
        }
        guard reader.isAtEnd else { throw CapsuleError("it has bytes after its end") }
    }

    private static func item(from reader: inout MessagePackReader, after before: Int) throws -> Item {
        guard try reader.readArrayHeader() == 3 else { throw CapsuleError("a record in it has not 3 parts") }
        let followUps = try reader.readCount()
        let turn = try reader.readCount()
        guard turn > before else { throw CapsuleError("turn \(turn) is behind turn \(before)") }
        var record: Record?
        try RecordBatch.read(first: turn, last: turn, bytes: try reader.readBinary()) { record = $0 }
        guard let record else { throw CapsuleError("turn \(turn) has no record") }
        return Item(record: record, followUps: followUps)
    }
}
