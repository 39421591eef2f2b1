public import MessagePack
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
@usableFromInline
struct GroupSink<P: Program>: TurnSink {
    @usableFromInline let log: TurnLog
    @usableFromInline let codecs: ProgramCodecs<P>
    @usableFromInline let root: Int
    /// What the next message from outside is.
    @usableFromInline var role = MessageRole.open
    /// The next message as it arrived; nil if it has to be encoded.
    @usableFromInline var given: [UInt8]?
    /// Follow-ups in the order in which the engine takes them.
    @usableFromInline var followUps: ShortQueue<(bytes: [UInt8], of: Int)>
    @usableFromInline var lastHash: UInt64 = 0
    @usableFromInline var start: Int
    /// What came from outside as it is, and is limited there.
    @usableFromInline var givenBytes = 0
    /// The largest effect of the group.
    @usableFromInline var largestEffect = 0
    @usableFromInline var failure: GroupLimit?
    /// None in a replay.
    @usableFromInline let observers: [TurnObserver<P>]
    @usableFromInline var observed: [(turn: Int, deliver: @Sendable () -> Void)]

    /// Sets also what has a default: that of a stored property is not inlined, and asks the runtime for the program's types.
    @inlinable
    init(log: TurnLog, codecs: ProgramCodecs<P>, root: Int, observers: [TurnObserver<P>] = []) {
        self.log = log
        self.codecs = codecs
        self.root = root
        self.observers = observers
        followUps = ShortQueue()
        observed = []
        start = log.batch.byteCount
    }

    @inlinable
    mutating func took(_ turn: Turn, _ message: P.Message, _ command: Command<P>) {
        let bytes: [UInt8]
        var role = MessageRole.open
        var isGiven = false
        if case .followUp = turn.origin, let next = followUps.popFirst() {
            bytes = next.bytes
        } else {
            bytes = given ?? encode(message, codecs.message)
            isGiven = given != nil
            given = nil
            role = self.role
        }
        log.note(role, of: turn.origin)
        let hash = take(orders: command, of: turn)
        guard log.writesRecords else { return }
        let before = log.batch.byteCount
        switch role {
        case .open: log.batch.append(applied: bytes, hash: hash, closes: false, turn: turn, root: root)
        case .closes: log.batch.append(applied: bytes, hash: hash, closes: true, turn: turn, root: root)
        case .streamed(let checkpoint):
            let event = Record.Event.streamed(message: bytes, hash: hash, checkpoint: checkpoint)
            log.batch.append(Record(turn: turn.number, time: turn.now, origin: turn.origin, root: root, event: event))
        }
        if isGiven { givenBytes += log.batch.byteCount - before }
    }

    @inlinable var watchesState: Bool { !observers.isEmpty || log.isTapped }

    @usableFromInline
    mutating func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {
        for observer in observers {
            if let deliver = observer.observe(message, state, turn) { observed.append((turn.number, deliver)) }
        }
        guard let marker = log.tap?.marker else { return }
        // A view that cannot be encoded turns views off when the next is to be published, and that is told.
        guard let bytes = marker.during(.view, { try? codecs.view.encode(P.view(state)) }) else { return }
        log.tap?.views.append(TurnView(turn: turn.number, bytes: bytes))
    }

    @inlinable
    @discardableResult
    mutating func take(orders: Command<P>, of turn: Turn) -> UInt64 {
        lastHash = 0
        guard !orders.isEmpty else { return 0 }
        var hash = KeyedHash(Secret(high: 0, low: 0))
        for (ordinal, order) in orders.enumerated() {
            switch order {
            case .run(let effect, let options):
                let payload = encode(effect, codecs.effect)
                largestEffect = max(largestEffect, payload.count)
                hash.combine(UInt8(1))
                hash.combine(payload)
                hash.combine(options)
                log.orders.append(
                    .run(
                        OpenEffect(
                            id: EffectID(turn: turn.number, ordinal: ordinal), root: root, options: options, payload: payload,
                            now: turn.now)))
            case .then(let message):
                let bytes = encode(message, codecs.message)
                hash.combine(UInt8(2))
                hash.combine(bytes)
                followUps.append((bytes, turn.number))
            case .cancel(let label):
                hash.combine(UInt8(3))
                hash.combine(Array(label.text.utf8))
                log.orders.append(.cancel(label))
            case .emit(let output):
                let bytes = encode(output, codecs.output)
                largestEffect = max(largestEffect, bytes.count)
                hash.combine(UInt8(4))
                hash.combine(bytes)
                log.orders.append(.emit(EmittedOutput(id: EffectID(turn: turn.number, ordinal: ordinal), bytes: bytes)))
            }
        }
        lastHash = hash.finish()
        return lastHash
    }

    /// The newest command in full. Encoded again, for nearly every command of a replay is the recorded one and of no interest.
    mutating func divergence(_ command: Command<P>, of turn: Turn, message: [UInt8], recorded: UInt64?) -> Divergence {
        let orders = command.enumerated().map { ordinal, order -> Divergence.Order in
            switch order {
            case .run(let effect, let options):
                let payload = encode(effect, codecs.effect)
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                return .run(OpenEffect(id: id, root: root, options: options, payload: payload, now: turn.now))
            case .then(let message): return .then(encode(message, codecs.message))
            case .cancel(let label): return .cancel(label)
            case .emit(let output): return .emit(encode(output, codecs.output))
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

    /// A value that its own `encode(to:)` refuses cannot be journalled, so the group fails as a whole.
    @inlinable
    mutating func encode<Value>(_ value: Value, _ codec: ValueCodec<Value>) -> [UInt8] {
        do {
            return try codec.encode(value)
        } catch {
            failure = .unencodable("\(error)", root: root)
            return []
        }
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
