public import MessagePack
public import SamovarCore

/// Encodes what the turns of a group say, for the records and orders of its ``GroupWriter``.
///
/// An engine has one for all groups of a log. A class, so that nothing of it is copied on the way; its engine alone reaches it, so nothing
/// overlaps that would have to be checked each time.
@usableFromInline
final class GroupSink<P: Program> {
    @usableFromInline let group: GroupWriter
    @usableFromInline let codecs: ProgramCodecs<P>
    @usableFromInline let observers: [TurnObserver<P>]
    @exclusivity(unchecked) @usableFromInline var observed: [(turn: Int, deliver: @Sendable () -> Void)] = []

    @usableFromInline
    init(_ log: TurnLog, codecs: ProgramCodecs<P>, observers: [TurnObserver<P>]) {
        group = GroupWriter(log)
        self.codecs = codecs
        self.observers = observers
    }

    /// Nothing of the group before is left. Its first message is `given`, or has to be encoded.
    @inlinable
    func begin(root: Int, given: UnsafeRawBufferPointer? = nil, role: MessageRole = .open) {
        group.begin(root: root, given: given, role: role)
        if !observed.isEmpty { observed = [] }
    }

    /// Begins a turn.
    @inlinable
    func begin(_ turn: Turn, _ message: P.Message) {
        if group.begin(turn) { group.message = encode(message, codecs.message) }
    }

    @inlinable var watchesState: Bool { !observers.isEmpty || group.log.isTapped }

    @usableFromInline
    func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {
        for observer in observers {
            if let deliver = observer.observe(message, state, turn) { observed.append((turn.number, deliver)) }
        }
        guard let marker = group.log.tap?.marker else { return }
        // A view that cannot be encoded turns views off when the next is to be published, and that is told.
        guard let bytes = marker.during(.view, { try? codecs.view.encode(P.view(state)) }) else { return }
        group.log.tap?.views.append(TurnView(turn: turn.number, bytes: bytes))
    }

    /// Notes an effect that a turn orders.
    @inlinable
    func run(_ effect: P.Effect, _ options: RunOptions, _ ordinal: Int, _ turn: Turn) {
        group.run(encode(effect, codecs.effect), options, ordinal, turn)
    }

    /// Notes a message that follows a turn.
    @inlinable
    func follow(_ message: P.Message, of turn: Turn) {
        group.follow(encode(message, codecs.message), of: turn.number)
    }

    @inlinable
    func take(_ order: Command<P>.Order, _ ordinal: Int, of turn: Turn) {
        switch order {
        case .run(let effect, let options): run(effect, options, ordinal, turn)
        case .then(let message): follow(message, of: turn)
        case .cancel(let label): group.cancel(label)
        case .emit(let output): group.emit(encode(output, codecs.output), ordinal, turn)
        }
    }

    /// The newest command in full. Encoded again, because nearly every command of a replay is the recorded one and of no interest.
    func divergence(_ command: Command<P>, of turn: Turn, message: [UInt8], recorded: UInt64?) -> Divergence {
        let orders = command.enumerated().map { ordinal, order -> Divergence.Order in
            switch order {
            case .run(let effect, let options):
                let payload = bytes(of: effect, codecs.effect)
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                return .run(OpenEffect(id: id, root: group.root, options: options, payload: payload, now: turn.now))
            case .then(let message): return .then(bytes(of: message, codecs.message))
            case .cancel(let label): return .cancel(label)
            case .emit(let output): return .emit(bytes(of: output, codecs.output))
            }
        }
        // The hash is that of the build which wrote the record, if that has the same orders.
        let former = Divergence.formerHash(of: orders)
        return Divergence(
            turn: turn.number, origin: turn.origin, message: message, recorded: recorded,
            hash: recorded == former ? former : group.hash, orders: orders)
    }

