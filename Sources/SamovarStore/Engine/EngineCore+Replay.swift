public import DequeModule
public import MessagePack
public import SamovarCore
public import SamovarWire

/// What a replay knows between two records.
@usableFromInline
struct ReplayState {
    @usableFromInline var terms = ReplayTerms()
    @usableFromInline var counts = ReplayCounts()
    /// Follow-ups that later records must repeat, and the turn that ordered each.
    @usableFromInline var announced: Deque<(bytes: [UInt8], of: Int)> = []
    /// Turns whose other command or state was accepted, and not yet written down as such: their follow-ups are taken as they were written,
    /// and until then the state is not what it was.
    @usableFromInline var excused: Set<Int> = []
    /// The command of `start`, until its follow-ups have shown whether it is the one that it was.
    @usableFromInline var opening: Divergence?
    /// The version of the program that wrote the records; a number that none has before it is known.
    @usableFromInline var author = Int.max
    /// In records of an older version: the end of a chain after which the state was not asked what it wants to hear of.
    @usableFromInline var unasked: (turn: Int, time: Timestamp)?

    @usableFromInline
    init() {}

    /// The record of turn 1 has no hash, so another command of `start` shows only in the follow-ups. Those of any other turn are
    /// in its hash, and are damaged if they differ where the hash does not.
    @usableFromInline
    func openingDivergence(at turn: Int) -> Divergence? { opening?.turn == turn ? opening : nil }

    /// Follow-ups come before anything else, so nothing may be owed when a record begins something new.
    @inlinable
    mutating func expectNothingAnnounced(before record: Record) throws(ReplayError) {
        if let missing = announced.first {
            throw ReplayError(
                turn: record.turn, "a follow-up of turn \(missing.of) is missing before it", openingDivergence(at: missing.of))
        }
        // Compared with nil, it would be copied for each turn.
        if case .some = opening { opening = nil }
    }

    /// Whether this other command or state is one that was accepted; then its turn is excused.
    ///
    /// - Throws: the divergence, if the replay was to show that turn.
    mutating func excuses(_ found: Divergence) throws(ReplayError) -> Bool {
        if terms.shown == found.turn { throw ReplayError(turn: found.turn, "the replay was to end here", found) }
        guard found.hash != found.recorded, terms.accepts(found) else { return false }
        excused.insert(found.turn)
        return true
    }
}

/// Applies the records of a journal again, and holds what follows from each against what the journal has.
extension EngineCore {
    @inlinable
    mutating func replay(_ record: Record, log: inout TurnLog) throws(ReplayError) {
        guard record.turn == head + 1 else { throw ReplayError(turn: record.turn, "turn \(head + 1) is missing before it") }
        switch record.event {
        case .started(_, _, let author, let seed):
            guard author.version <= schema.version else {
                throw ReplayError(turn: record.turn, "it was written by \(author), which is newer than this program, \(schema)")
            }
            replaying.author = author.version
            // Its number may be any: of those who took an empty journal, some may have ended before they wrote.
            if record.turn == 1 { return try replayStart(record, seed: seed, log: &log) }
            try pass(record, log: &log)
            // Another build may want something else of the same state.
            resubscribe(now: record.time, log: &log)
        case .applied(let message, let hash, let closes):
            try replay(record, message: message, hash: hash, role: closes ? .closes : .open, log: &log)
        case .streamed(let message, let hash, let checkpoint):
            try replay(record, message: message, hash: hash, role: .streamed, checkpoint, log: &log)
        case .divergenceAccepted(let turn, _, _):
            try pass(record, log: &log)
            // From this start on the store had what was accepted.
            replaying.excused.remove(turn)
        case .stateDigest(let digest):
            try pass(record, log: &log)
            try compareState(with: digest, record)
        default: try pass(record, log: &log)
        }
    }

    /// A record that calls no `update`.
    @inlinable
    mutating func pass(_ record: Record, log: inout TurnLog) throws(ReplayError) {
        askBelatedly(&log)
        try replaying.expectNothingAnnounced(before: record)
        log.write(record)
        _ = skip()
    }

    @usableFromInline
    mutating func resubscribe(now: Timestamp, log: inout TurnLog) {
        askBelatedly(&log)
        if let events = turns?.subscriptions { want(events, turn: head, now: now, log: &log) }
    }

    /// A follow-up must be the next one that was announced, unless the turn that ordered it is excused.
    @inlinable
    mutating func expect(_ record: Record, message bytes: [UInt8]) throws(ReplayError) {
        guard case .followUp(let cause) = record.origin else { return try replaying.expectNothingAnnounced(before: record) }
        guard !replaying.excused.contains(cause) else { return }
        guard let expected = replaying.announced.popFirst(), expected.of == cause,
            expected.bytes == bytes || asFormerly(expected.bytes, .message) == bytes
        else {
            throw ReplayError(
                turn: record.turn,
                "this follow-up is not what turn \(cause) orders now: `update` has changed or is not deterministic",
                replaying.openingDivergence(at: cause))
        }
    }

