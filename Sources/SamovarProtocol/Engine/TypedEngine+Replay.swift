public import DequeModule
public import MessagePack
public import SamovarCore

/// Applies the records of a journal again, and holds what follows from each against what the journal has.
extension TypedEngine {
    @inlinable
    public func replay(_ record: Record, log: TurnLog) throws(ReplayError) {
        guard record.turn == head + 1 else { throw ReplayError(turn: record.turn, "turn \(head + 1) is missing before it") }
        if case .started(_, _, let schema, _) = record.event { try hear(of: schema, turn: record.turn) }
        switch record.event {
        case .started(let number, _, _, let seed) where number == 1: try replayStart(record, seed: seed, log: log)
        case .applied(let message, let hash, let closes) where author < schema.version:
            try replayOlder(record, message: message, hash: hash, role: closes ? .closes : .open, log: log)
        case .streamed(let message, let hash, let checkpoint) where author < schema.version:
            try replayOlder(record, message: message, hash: hash, role: .streamed(checkpoint: checkpoint), log: log)
        case .applied(let message, let hash, let closes):
            try replay(record, message: message, hash: hash, role: closes ? .closes : .open, log: log)
        case .streamed(let message, let hash, let checkpoint):
            try replay(record, message: message, hash: hash, role: .streamed(checkpoint: checkpoint), log: log)
        default:
            askBelatedly(log)
            try expectNothingAnnounced(before: record)
            log.write(record)
            _ = skip()
            // Another build may want something else of the same state.
            if case .started = record.event { resubscribe(now: record.time, log: log) }
        }
    }

    public func resubscribe(now: Timestamp, log: TurnLog) {
        askBelatedly(log)
        guard let events = turns?.subscriptions else { return }
        wanted = events
        log.append(.want(wanted.map(logged), turn: head, now: now))
    }

    /// Follow-ups come before anything else, so nothing may be owed when a record begins something new.
    @inlinable
    func expectNothingAnnounced(before record: Record) throws(ReplayError) {
        if let missing = announced.first {
            throw ReplayError(
                turn: record.turn, "a follow-up of turn \(missing.of) is missing before it", openingDivergence(at: missing.of))
        }
        if opening != nil { opening = nil }
    }

    /// The record of turn 1 has no hash, so another command of `start` shows only in the follow-ups. Those of any other turn are
    /// in its hash, and are damaged if they differ where the hash does not.
    @usableFromInline
    func openingDivergence(at turn: Int) -> Divergence? { opening?.turn == turn ? opening : nil }

    public func requireEndOfGroup() throws(ReplayError) {
        guard let missing = announced.first else { return }
        throw ReplayError(turn: head, "the journal ends inside a group: a follow-up of turn \(missing.of) is missing after it")
    }

    @usableFromInline
    func replayStart(_ record: Record, seed: [UInt8], log: TurnLog) throws(ReplayError) {
        let turn = Turn(number: record.turn, now: record.time, origin: .store, secret: secret)
        let next: Next<P>
        do {
            next = try begin(seed: try migrations.migrated(seed, .seed, from: author), turn: turn)
        } catch {
            throw ReplayError(turn: record.turn, "\(error)")
        }
        log.write(record)
        begin(log, root: record.root)
        turnSink.take(orders: next.command, of: turn)
        guard author == schema.version else {
            unasked = (head, record.time)
            return
        }
        let command = sink.divergence(next.command, of: turn, message: seed, recorded: nil)
        if terms.shown == turn.number { throw ReplayError(turn: turn.number, "the replay was to end here", command) }
        if terms.accepts(command) {
            excused.insert(turn.number)
            sink.group.forgetFollowUps()
        } else {
            opening = command
        }
        announceFollowUps(root: record.root, now: record.time, log: log)
    }

    @usableFromInline
    func hear(of author: Schema, turn: Int) throws(ReplayError) {
        guard author.version <= schema.version else {
            throw ReplayError(turn: turn, "it was written by \(author), which is newer than this program, \(schema)")
        }
        self.author = author.version
    }

