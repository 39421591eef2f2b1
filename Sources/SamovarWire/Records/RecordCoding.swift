package import MessagePack
public import SamovarCore

/// Records are MessagePack arrays, one after the other. The turn is not written: a batch knows its first number, and there are
/// no holes. The time is written as the difference to the record before, because most turns of a batch share one.
extension Record {
    func write(to writer: inout MessagePackWriter, after previous: Timestamp) {
        let delay = time.microseconds &- previous.microseconds
        writer.writeShort(Self.headValues) { Self.writeHead(to: &$0, kind: event.kind, delay: delay, hasSender: sender != nil) }
        writer.write(instance)
        writer.writeShort(Origin.values + 1, bytes: Origin.bytes) {
            origin.write(to: &$0)
            $0.write(root)
        }
        event.write(to: &writer)
        sender?.write(to: &writer)
    }

    fileprivate static var headValues: Int { 3 }

    fileprivate static func writeHead(to values: inout ShortWriter, kind: Event.Kind, delay: Int64, hasSender: Bool) {
        values.writeArrayHeader(hasSender ? 7 : 6)
        values.write(kind.rawValue)
        values.write(delay)
    }

    package init(from reader: inout MessagePackReader, turn: Int, after previous: Timestamp) throws {
        let hasSender = try reader.readFields(6, orMore: 7, of: "a record")
        let code = try reader.readInt()
        guard let kind = Event.Kind(rawValue: code) else { throw UnknownKind(code: code) }
        self.turn = turn
        time = Timestamp(microseconds: previous.microseconds &+ (try reader.readInt64()))
        instance = try reader.readInstance()
        origin = try Origin(from: &reader)
        root = try reader.readInt()
        event = try Event(kind, from: &reader)
        sender = hasSender ? try Sender(from: &reader) : nil
    }
}

private struct UnknownKind: Error {
    let code: Int
}

extension Record.Event {
    /// What it is, with its number in the journal.
    package enum Kind: Int, CaseIterable, Sendable {
        case started = 1, applied, refused, attemptFailed, done, dead, requeued, dropped, workerJoined, workerLeft, sessionExpired,
            drained
        case quarantined, divergenceAccepted, streamed, controlled, stateDigest
    }