    /// Encodes a value behind the others; returns where it is. One that its own `encode(to:)` refuses cannot be journalled, so the group
    /// fails as a whole.
    @inlinable
    func encode<Value>(_ value: Value, _ codec: UncountedCodec<Value>) -> Range<Int> {
        let start = group.encoded.count
        do {
            try codec.encode(value, into: &group.encoded)
            return start..<group.encoded.count
        } catch {
            group.fail(error)
            return start..<start
        }
    }

    private func bytes<Value>(of value: Value, _ codec: UncountedCodec<Value>) -> [UInt8] { group.bytes(encode(value, codec)) }
}

/// A sink whose references are not counted for each turn. Whoever has one keeps the sink.
@usableFromInline
struct UncountedSink<P: Program>: TurnSink {
    @usableFromInline let sink: Unmanaged<GroupSink<P>>

    @usableFromInline
    init(_ sink: GroupSink<P>) { self.sink = .passUnretained(sink) }

    @inlinable
    func begin(root: Int, given: UnsafeRawBufferPointer?, role: MessageRole) {
        sink._withUnsafeGuaranteedRef { $0.begin(root: root, given: given, role: role) }
    }

    @inlinable
    func took(_ turn: Turn, _ message: P.Message, _ command: consuming Command<P>) {
        sink._withUnsafeGuaranteedRef { $0.begin(turn, message) }
        take(orders: command, of: turn)
        sink._withUnsafeGuaranteedRef { $0.group.end(turn) }
    }

    /// Notes what a turn orders, and its hash.
    @inlinable
    func take(orders command: consuming Command<P>, of turn: Turn) {
        // The one order of most commands is taken apart where it is: a copy of it would count its references.
        switch (consume command).orders {
        case .none: return
        case .one(.run(let effect, let options)): sink._withUnsafeGuaranteedRef { $0.run(effect, options, 0, turn) }
        case .one(.then(let message)): sink._withUnsafeGuaranteedRef { $0.follow(message, of: turn) }
        case .one(let order): sink._withUnsafeGuaranteedRef { $0.take(order, 0, of: turn) }
        case .many(let orders):
            for (ordinal, order) in orders.enumerated() { sink._withUnsafeGuaranteedRef { $0.take(order, ordinal, of: turn) } }
        }
        sink._withUnsafeGuaranteedRef { $0.group.endOrders() }
    }

    @inlinable var watchesState: Bool { sink._withUnsafeGuaranteedRef { $0.watchesState } }

    @inlinable
    func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {
        sink._withUnsafeGuaranteedRef { $0.saw(state, after: message, turn) }
    }

    @inlinable
    func check(_ limits: GroupLimits) throws(GroupLimit) {
        if let broken = sink._withUnsafeGuaranteedRef({ $0.group.broken(of: limits) }) { throw broken }
    }
}

/// The codecs of a program's types, as the journal and the wire have them. A class, so that each group has one reference to them.
@usableFromInline
final class ProgramCodecs<P: Program> {
    @usableFromInline let input: UncountedCodec<P.Input>
    @usableFromInline let message: UncountedCodec<P.Message>
    @usableFromInline let effect: UncountedCodec<P.Effect>
    @usableFromInline let output: UncountedCodec<P.Output>
    @usableFromInline let view: UncountedCodec<P.ViewState>
    let state: ValueCodec<P.State>
    /// What the others refer to without counting it.
    private let kept: [Any]

    init(_ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder) {
        let codecs = (
            input: ValueCodec<P.Input>(encoder, decoder), message: ValueCodec<P.Message>(encoder, decoder),
            effect: ValueCodec<P.Effect>(encoder, decoder), output: ValueCodec<P.Output>(encoder, decoder),
            view: ValueCodec<P.ViewState>(encoder, decoder)
        )
        input = UncountedCodec(codecs.input)
        message = UncountedCodec(codecs.message)
        effect = UncountedCodec(codecs.effect)
        output = UncountedCodec(codecs.output)
        view = UncountedCodec(codecs.view)
        state = ValueCodec(encoder, decoder)
        kept = [codecs]
    }
}