    /// Applies a message of an older version to what `update` is now.
    ///
    /// What it orders can be another thing than it was, so there is nothing to compare. Follow-ups are taken as they are recorded.
    /// Where nothing was ordered then, nothing is ordered now: no effect runs that belongs to a turn which had none.
    @usableFromInline
    func replayOlder(
        _ record: Record, message old: [UInt8], hash: UInt64, role: MessageRole, log: TurnLog
    ) throws(ReplayError) {
        if case .followUp = record.origin {} else { askBelatedly(log) }
        let bytes: [UInt8]
        let message: P.Message
        do {
            bytes = try migrations.migrated(old, .message, from: author)
            message = try codecs.message.decode(bytes)
        } catch let error as MigrationError {
            throw ReplayError(turn: record.turn, "the message cannot be read: \(error)")
        } catch {
            throw ReplayError(
                turn: record.turn,
                "the message of version \(author) cannot be read, migrated or not: \(describe(decodingFailure: error, of: P.Message.self))"
            )
        }
        guard let taken = turns?.step(message, now: record.time, origin: record.origin) else {
            throw ReplayError(turn: record.turn, "a message before the program has started")
        }
        // The record has its message, also where it is a follow-up.
        bytes.withUnsafeBytes {
            begin(log, root: record.root, given: $0, role: role)
            turnSink.took(taken.turn, message, hash == 0 ? .none : taken.command)
        }
        unasked = (head, record.time)
    }

    /// Asks what the state wanted to hear of after the newest chain of an older version, whose end is known only by what follows it.
    @inlinable
    func askBelatedly(_ log: TurnLog) {
        guard let unasked, let events = turns?.subscriptions else { return }
        self.unasked = nil
        guard events != wanted else { return }
        wanted = events
        log.append(.want(events.map(logged), turn: unasked.turn, now: unasked.time))
    }

    /// Notes the follow-ups of a replayed turn; a chain that has come to its end may want other subscriptions.
    @inlinable
    func announceFollowUps(root: Int, now: Timestamp, log: TurnLog) {
        while let next = sink.group.takeFollowUp() { announced.append((next.bytes, next.cause, root)) }
        if announced.isEmpty { subscribe(now: now, log: log) }
    }

    @inlinable
    func replay(
        _ record: Record, message bytes: [UInt8], hash: UInt64, role: MessageRole, log: TurnLog
    ) throws(ReplayError) {
        try expect(record, message: bytes)
        let message: P.Message
        do {
            message = try codecs.message.decode(bytes)
        } catch {
            throw ReplayError(
                turn: record.turn, "the message cannot be read: \(describe(decodingFailure: error, of: P.Message.self))")
        }
        guard let taken = turns?.step(message, now: record.time, origin: record.origin) else {
            throw ReplayError(turn: record.turn, "a message before the program has started")
        }
        if hash == 0, taken.command.isEmpty, !log.writesRecords, terms.shown != record.turn {
            // So it is with most turns: there is nothing to collect and nothing to compare.
            log.note(role, of: record.origin)
            if announced.isEmpty { subscribe(now: record.time, log: log) }
            return
        }
        bytes.withUnsafeBytes {
            begin(log, root: record.root, given: $0, role: role)
            turnSink.took(taken.turn, message, taken.command)
        }
        if sink.group.hash != hash || terms.shown == record.turn {
            try diverge(record, taken.turn, taken.command, message: bytes, recorded: hash)
        }
        announceFollowUps(root: record.root, now: record.time, log: log)
    }

    /// A follow-up must be the next one that was announced, unless the turn that ordered it is excused.
    @inlinable
    func expect(_ record: Record, message bytes: [UInt8]) throws(ReplayError) {
        guard case .followUp(let cause) = record.origin else { return try expectNothingAnnounced(before: record) }
        guard !excused.contains(cause) else { return }
        guard let expected = announced.popFirst(), expected.of == cause, expected.bytes == bytes else {
            throw ReplayError(
                turn: record.turn,
                "this follow-up is not what turn \(cause) orders now: `update` has changed or is not deterministic",
                openingDivergence(at: cause))
        }
    }
}