    package var kind: Kind {
        switch self {
        case .started: .started
        case .applied: .applied
        case .refused: .refused
        case .attemptFailed: .attemptFailed
        case .done: .done
        case .dead: .dead
        case .requeued: .requeued
        case .dropped: .dropped
        case .workerJoined: .workerJoined
        case .workerLeft: .workerLeft
        case .sessionExpired: .sessionExpired
        case .drained: .drained
        case .quarantined: .quarantined
        case .divergenceAccepted: .divergenceAccepted
        case .streamed: .streamed
        case .controlled: .controlled
        case .stateDigest: .stateDigest
        }
    }

    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .started(let number, let build, let schema, let seed):
            writer.writeArrayHeader(5)
            writer.write(number)
            writer.write(build)
            writer.write(schema)
            writer.writeBinary(seed)
        case .applied(let message, let hash, let closes):
            message.withUnsafeBytes { message in
                writer.writeShort(Self.appliedValues, bytes: message.count) {
                    Self.writeApplied(to: &$0, message: message, hash: hash, closes: closes)
                }
            }
        case .streamed(let message, let hash, let checkpoint):
            writer.writeArrayHeader(3)
            writer.writeBinary(message)
            writer.write(hash)
            writer.writeOptional(checkpoint)
        case .refused(let verdict):
            writer.writeArrayHeader(2)
            verdict.write(to: &writer)
        case .attemptFailed(let effect, let reason, let text, let notBefore):
            writer.writeArrayHeader(5)
            writer.write(effect)
            writer.write(reason.rawValue)
            writer.write(text)
            writer.write(notBefore.microseconds)
        case .dead(let effect, let failure):
            writer.writeArrayHeader(5)
            writer.write(effect)
            failure.write(to: &writer)
        case .done(let effect), .requeued(let effect), .dropped(let effect):
            writer.writeArrayHeader(2)
            writer.write(effect)
        case .workerJoined(let id), .workerLeft(let id), .sessionExpired(let id): writer.write(id)
        case .drained: writer.writeNil()
        case .divergenceAccepted(let turn, let hash, let build):
            writer.writeArrayHeader(3)
            writer.write(turn)
            writer.write(hash)
            writer.write(build)
        case .quarantined(let text):
            writer.writeArrayHeader(1)
            writer.write(text)
        case .controlled(let control): control.write(to: &writer)
        case .stateDigest(let digest):
            writer.writeArrayHeader(1)
            writer.write(digest)
        }
    }

    fileprivate static var appliedValues: Int { 4 }

    fileprivate static func writeApplied(
        to values: inout ShortWriter, message: UnsafeRawBufferPointer, hash: UInt64, closes: Bool
    ) {
        values.writeArrayHeader(3)
        values.writeBinary(message)
        values.write(hash)
        values.write(closes)
    }

    package init(_ kind: Kind, from reader: inout MessagePackReader) throws {
        switch kind {
        case .started:
            try reader.readFields(5, of: "started")
            self = .started(
                number: try reader.readCount(), build: try reader.readString(), schema: try reader.readSchema(),
                seed: try reader.readBinary())
        case .applied:
            try reader.readFields(3, of: "applied")
            self = .applied(message: try reader.readBinary(), hash: try reader.readUInt64(), closes: try reader.readBool())
        case .refused:
            try reader.readFields(2, of: "refused")
            self = .refused(try Outcome.Verdict(from: &reader))
        case .attemptFailed:
            try reader.readFields(5, of: "attemptFailed")
            self = .attemptFailed(
                try reader.readEffect(), try reader.readReason(), try reader.readString(),
                notBefore: Timestamp(microseconds: try reader.readInt64()))
        case .dead:
            try reader.readFields(5, of: "dead")
            self = .dead(try reader.readEffect(), try Failure(from: &reader))
        case .done, .requeued, .dropped:
            try reader.readFields(2, of: "an effect's record")
            let effect = try reader.readEffect()
            self = kind == .done ? .done(effect) : kind == .requeued ? .requeued(effect) : .dropped(effect)
        case .workerJoined: self = .workerJoined(try reader.readID())
        case .workerLeft: self = .workerLeft(try reader.readID())
        case .sessionExpired: self = .sessionExpired(try reader.readID())
        case .drained:
            guard try reader.readNil() else { throw WireError.malformed("drained carries nothing") }
            self = .drained
        case .divergenceAccepted:
            try reader.readFields(3, of: "divergenceAccepted")
            self = .divergenceAccepted(
                turn: try reader.readCount(), hash: try reader.readUInt64(), build: try reader.readString())
        case .quarantined:
            try reader.readFields(1, of: "quarantined")
            self = .quarantined(try reader.readString())
        case .streamed:
            try reader.readFields(3, of: "streamed")
            self = .streamed(
                message: try reader.readBinary(), hash: try reader.readUInt64(), checkpoint: try reader.readOptionalBinary())
        case .controlled: self = .controlled(try Control(from: &reader))
        case .stateDigest:
            try reader.readFields(1, of: "stateDigest")
            self = .stateDigest(try reader.readUInt64())
        }
    }
}

extension Sender {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(name.description)
        writer.writeBinary(fingerprint.bytes)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(2, of: "a sender")
        self.init(name: try reader.readKeyName(), fingerprint: try reader.readFingerprint())
    }
}

extension Failure {
    /// Three values.
    package func write(to writer: inout MessagePackWriter) {
        writer.write(reason.rawValue)
        writer.write(text)
        writer.write(attempts)
    }

    package init(from reader: inout MessagePackReader) throws {
        self.init(reason: try reader.readReason(), text: try reader.readString(), attempts: try reader.readInt())
    }
}

extension MessagePackReader {
    /// A number that the store counts on from: far from where that would overflow.
    package mutating func readCount() throws -> Int {
        let count = try readInt()
        guard (0...Int.max / 4).contains(count) else { throw WireError.malformed("\(count) is no count") }
        return count
    }

    package mutating func readKeyName() throws -> KeyName {
        guard let name = KeyName(try readString()) else { throw WireError.malformed("no name of a key") }
        return name
    }

    mutating func readFingerprint() throws -> Fingerprint {
        guard let fingerprint = Fingerprint(bytes: try readBinary()) else { throw WireError.malformed("no fingerprint of a key") }
        return fingerprint
    }

    mutating func readReason() throws -> Failure.Reason {
        let name = try readString()
        guard let reason = Failure.Reason(rawValue: name) else { throw WireError.malformed("unknown reason \(name)") }
        return reason
    }
}

