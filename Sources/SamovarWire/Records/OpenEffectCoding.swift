package import MessagePack
package import SamovarCore

/// Effects in a snapshot, with their options.
extension OpenEffect {
    package func write(to writer: inout MessagePackWriter) {
        let history = history
        // Few have it, among them all that were requeued, and builds before it read the others.
        let isLater = history.ordered != nil
        writer.writeArrayHeader(isLater ? 17 : history.adoptedStream == nil ? 13 : 15)
        writer.write(id)
        writer.write(root)
        writer.write(instance)
        options.write(to: &writer)
        withPayload { writer.writeBinary($0) }
        writer.write(failures)
        writer.write(deaths)
        if let failed { writer.write(failed) } else { writer.writeNil() }
        writer.write(notBefore.microseconds)
        writer.writeOptional(expiry)
        writer.write(isCrowded)
        writer.writeOptional(place)
        if let adoptedStream = history.adoptedStream {
            writer.write(adoptedStream.lease)
            writer.write(adoptedStream.start)
        } else if isLater {
            writer.writeNil()
            writer.writeNil()
        }
        guard isLater else { return }
        writer.writeOptional(history.ordered)
        writer.writeOptional(history.requeued)
    }

    package init(from reader: inout MessagePackReader) throws {
        let fields = try reader.readArrayHeader()
        guard [13, 15, 17].contains(fields) else { throw WireError.malformed("an effect has 13, 15 or 17 fields, not \(fields)") }
        let id = try reader.readEffect()
        let root = try reader.readCount()
        guard id.turn >= 0 else { throw WireError.malformed("\(id) is no effect") }
        let instance = try reader.readInstance()
        let options = try RunOptions(from: &reader)
        let payload = try reader.readBinary()
        var history = History(
            failures: try reader.readCount(), deaths: try reader.readCount(),
            failed: try reader.readNil() ? nil : try reader.readLease(),
            notBefore: Timestamp(microseconds: try reader.readInt64()), expiry: try reader.readOptionalTimestamp(),
            isCrowded: try reader.readBool(), place: try reader.readOptionalPlace())
        if fields > 13 {
            if try reader.readNil() {
                guard try reader.readNil() else { throw WireError.malformed("a start without a lease") }
            } else {
                history.adoptedStream = AdoptedStream(lease: try reader.readLease(), start: try reader.readCount())
            }
        }
        if fields == 17 {
            history.ordered = try reader.readOptionalTimestamp()
            history.requeued = try reader.readOptionalEffect()
        }
        self.init(id: id, root: root, instance: instance, options: options, payload: payload, history: history)
    }
}

extension RunOptions {
    package func write(to writer: inout MessagePackWriter) {
        // Few have them, and builds before them read the others.
        let isLater = retry.keepsDead || !needs.isEmpty
        writer.writeArrayHeader(isLater ? 15 : 13)
        if let id { writer.write(id.text) } else { writer.writeNil() }
        writer.write(queue.name)
        writer.write(policy.code)
        writer.write(retry.attempts)
        writer.write(retry.first.microseconds)
        writer.write(retry.factor)
        writer.write(retry.maximum.microseconds)
        writer.write(priority)
        writer.write(delay.microseconds)
        writer.writeOptional(at)
        writer.writeOptional(limits.waiting)
        writer.writeOptional(limits.attempt)
        writer.writeOptional(limits.total)
        guard isLater else { return }
        writer.write(retry.keepsDead)
        writer.writeList(needs.sorted()) { $1.write($0) }
    }

    package init(from reader: inout MessagePackReader) throws {
        let fields = try reader.readArrayHeader()
        guard fields == 13 || fields == 15 else {
            throw WireError.malformed("the options of an effect have 13 or 15 fields, not \(fields)")
        }
        let id = try reader.readNil() ? nil : Label(try reader.readString())
        let queue = Queue(try reader.readString())
        let code = try reader.readInt()
        guard let policy = Policy(code: code) else { throw WireError.malformed("unknown policy \(code)") }
        let retry = Retry(
            attempts: try reader.readInt(), first: .microseconds(try reader.readInt64()), factor: try reader.readDouble(),
            maximum: .microseconds(try reader.readInt64()))
        self.init(
            id: id, queue: queue, policy: policy, retry: retry, priority: try reader.readInt(),
            delay: .microseconds(try reader.readInt64()), at: try reader.readOptionalTimestamp(),
            limits: RunLimits(
                waiting: try reader.readOptionalDuration(), attempt: try reader.readOptionalDuration(),
                total: try reader.readOptionalDuration()))
        guard fields == 15 else { return }
        if try reader.readBool() { self.retry = retry.keepingDead }
        needs = Set(try reader.readList { try $0.readString() })
    }
}

extension MessagePackWriter {
    package mutating func writeOptional(_ time: Timestamp?) {
        if let time { write(time.microseconds) } else { writeNil() }
    }

    package mutating func writeOptional(_ duration: Duration?) {
        if let duration { write(duration.microseconds) } else { writeNil() }
    }

    package mutating func writeOptional(_ effect: EffectID?) {
        guard let effect else { return writeNil() }
        writeArrayHeader(2)
        write(effect)
    }
}

extension MessagePackReader {
    package mutating func readOptionalTimestamp() throws -> Timestamp? {
        try readNil() ? nil : Timestamp(microseconds: try readInt64())
    }

    mutating func readOptionalDuration() throws -> Duration? {
        try readNil() ? nil : .microseconds(try readInt64())
    }

    package mutating func readOptionalEffect() throws -> EffectID? {
        if try readNil() { return nil }
        try readFields(2, of: "an effect's identity")
        return try readEffect()
    }
}

extension Policy {
    /// The limit has the 33 low bits of the number of a lane, and the width the 10 above.
    private static var laneBit: Int { 1 << 44 }
    private static var stopBit: Int { 1 << 43 }
    private static var widthShift: Int { 33 }

    /// The policy as a number, for the journal: that of the case, 3 plus the limit of `serial`, or the parts of a lane side by side.
    package var code: Int {
        switch self {
        case .all: return 0
        case .latest: return 1
        case .first: return 2
        case .serial(let limit): return 3 + Self.bounded(limit)
        case .lane(let width, let limit, let behindDead):
            return Self.laneBit | (behindDead == .stops ? Self.stopBit : 0) | Self.bounded(width: width) << Self.widthShift
                | Self.bounded(limit)
        }
    }

    init?(code: Int) {
        switch code {
        case 0: self = .all
        case 1: self = .latest
        case 2: self = .first
        case 4...(3 + 1 << 32): self = .serial(limit: code - 3)
        case Self.laneBit..<2 * Self.laneBit:
            let width = code >> Self.widthShift & (Self.stopBit >> Self.widthShift - 1)
            let limit = code & (1 << Self.widthShift - 1)
            guard Self.limits.contains(limit), (1...Self.widthLimit).contains(width) else { return nil }
            self = .lane(width: width, limit: limit, behindDead: code & Self.stopBit == 0 ? .goesOn : .stops)
        default: return nil
        }
    }
}
