public import MessagePack
public import DequeModule
public import SamovarCore

/// What a message from outside is for the effect of its origin.
@usableFromInline
enum MessageRole {
    /// The effect stays as it is, or there is none.
    case open
    /// The effect is done.
    case closes
    /// The effect goes on from here.
    case streamed(checkpoint: [UInt8]?)
}

/// Writes the record of each turn of a group, and collects its effects.
///
/// An engine has one for all groups of a log: what a group needs is made once, and a group begins with ``begin(root:)``. A class, so that
/// nothing of it is copied on the way; its engine alone reaches it, so nothing overlaps that would have to be checked each time.
@usableFromInline
final class GroupSink<P: Program>: TurnSink {
    /// A message that follows: where its bytes are among the encoded ones, and the turn that ordered it.
    @usableFromInline
    struct FollowUp {
        @usableFromInline let bytes: Range<Int>
        @usableFromInline let cause: Int

        @inlinable
        init(bytes: Range<Int>, cause: Int) {
            self.bytes = bytes
            self.cause = cause
        }
    }

    @usableFromInline let log: TurnLog
    @usableFromInline let codecs: ProgramCodecs<P>
    @exclusivity(unchecked) @usableFromInline var root = 0
    /// What the next message from outside is.
    @exclusivity(unchecked) @usableFromInline var role = MessageRole.open
    /// The next message as it arrived, for as long as its turn lasts; nil if it has to be encoded.
    @exclusivity(unchecked) @usableFromInline var given: UnsafeRawBufferPointer?
    /// What this group and some before it have encoded, one after the other.
    @exclusivity(unchecked) @usableFromInline var encoded = MessagePackWriter()
    /// Follow-ups in the order in which the engine takes them.
    @exclusivity(unchecked) @usableFromInline var followUps: ShortQueue<FollowUp>
    @exclusivity(unchecked) @usableFromInline var lastHash: UInt64 = 0
    @exclusivity(unchecked) @usableFromInline var start = 0
    /// What came from outside as it is, and is limited there.
    @exclusivity(unchecked) @usableFromInline var givenBytes = 0
    /// The largest effect of the group.
    @exclusivity(unchecked) @usableFromInline var largestEffect = 0
    @exclusivity(unchecked) @usableFromInline var failure: GroupLimit?
    @usableFromInline let observers: [TurnObserver<P>]
    @exclusivity(unchecked) @usableFromInline var observed: [(turn: Int, deliver: @Sendable () -> Void)] = []

    @usableFromInline
    init(_ log: TurnLog, codecs: ProgramCodecs<P>, observers: [TurnObserver<P>]) {
        self.log = log
        self.codecs = codecs
        self.observers = observers
        followUps = ShortQueue()
    }

    /// Nothing of the group before is left.
    @inlinable
    func begin(root: Int) {
        self.root = root
        start = log.batch.byteCount
        givenBytes = 0
        largestEffect = 0
        lastHash = 0
        role = .open
        given = nil
        if failure != nil { failure = nil }
        if !followUps.isEmpty { followUps = ShortQueue() }
        if !observed.isEmpty { observed = [] }
        // Not emptied for each group, which takes longer than to encode a small message. One large message shall not be paid for ever.
        if encoded.count > 1 << 16 { encoded = MessagePackWriter() } else if encoded.count > 1 << 14 { encoded.removeAll() }
    }

    @inlinable
    func took(_ turn: Turn, _ message: P.Message, _ command: consuming Command<P>) {
        var own: Range<Int>?
        var role = MessageRole.open
        if case .followUp = turn.origin, let next = followUps.popFirst() {
            own = next.bytes
        } else {
            if given == nil { own = encode(message, codecs.message) }
            role = self.role
        }
        log.note(role, of: turn.origin)
        take(orders: command, of: turn)
        guard log.writesRecords else { return given = nil }
        if let own {
            encoded.withWritten(own) { write($0, role, turn) }
        } else if let given = given.take() {
            let before = log.batch.byteCount
            write(given, role, turn)
            givenBytes += log.batch.byteCount - before
        }
    }

    @inlinable
    func write(_ message: UnsafeRawBufferPointer, _ role: MessageRole, _ turn: Turn) {
        switch role {
        case .open: log.batch.append(applied: message, hash: lastHash, closes: false, turn: turn, root: root)
        case .closes: log.batch.append(applied: message, hash: lastHash, closes: true, turn: turn, root: root)
        case .streamed(let checkpoint):
            let event = Record.Event.streamed(message: Array(message), hash: lastHash, checkpoint: checkpoint)
            log.batch.append(Record(turn: turn.number, time: turn.now, origin: turn.origin, root: root, event: event))
        }
    }

    @inlinable var watchesState: Bool { !observers.isEmpty || log.isTapped }

    @usableFromInline
    func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {
        for observer in observers {
            if let deliver = observer.observe(message, state, turn) { observed.append((turn.number, deliver)) }
        }
        guard let marker = log.tap?.marker else { return }
        // A view that cannot be encoded turns views off when the next is to be published, and that is told.
        guard let bytes = marker.during(.view, { try? codecs.view.encode(P.view(state)) }) else { return }
        log.tap?.views.append(TurnView(turn: turn.number, bytes: bytes))
    }