    /// A value as builds encoded it that did not keep the sign of zeros.
    @usableFromInline
    func asFormerly(_ bytes: [UInt8], _ kind: RecordedValue) -> [UInt8] {
        do {
            return switch kind {
            case .message: try formerEncoder.encode(codecs.recorded.decode(bytes))
            case .effect: try formerEncoder.encode(codecs.effect.decode(bytes))
            case .output: try formerEncoder.encode(codecs.output.decode(bytes))
            }
        } catch {
            // What this build cannot read is compared as it is.
            return bytes
        }
    }

    func requireEndOfGroup() throws(ReplayError) {
        guard let missing = replaying.announced.first else { return }
        throw ReplayError(turn: head, "the journal ends inside a group: a follow-up of turn \(missing.of) is missing after it")
    }

    @usableFromInline
    mutating func replayStart(_ record: Record, seed: [UInt8], log: inout TurnLog) throws(ReplayError) {
        let turn = Turn(number: record.turn, now: record.time, origin: .store, secret: secret)
        let next: Next<P>
        do {
            next = try begin(seed: try migrations.migrated(seed, .seed, from: replaying.author), turn: turn)
        } catch {
            throw ReplayError(turn: record.turn, "\(error)")
        }
        log.write(record)
        log.begin(root: record.root)
        lend(&log) { _, sink in sink.take(orders: next.command, of: turn) }
        guard replaying.author == schema.version else {
            replaying.unasked = (head, record.time)
            return
        }
        let command = divergence(next.command, of: turn, message: seed, recorded: nil, log)
        if try replaying.excuses(command) { log.forgetFollowUps() } else { replaying.opening = command }
        announceFollowUps(now: record.time, log: &log)
    }

    /// Applies a message of an older version to what `update` is now.
    ///
    /// What it orders can be another thing than it was, so there is nothing to compare. Follow-ups are taken as they are recorded.
    /// Where nothing was ordered then, nothing is ordered now: no effect runs that belongs to a turn which had none.
    @usableFromInline
    mutating func replayOlder(
        _ record: Record, message old: [UInt8], hash: UInt64, role: MessageRole, _ checkpoint: [UInt8]?, log: inout TurnLog
    ) throws(ReplayError) {
        replaying.counts.uncompared += 1
        if case .followUp = record.origin {} else { askBelatedly(&log) }
        let bytes: [UInt8]
        let message: P.Message
        do {
            bytes = try migrations.migrated(old, .message, from: replaying.author)
            message = try codecs.recorded.decode(bytes)
        } catch let error as MigrationError {
            throw ReplayError(turn: record.turn, "the message cannot be read: \(error)")
        } catch {
            let reason = describe(decodingFailure: error, of: P.Message.self)
            throw ReplayError(
                turn: record.turn, "the message of version \(replaying.author) cannot be read, migrated or not: \(reason)")
        }
        let (turn, command) = try step(message, of: record)
        // The record has its message, also where it is a follow-up. By that of a firing the timer is found which sends it.
        let known = if case .subscription = record.origin { encoded(message) } else { bytes }
        took(turn, message, known, hash == 0 ? .none : command, role, checkpoint, root: record.root, log: &log)
        replaying.unasked = (head, record.time)
    }

    /// Reads the message of the next turn.
    @inlinable @inline(__always)
    mutating func message(_ bytes: [UInt8]) throws(ReplayError) -> P.Message {
        do {
            return try codecs.recorded.decode(bytes)
        } catch {
            throw ReplayError(
                turn: head + 1, "the message cannot be read: \(describe(decodingFailure: error, of: P.Message.self))")
        }
    }

    @inlinable
    mutating func step(_ message: P.Message, of record: Record) throws(ReplayError) -> (Turn, Command<P>) {
        guard let taken = turns?.step(message, now: record.time, origin: record.origin, sender: record.sender) else {
            throw ReplayError(turn: record.turn, "a message before the program has started")
        }
        return taken
    }

    /// Notes a turn, whose message is in its record.
    @inlinable
    mutating func took(
        _ turn: Turn, _ message: P.Message, _ bytes: [UInt8], _ command: Command<P>, _ role: MessageRole, _ checkpoint: [UInt8]?,
        root: Int, log: inout TurnLog
    ) {
        log.begin(root: root)
        bytes.withUnsafeBytes { bytes in
            log.expect(bytes, role, checkpoint: checkpoint)
            lend(&log) { _, sink in sink.took(turn, message, command) }
        }
    }

    /// Asks what the state wanted to hear of after the newest chain of an older version, whose end is known only by what follows it.
    @inlinable
    mutating func askBelatedly(_ log: inout TurnLog) {
        guard let (turn, time) = replaying.unasked, let events = turns?.subscriptions else { return }
        replaying.unasked = nil
        if events != wanted { want(events, turn: turn, now: time, log: &log) }
    }

