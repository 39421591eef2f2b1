import MessagePack
import SamovarCore
import SamovarWire

/// A snapshot holds what a replay up to its turn would give, so that a start need not replay everything. It is a cache: the
/// journal is the truth.
extension StoreState {
    /// Another format is no error of the journal: an older snapshot, or the whole journal, will do.
    static let snapshotVersion = 10
    /// The number of its fields, by format. Format 6 lacks the sessions that their clients have ended, 7 what is paused and the rules of
    /// queues, and 8 the keys of sessions and workers: the builds that wrote them remembered none. Format 10 is 9 behind a start whose
    /// subscriptions go by label.
    fileprivate static let snapshotFields = [6: 16, 7: 17, 8: 18, 9: 18, 10: 18]

    /// Reads the beginning of a snapshot: its format, and of how many values it is an array.
    fileprivate static func readFormat(_ reader: inout MessagePackReader) throws -> (version: Int, fields: Int) {
        let fields = try reader.readArrayHeader()
        let version = try reader.readInt()
        guard let expected = snapshotFields[version] else { throw SnapshotFormatError(format: version) }
        guard fields == expected else { throw WireError.malformed("a snapshot has \(expected) fields, not \(fields)") }
        return (version, fields)
    }

    func snapshot() throws -> [UInt8] {
        var writer = MessagePackWriter()
        writer.writeArrayHeader(18)
        writer.write(subscriptions.isByLabel ? Self.snapshotVersion : 9)
        writer.write(engine.schema.version)
        writer.write(head)
        writer.write(time.microseconds)
        writer.write(starts)
        writer.writeBinary(seed)
        writer.writeBinary(try engine.state())
        let open = ledger.open.values.sorted { $0.id < $1.id }
        writer.writeList(open) { $0.write(to: &$1) }
        writer.writeList(ledger.dead.values.sorted { $0.effect.id < $1.effect.id }) { dead, writer in
            writer.writeArrayHeader(4)
            dead.effect.write(to: &writer)
            dead.failure.write(to: &writer)
        }
        let known = sessions.sessions.sorted { $0.key < $1.key }
        writer.writeList(known) { entry, writer in
            let owner = entry.value.owner
            writer.writeArrayHeader(owner == nil ? 3 : 4)
            writer.write(entry.key)
            writer.write(entry.value.last)
            writer.writeList(Array(entry.value.outcomes)) { $0.write(to: &$1) }
            if let owner { writer.write("\(owner)") }
        }
        writer.writeList(joined.sorted()) { id, writer in
            writer.writeArrayHeader(workerKeys[id] == nil ? 2 : 3)
            writer.write(id)
            writer.writeOptional(missing[id])
            if let name = workerKeys[id] { writer.write("\(name)") }
        }
        writer.writeList(ledger.cancelled) { $0.write(to: &$1) }
        writer.writeList(subscriptions.activations.values.sorted { $0.id < $1.id }) { $0.write(to: &$1) }
        writer.writeList(Array(outputs.outputs)) { $0.write(to: &$1) }
        writer.writeOptional(outputs.forgotten)
        sessions.expired.write(to: &writer)
        sessions.closed.write(to: &writer)
        ledger.controls.write(to: &writer)
        return writer.bytes
    }