    /// Notes what a turn orders, and its hash.
    @inlinable
    func take(orders command: consuming Command<P>, of turn: Turn) {
        lastHash = 0
        var hash = KeyedHash(Secret(high: 0, low: 0))
        // The one order of most commands is taken apart where it is: a copy of it would count its references.
        switch (consume command).orders {
        case .none: return
        case .one(.run(let effect, let options)): run(effect, options, EffectID(turn: turn.number, ordinal: 0), turn.now, &hash)
        case .one(.then(let message)): follow(message, of: turn.number, &hash)
        case .one(let order): take(order, 0, of: turn, &hash)
        case .many(let orders): for (ordinal, order) in orders.enumerated() { take(order, ordinal, of: turn, &hash) }
        }
        lastHash = hash.finish()
    }

    @inlinable
    func take(_ order: Command<P>.Order, _ ordinal: Int, of turn: Turn, _ hash: inout KeyedHash) {
        let id = EffectID(turn: turn.number, ordinal: ordinal)
        switch order {
        case .run(let effect, let options): run(effect, options, id, turn.now, &hash)
        case .then(let message): follow(message, of: turn.number, &hash)
        case .cancel(let label):
            hash.combine(UInt8(3))
            hash.combine(Array(label.text.utf8))
            log.orders.append(.cancel(label))
        case .emit(let output):
            let bytes = bytes(of: output, codecs.output)
            largestEffect = max(largestEffect, bytes.count)
            hash.combine(UInt8(4))
            hash.combine(bytes)
            log.orders.append(.emit(EmittedOutput(id: id, bytes: bytes)))
        }
    }

    @inlinable
    func run(_ effect: P.Effect, _ options: RunOptions, _ id: EffectID, _ now: Timestamp, _ hash: inout KeyedHash) {
        let payload = bytes(of: effect, codecs.effect)
        largestEffect = max(largestEffect, payload.count)
        hash.combine(UInt8(1))
        hash.combine(payload)
        hash.combine(options)
        log.orders.append(.run(OpenEffect(id: id, root: root, options: options, payload: payload, now: now)))
    }

    @inlinable
    func follow(_ message: P.Message, of turn: Int, _ hash: inout KeyedHash) {
        let bytes = encode(message, codecs.message)
        hash.combine(UInt8(2))
        hash.combine(bytes.count)
        encoded.withWritten(bytes) { hash.combine($0) }
        followUps.append(FollowUp(bytes: bytes, cause: turn))
    }

    /// The newest command in full. Encoded again, for nearly every command of a replay is the recorded one and of no interest.
    func divergence(_ command: Command<P>, of turn: Turn, message: [UInt8], recorded: UInt64?) -> Divergence {
        let orders = command.enumerated().map { ordinal, order -> Divergence.Order in
            switch order {
            case .run(let effect, let options):
                let payload = bytes(of: effect, codecs.effect)
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                return .run(OpenEffect(id: id, root: root, options: options, payload: payload, now: turn.now))
            case .then(let message): return .then(bytes(of: message, codecs.message))
            case .cancel(let label): return .cancel(label)
            case .emit(let output): return .emit(bytes(of: output, codecs.output))
            }
        }
        return Divergence(
            turn: turn.number, origin: turn.origin, message: message, recorded: recorded, hash: lastHash, orders: orders)
    }

    @inlinable
    func check(_ limits: GroupLimits) throws(GroupLimit) {
        if let failure { throw failure }
        if largestEffect > limits.effectBytes { throw .effectBytes(limits.effectBytes, root: root) }
        if log.batch.byteCount - start - givenBytes > limits.bytes { throw .bytes(limits.bytes, root: root) }
    }

    /// Encodes a value behind the others; returns where it is. One that its own `encode(to:)` refuses cannot be journalled, so the group
    /// fails as a whole.
    @inlinable
    func encode<Value>(_ value: Value, _ codec: ValueCodec<Value>) -> Range<Int> {
        let start = encoded.count
        do {
            try codec.encode(value, into: &encoded)
            return start..<encoded.count
        } catch {
            failure = .unencodable("\(error)", root: root)
            return start..<start
        }
    }

    @inlinable
    func bytes<Value>(of value: Value, _ codec: ValueCodec<Value>) -> [UInt8] {
        let place = encode(value, codec)
        return Array(encoded.bytes[place])
    }
}

extension TurnLog {
    /// What a message is for the effect or the subscription that it comes from, before what its turn orders.
    @inlinable
    func note(_ role: MessageRole, of origin: Origin) {
        switch (origin, role) {
        case (.effect(let effect, _, _), .closes), (.failure(let effect), .closes): orders.append(.close(effect))
        case (.effect(let effect, let lease, let index), .streamed(let checkpoint)):
            orders.append(.streamed(effect, lease: lease, index: index, checkpoint: checkpoint))
        case (.subscription(let activation, let nominal), _): orders.append(.fired(activation, nominal: nominal))
        default: break
        }
    }
}

/// The codecs of a program's types, as the journal and the wire have them. A class, so that each group has one reference to them.
@usableFromInline
final class ProgramCodecs<P: Program> {
    @usableFromInline let input: ValueCodec<P.Input>
    @usableFromInline let message: ValueCodec<P.Message>
    @usableFromInline let effect: ValueCodec<P.Effect>
    @usableFromInline let output: ValueCodec<P.Output>
    @usableFromInline let view: ValueCodec<P.ViewState>

    init(_ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder) {
        input = ValueCodec(encoder, decoder)
        message = ValueCodec(encoder, decoder)
        effect = ValueCodec(encoder, decoder)
        output = ValueCodec(encoder, decoder)
        view = ValueCodec(encoder, decoder)
    }
}