    /// Notes the follow-ups of a replayed turn; a chain that has come to its end may want other subscriptions.
    @inlinable
    mutating func announceFollowUps(now: Timestamp, log: inout TurnLog) {
        while let next = log.takeFollowUp() { replaying.announced.append((next.bytes, next.cause)) }
        if replaying.announced.isEmpty { subscribe(now: now, log: &log) }
    }

    @inlinable
    mutating func replay(
        _ record: Record, message bytes: [UInt8], hash: UInt64, role: MessageRole, _ checkpoint: [UInt8]? = nil,
        log: inout TurnLog
    ) throws(ReplayError) {
        guard replaying.author >= schema.version else {
            return try replayOlder(record, message: bytes, hash: hash, role: role, checkpoint, log: &log)
        }
        replaying.counts.compared += 1
        try expect(record, message: bytes)
        let message = try self.message(bytes)
        let (turn, command) = try step(message, of: record)
        if hash == 0, command.isEmpty, !log.writesRecords, replaying.terms.shown != record.turn {
            // So it is with most turns: there is nothing to collect and nothing to compare.
            log.expect(nil, role, checkpoint: checkpoint)
            log.note(record.origin)
            if replaying.announced.isEmpty { subscribe(now: record.time, log: &log) }
            return
        }
        took(turn, message, bytes, command, role, checkpoint, root: record.root, log: &log)
        if log.hash != hash || replaying.terms.shown == record.turn {
            try diverge(record, turn, command, message: bytes, recorded: hash, &log)
        }
        announceFollowUps(now: record.time, log: &log)
    }

    /// Holds the state against that of the store that served, unless that cannot be the same: an older version of the program has encoded
    /// it, or the store went on from another command.
    @usableFromInline
    mutating func compareState(with recorded: UInt64, _ record: Record) throws(ReplayError) {
        guard replaying.author >= schema.version, replaying.excused.isEmpty, let state = turns?.state else { return }
        replaying.counts.states += 1
        replaying.counts.newestState = record.turn - 1
        let digest: UInt64
        do {
            digest = KeyedHash.of(try comparableStates.encode(state))
        } catch {
            throw ReplayError(turn: record.turn, "the state cannot be encoded: \(error)")
        }
        let other = Divergence(
            .state, turn: record.turn, origin: record.origin, message: [], recorded: recorded, hash: digest, orders: [])
        if try replaying.excuses(other) || digest == recorded { return }
        throw ReplayError(
            turn: record.turn,
            "the state before it is not the one that the store had: `update` has changed or is not deterministic", other)
    }

    /// What a turn orders is not what the journal says, or it shall be shown: ends the replay, unless it was accepted.
    @usableFromInline
    mutating func diverge(
        _ record: Record, _ turn: Turn, _ command: Command<P>, message: [UInt8], recorded: UInt64, _ log: inout TurnLog
    ) throws(ReplayError) {
        let command = divergence(command, of: turn, message: message, recorded: recorded, log)
        if try replaying.excuses(command) { return log.forgetFollowUps() }
        // So it is with each turn that a build before `CommandHash` wrote, and with zeros whose sign a build did not keep.
        if command.hash == recorded { return }
        throw ReplayError(
            turn: record.turn, "`update` returns another command than it did: it has changed or is not deterministic", command)
    }

    /// The newest command in full. Encoded again, because nearly every command of a replay is the recorded one and of no interest.
    private func divergence(
        _ command: Command<P>, of turn: Turn, message: [UInt8], recorded: UInt64?, _ log: borrowing TurnLog
    ) -> Divergence {
        let present = orders(of: command, turn, root: log.root, by: encoder)
        let former = orders(of: command, turn, root: log.root, by: formerEncoder)
        // 0 is the hash of no orders, and of orders that such a build did not have.
        let formerHashes = [Divergence.formerHash(of: present), CommandHash.of(former), Divergence.formerHash(of: former)]
            .filter { $0 != 0 }
        // The hash is that of the build which wrote the record, if that has the same orders.
        let hash = formerHashes.first { $0 == recorded } ?? log.hash
        return Divergence(
            turn: turn.number, origin: turn.origin, message: message, recorded: recorded, hash: hash, formerHashes: formerHashes,
            orders: present)
    }

    private func orders(
        of command: Command<P>, _ turn: Turn, root: Int, by encoder: MessagePackEncoder
    ) -> [Divergence.Order] {
        // What its own `encode(to:)` refuses is missing in the hash, too.
        func bytes(_ value: some Encodable) -> [UInt8] { (try? encoder.encode(value)) ?? [] }
        return command.enumerated().map { ordinal, order -> Divergence.Order in
            switch order {
            case .run(let effect, let options):
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                return .run(OpenEffect(id: id, root: root, options: options, payload: bytes(effect), now: turn.now))
            case .then(let message): return .then(bytes(message))
            case .cancel(let label): return .cancel(label)
            case .emit(let output): return .emit(bytes(output))
            case .control(let control): return .control(control)
            }
        }
    }
}