extension Origin {
    /// How many short values it has at most, and how many further bytes.
    fileprivate static var values: Int { 8 }
    fileprivate static var bytes: Int { 16 }

    fileprivate func write(to values: inout ShortWriter) {
        switch self {
        case .store: values.writeNil()
        case .client(let session, let sequence):
            values.writeArrayHeader(3)
            values.write(1)
            values.write(session)
            values.write(sequence)
        case .effect(let effect, let lease, let index):
            values.writeArrayHeader(5)
            values.write(2)
            values.write(effect)
            values.write(lease)
            values.write(index)
        case .failure(let effect):
            values.writeArrayHeader(3)
            values.write(3)
            values.write(effect)
        case .followUp(let turn):
            values.writeArrayHeader(2)
            values.write(4)
            values.write(turn)
        case .operator:
            values.writeArrayHeader(1)
            values.write(5)
        case .subscription(let activation, let nominal):
            values.writeArrayHeader(4)
            values.write(6)
            values.write(activation)
            values.write(nominal.microseconds)
        }
    }

    package init(from reader: inout MessagePackReader) throws {
        if try reader.readNil() {
            self = .store
            return
        }
        let fields = try reader.readArrayHeader()
        let code = try reader.readInt()
        switch (code, fields) {
        case (1, 3): self = .client(session: try reader.readID(), sequence: try reader.readCount())
        case (2, 5):
            self = .effect(try reader.readEffect(), lease: try reader.readLease(), index: try reader.readInt())
        case (3, 3): self = .failure(try reader.readEffect())
        case (4, 2): self = .followUp(of: try reader.readInt())
        case (5, 1): self = .operator
        case (6, 4):
            self = .subscription(try reader.readEffect(), nominal: Timestamp(microseconds: try reader.readInt64()))
        default: throw WireError.malformed("unknown origin \(code) of \(fields) fields")
        }
    }
}

/// The records of one batch, written one by one and read one by one.
public struct RecordBatch: Sendable {
    public let first: Int
    public private(set) var last: Int
    private var time = Timestamp(microseconds: 0)
    private var writer: MessagePackWriter

    public init(after turn: Int) {
        first = turn + 1
        last = turn
        writer = MessagePackWriter()
    }

    public var isEmpty: Bool { last < first }
    public var turns: Int { last - first + 1 }
    public var bytes: [UInt8] { writer.bytes }
    public var byteCount: Int { writer.count }

    public mutating func append(_ record: Record) {
        precondition(record.turn == last + 1, "turn \(record.turn) does not follow \(last)")
        record.write(to: &writer, after: time)
        time = record.time
        last = record.turn
    }

    /// Appends the record of a message that was applied, which is what nearly all records are, without making one first.
    @usableFromInline
    package mutating func append(
        applied message: UnsafeRawBufferPointer, hash: UInt64, closes: Bool, turn: Turn, root: Int
    ) {
        precondition(turn.number == last + 1, "turn \(turn.number) does not follow \(last)")
        let delay = turn.now.microseconds &- time.microseconds
        let count = Record.headValues + 1 + Origin.values + 1 + Record.Event.appliedValues
        writer.writeShort(count, bytes: Origin.bytes + message.count) {
            Record.writeHead(to: &$0, kind: .applied, delay: delay, hasSender: turn.sender != nil)
            $0.writeNil()
            turn.origin.write(to: &$0)
            $0.write(root)
            Record.Event.writeApplied(to: &$0, message: message, hash: hash, closes: closes)
        }
        turn.sender?.write(to: &writer)
        time = turn.now
        last = turn.number
    }

    /// Reads the records of a stored batch in order.
    ///
    /// - Throws: `ReplayError` naming the turn that could not be read; what `body` throws.
    public static func read(first: Int, last: Int, bytes: [UInt8], _ body: (Record) throws -> Void) throws {
        // A group is written whole, and what was written must be read: the batch has no limit here.
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        var time = Timestamp(microseconds: 0)
        for turn in first...max(first, last) {
            let record: Record
            do {
                record = try Record(from: &reader, turn: turn, after: time)
            } catch let unknown as UnknownKind {
                throw ReplayError(turn: turn, unknownKind: unknown.code)
            } catch {
                throw ReplayError(turn: turn, "the record cannot be read: \(error)")
            }
            time = record.time
            try body(record)
        }
        guard reader.isAtEnd else { throw ReplayError(turn: last, "the batch has bytes after its last record") }
    }
}
