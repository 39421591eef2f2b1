public import MessagePack
public import SamovarCore
import SamovarWire

/// Encodes what the turns of a group say, and has the log record it. The log is lent by its address: moving it into a sink and back takes as
/// long as encoding a small message.
@usableFromInline
struct EncodingSink<P: Program>: TurnSink, ~Copyable {
    @usableFromInline let log: UnsafeMutablePointer<TurnLog>
    @usableFromInline let codecs: ProgramCodecs<P>
    @usableFromInline let observers: [TurnObserver<P>]

    @inlinable
    init(_ log: UnsafeMutablePointer<TurnLog>, _ codecs: ProgramCodecs<P>, _ observers: [TurnObserver<P>]) {
        self.log = log
        self.codecs = codecs
        self.observers = observers
    }

    @inlinable
    func took(_ turn: Turn, _ message: P.Message, _ command: consuming Command<P>) {
        if log.pointee.begin(turn) { log.pointee.message = encode(message, codecs.message) }
        take(orders: command, of: turn)
        log.pointee.end(turn)
    }

    /// Notes what a turn orders, and its hash.
    @inlinable
    func take(orders command: consuming Command<P>, of turn: Turn) {
        // The one order of most commands is taken apart where it is: a copy of it would count its references.
        switch (consume command).orders {
        case .none: return
        case .one(.run(let effect, let options)): log.pointee.run(encode(effect, codecs.effect), options, 0, turn)
        case .one(.then(let message)): log.pointee.follow(encode(message, codecs.message), of: turn.number)
        case .one(let order): take(order, 0, of: turn)
        case .many(let orders): for (ordinal, order) in orders.enumerated() { take(order, ordinal, of: turn) }
        }
        log.pointee.endOrders()
    }

    @inlinable
    func take(_ order: Command<P>.Order, _ ordinal: Int, of turn: Turn) {
        switch order {
        case .run(let effect, let options): log.pointee.run(encode(effect, codecs.effect), options, ordinal, turn)
        case .then(let message): log.pointee.follow(encode(message, codecs.message), of: turn.number)
        case .cancel(let label): log.pointee.cancel(label)
        case .emit(let output): log.pointee.emit(encode(output, codecs.output), ordinal, turn)
        case .control(let control): log.pointee.control(control, ordinal, turn)
        }
    }

    /// Encodes a value behind the others; returns where it is. One that its own `encode(to:)` refuses cannot be journalled, so the group
    /// fails as a whole.
    @inlinable
    func encode<Value>(_ value: Value, _ codec: ValueCodec<Value>) -> Range<Int> {
        let start = log.pointee.encoded.count
        do { try codec.encode(value, into: &log.pointee.encoded) } catch { log.pointee.fail(error) }
        return start..<log.pointee.encoded.count
    }

    @inlinable var watchesState: Bool { !observers.isEmpty || log.pointee.isTapped }

    @usableFromInline
    func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {
        for observer in observers {
            if let deliver = observer.observe(message, state, turn) { log.pointee.deliver(deliver, after: turn.number) }
        }
        guard let marker = log.pointee.tap?.marker else { return }
        // A view that cannot be encoded turns views off when the next is to be published, and that is told.
        guard let bytes = marker.during(.view, { try? codecs.view.encode(P.view(state)) }) else { return }
        log.pointee.tap?.views.append(TurnView(turn: turn.number, bytes: bytes))
    }
}

/// The codecs of a program's types, as the journal and the wire have them. A class, for a copy is one reference.
@usableFromInline
final class ProgramCodecs<P: Program> {
    @usableFromInline let input: ValueCodec<P.Input>
    @usableFromInline let message: ValueCodec<P.Message>
    /// The same for what is in the journal, in which a field may be that is gone; so it is with effects.
    @usableFromInline let recorded: ValueCodec<P.Message>
    @usableFromInline let effect: ValueCodec<P.Effect>
    @usableFromInline let output: ValueCodec<P.Output>
    @usableFromInline let view: ValueCodec<P.ViewState>

    init(_ encoder: MessagePackEncoder, _ decoder: MessagePackDecoder, recorded former: MessagePackDecoder) {
        input = ValueCodec(encoder, decoder)
        message = ValueCodec(encoder, decoder)
        recorded = ValueCodec(encoder, former)
        effect = ValueCodec(encoder, former)
        output = ValueCodec(encoder, decoder)
        view = ValueCodec(encoder, decoder)
    }
}
