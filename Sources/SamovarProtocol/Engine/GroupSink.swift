public import MessagePack
public import SamovarCore

/// Encodes what the turns of a group say, for the records and orders of its ``GroupWriter``.
///
/// An engine has one for all groups of a log. A class, so that nothing of it is copied on the way; its engine alone reaches it, so nothing
/// overlaps that would have to be checked each time.
@usableFromInline
final class GroupSink<P: Program>: TurnSink {
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

    @inlinable
    func took(_ turn: Turn, _ message: P.Message, _ command: consuming Command<P>) {
        if group.begin(turn) { group.message = encode(message, codecs.message) }
        take(orders: command, of: turn)
        group.end(turn)
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

    /// Notes what a turn orders, and its hash.
    @inlinable
    func take(orders command: consuming Command<P>, of turn: Turn) {
        // The one order of most commands is taken apart where it is: a copy of it would count its references.
        switch (consume command).orders {
        case .none: return
        case .one(.run(let effect, let options)): group.run(encode(effect, codecs.effect), options, 0, turn)
        case .one(.then(let message)): group.follow(encode(message, codecs.message), of: turn.number)
        case .one(let order): take(order, 0, of: turn)
        case .many(let orders): for (ordinal, order) in orders.enumerated() { take(order, ordinal, of: turn) }
        }
        group.endOrders()
    }

    @inlinable
    func take(_ order: Command<P>.Order, _ ordinal: Int, of turn: Turn) {
        switch order {
        case .run(let effect, let options): group.run(encode(effect, codecs.effect), options, ordinal, turn)
        case .then(let message): group.follow(encode(message, codecs.message), of: turn.number)
        case .cancel(let label): group.cancel(label)
        case .emit(let output): group.emit(encode(output, codecs.output), ordinal, turn)
        }
    }

    /// The newest command in full. Encoded again, for nearly every command of a replay is the recorded one and of no interest.
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
        return Divergence(
            turn: turn.number, origin: turn.origin, message: message, recorded: recorded, hash: group.hash, orders: orders)
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
            group.failure = .unencodable("\(error)", root: group.root)
            return start..<start
        }
    }

    private func bytes<Value>(of value: Value, _ codec: UncountedCodec<Value>) -> [UInt8] { group.bytes(encode(value, codec)) }
}

/// The codecs of a program's types, as the journal and the wire have them. A class, so that each group has one reference to them.
@usableFromInline
final class ProgramCodecs<P: Program> {
    @usableFromInline let input: UncountedCodec<P.Input>
    @usableFromInline let message: UncountedCodec<P.Message>
    @usableFromInline let effect: UncountedCodec<P.Effect>
    @usableFromInline let output: UncountedCodec<P.Output>
    @usableFromInline let view: UncountedCodec<P.ViewState>
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
        kept = [codecs]
    }
}