    /// - Returns: the version of the program that wrote it.
    @discardableResult
    mutating func restore(_ bytes: [UInt8]) throws -> Int {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        let version = try Self.readFormat(&reader).version
        let author = try reader.readCount()
        let head = try reader.readCount()
        time = Timestamp(microseconds: try reader.readInt64())
        starts = try reader.readCount()
        seed = try reader.readBinary()
        try engine.restore(state: try reader.readBinary(), head: head, writtenBy: author)
        let open = try reader.readList { (try OpenEffect(from: &$0), Failure?.none) }
        let dead = try reader.readList { reader in
            try reader.readFields(4, of: "a dead effect")
            return (try OpenEffect(from: &reader), Failure?.some(try Failure(from: &reader)))
        }
        // In the order in which they took their places among those with their label.
        let effects = (open + dead).sorted { ($0.0.opened, $0.0.id) < ($1.0.opened, $1.0.id) }
        for (effect, _) in effects { ledger.open(try migrated(effect, from: author)) }
        for case (let effect, let failure?) in effects { ledger.bury(effect.id, failure) }
        _ = try reader.readList { reader in
            let hasOwner = try reader.readFields(3, orMore: 4, of: "a session")
            let id = try reader.readID()
            let last = try reader.readCount()
            let outcomes = try reader.readList { try Outcome(from: &$0) }
            guard outcomes.allSatisfy({ $0.sequence > 0 && $0.sequence <= last }) else {
                throw WireError.malformed("session \(id) has outcomes of inputs that it never sent")
            }
            // A former build has kept texts of any length.
            let owner = hasOwner ? try reader.readKeyName() : nil
            sessions.restore(id, owner: owner, last: last, outcomes: outcomes.map(\.bounded))
        }
        _ = try reader.readList { reader in
            let hasKey = try reader.readFields(2, orMore: 3, of: "a worker")
            let id = try reader.readID()
            joined.insert(id)
            missing[id] = try reader.readOptionalTimestamp()
            if hasKey { workerKeys[id] = try reader.readKeyName() }
        }
        ledger.restore(cancelled: try reader.readList { try EffectLedger.Cancelled(from: &$0) })
        subscriptions.restore(try reader.readList { try SubscriptionTable.Activation(from: &$0) })
        let kept = try reader.readList { try EmittedOutput(from: &$0) }
        outputs.restore(kept, forgotten: try reader.readOptionalEffect())
        let expired = try EndedSessions(from: &reader)
        sessions.restore(expired: expired, closed: version < 7 ? EndedSessions() : try EndedSessions(from: &reader))
        builds.insert("")
        // Such a snapshot is of a start of this build, or of one after it.
        ledger.cancelsDead = version >= 8
        subscriptions.isByLabel = version >= 10
        if version >= 8 { ledger.restore(try QueueControls(from: &reader)) }
        // Nobody runs anything yet.
        ledger.forgetChanges()
        return author
    }

    /// An effect of another version of the program, as this one reads it. A source that it cannot read it does not want either: its start ends
    /// that.
    private func migrated(_ effect: OpenEffect, from author: Int) throws(MigrationError) -> OpenEffect {
        guard author < engine.schema.version else { return effect }
        do throws(MigrationError) {
            return effect.with(payload: try engine.migrated(effect: effect.payload, from: author))
        } catch {
            if effect.isSource { return effect }
            throw MigrationError(text: "effect \(effect.id): \(error)")
        }
    }
}

/// A snapshot that another build wrote in a format which this one does not read. It need not be damaged.
public struct SnapshotFormatError: Error, Equatable, CustomStringConvertible {
    /// That of the snapshot.
    public let format: Int

    /// Which format it is, and which ones are read.
    public var description: String {
        let oldest = StoreState.snapshotFields.keys.min() ?? StoreState.snapshotVersion
        return "a snapshot of format \(format); this build reads the formats \(oldest) to \(StoreState.snapshotVersion)"
    }
}

/// What can be told of a snapshot without its program.
public enum StoreSnapshot {
    /// Checks that a snapshot is one of this turn, in a format that this build reads, and whole. The state itself is bytes here.
    ///
    /// - Throws: an error that says what is wrong.
    public static func check(_ bytes: [UInt8], turn: Int) throws {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        let fields = try StoreState.readFormat(&reader).fields
        // The version of the program's types.
        _ = try reader.readCount()
        let head = try reader.readCount()
        guard head == turn else { throw WireError.malformed("a snapshot of turn \(head)") }
        for _ in 3..<fields { _ = try reader.readValue() }
        guard reader.isAtEnd else { throw WireError.malformed("bytes after the end of a snapshot") }
    }

    /// The program's state, as the version of the program that is the author has encoded it.
    package static func content(of bytes: [UInt8]) throws -> (turn: Int, author: Int, state: [UInt8]) {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        _ = try StoreState.readFormat(&reader)
        let author = try reader.readCount()
        let turn = try reader.readCount()
        // Its time, the number of its start and the seed.
        for _ in 0..<3 { try reader.skip() }
        return (turn, author, try reader.readBinary())
    }
}
