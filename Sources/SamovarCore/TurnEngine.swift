/// The turn engine: a program's state and the loop that applies one group of turns to it.
///
/// A group is a message with all its follow-ups, first in, first out; each is a turn with the next number. The engine decides
/// nothing else: it knows no codec, no journal, no peer and no clock. What each turn gave goes to a sink that the caller
/// brings, as a static parameter, so the whole loop is specialised for the program and a turn without orders allocates
/// nothing.
///
/// `update` mutates the state in place. Nothing else holds a reference to it, so a state of a million entries is never
/// copied. There is no way back from a turn: a group that breaks a limit leaves an engine that must not be used again.
public struct TurnEngine<P: Program>: ~Copyable {
    @usableFromInline var live: P.State
    @usableFromInline var number: Int
    @usableFromInline let secret: Secret
    @usableFromInline let limits: GroupLimits

    /// An engine that goes on after turn `head` with the state of that turn.
    @inlinable
    public init(state: consuming P.State, head: Int, secret: Secret, limits: GroupLimits = .default) {
        live = state
        number = head
        self.secret = secret
        self.limits = limits
    }

    /// The number of the newest turn.
    @inlinable public var head: Int { number }

    /// The state after the newest turn. Do not keep a copy across a turn: it would make the next mutation copy the state.
    @inlinable public var state: P.State { _read { yield live } }

    /// What the state wants to hear of. Asked here, where the state is: outside it would be copied first.
    @inlinable package var subscriptions: [Subscription<P>] { P.subscriptions(live) }

    /// The turn that the next message would be.
    @inlinable
    public func next(now: Timestamp, origin: Origin, sender: Sender? = nil) -> Turn {
        Turn(number: number + 1, now: now, origin: origin, sender: sender, secret: secret)
    }

    /// Counts a turn that does not call `update`, such as a refusal.
    @inlinable
    public mutating func skip() {
        number += 1
    }

    /// Goes on behind a turn of any number, of a past that is computed otherwise than it was.
    package mutating func skip(to turn: Int) {
        number = turn
    }

    /// Applies one message, and nothing that follows from it.
    @inlinable
    public mutating func step(
        _ message: P.Message, now: Timestamp, origin: Origin, sender: Sender? = nil
    ) -> (turn: Turn, command: Command<P>) {
        let turn = next(now: now, origin: origin, sender: sender)
        number += 1
        return (turn, P.update(&live, message, turn))
    }

    /// Applies a message and all its follow-ups.
    ///
    /// - Throws: `GroupLimit` if the group passes one of its limits; the state is then beyond repair.
    @inlinable
    public mutating func run<Sink: TurnSink & ~Copyable>(
        _ message: P.Message, now: Timestamp, origin: Origin, sender: Sender? = nil, into sink: inout Sink
    ) throws(GroupLimit) where Sink.P == P {
        let turn = next(now: now, origin: origin, sender: sender)
        number += 1
        let command = P.update(&live, message, turn)
        var chain = Chain()
        chain.note(command, of: turn.number)
        sink.took(turn, message, consume command)
        if sink.watchesState { sink.saw(live, after: message, turn) }
        try finish(&chain, of: turn, into: &sink)
    }

    /// Applies the follow-ups of a command that is already part of the journal, as of `turn`.
    @inlinable
    public mutating func follow<Sink: TurnSink & ~Copyable>(
        _ command: Command<P>, of turn: Turn, into sink: inout Sink
    ) throws(GroupLimit) where Sink.P == P {
        var chain = Chain()
        chain.note(command, of: turn.number)
        try finish(&chain, of: turn, into: &sink)
    }

    @inlinable
    mutating func finish<Sink: TurnSink & ~Copyable>(
        _ chain: inout Chain, of root: Turn, into sink: inout Sink
    ) throws(GroupLimit) where Sink.P == P {
        var turns = 1
        while let (message, cause) = chain.followUps.popFirst() {
            guard turns < limits.turns else { throw .turns(limits.turns, root: root.number) }
            turns += 1
            let turn = next(now: root.now, origin: .followUp(of: cause))
            number += 1
            let command = P.update(&live, message, turn)
            chain.note(command, of: turn.number)
            sink.took(turn, message, consume command)
            if sink.watchesState { sink.saw(live, after: message, turn) }
            guard chain.effects <= limits.effects else { throw .effects(limits.effects, root: root.number) }
        }
        guard chain.effects <= limits.effects else { throw .effects(limits.effects, root: root.number) }
    }

    /// What the turns of a group have ordered so far.
    @usableFromInline
    struct Chain {
        /// Messages that wait for their turn, and the turn that ordered each.
        @usableFromInline var followUps = ShortQueue<(message: P.Message, of: Int)>()
        @usableFromInline var effects = 0

        @inlinable
        init() {}

        @inlinable
        mutating func note(_ command: Command<P>, of turn: Int) {
            guard !command.isOneEffect else { return effects += 1 }
            for order in command {
                switch order {
                case .then(let message): followUps.append((message, turn))
                case .run: effects += 1
                case .cancel, .emit, .control: break
                }
            }
        }
    }
}

/// Takes note of each turn of a group, in order.
public protocol TurnSink<P>: ~Copyable {
    associatedtype P: Program
    /// A turn has been applied: its message, and what it ordered.
    mutating func took(_ turn: Turn, _ message: P.Message, _ command: consuming Command<P>)

    /// Whether `saw` shall be called after each turn. Default: no.
    var watchesState: Bool { get }
    /// The state after the turn that was just taken. Do not keep it: the next mutation would copy it.
    mutating func saw(_ state: P.State, after message: P.Message, _ turn: Turn)
}

extension TurnSink where Self: ~Copyable {
    /// Not unless a sink says so.
    @inlinable public var watchesState: Bool { false }

    /// Passes over it.
    @inlinable
    public mutating func saw(_ state: P.State, after message: P.Message, _ turn: Turn) {}
}

/// How large one group may grow.
public struct GroupLimits: Hashable, Sendable {
    /// Turns in one group, the first included. Each message of an answer may have so many.
    public var turns: Int
    /// Effects ordered by one group, or by each message of an answer.
    public var effects: Int
    /// Bytes of one group's records.
    public var bytes: Int
    /// Bytes of one effect, which has to fit a frame.
    public var effectBytes: Int

    /// Limits that differ from the defaults.
    public init(turns: Int = 1_000, effects: Int = 10_000, bytes: Int = 4 << 20, effectBytes: Int = 4 << 20) {
        self.turns = turns
        self.effects = effects
        self.bytes = bytes
        self.effectBytes = effectBytes
    }

    /// 1,000 turns, 10,000 effects, 4 MiB of records, and 4 MiB for one effect.
    public static let `default` = GroupLimits()
}

/// A group that passed one of its limits, with the turn that began it.
public enum GroupLimit: Error, Hashable, Sendable, CustomStringConvertible {
    /// It has more turns than this.
    case turns(Int, root: Int)
    /// It orders more effects than this.
    case effects(Int, root: Int)
    /// Its records take more bytes than this.
    case bytes(Int, root: Int)
    /// One of its effects takes more bytes than this.
    case effectBytes(Int, root: Int)
    /// A message or an effect of the group that its own `encode(to:)` refuses.
    case unencodable(String, root: Int)

    /// Which limit was passed, and by which turn.
    public var description: String {
        switch self {
        case .turns(let limit, let root): "the group of turn \(root) has more than \(limit) turns: an endless chain of follow-ups?"
        case .effects(let limit, let root): "the group of turn \(root) orders more than \(limit) effects"
        case .bytes(let limit, let root): "the records of the group of turn \(root) take more than \(limit) bytes"
        case .effectBytes(let limit, let root): "an effect of the group of turn \(root) takes more than \(limit) bytes"
        case .unencodable(let why, let root): "the group of turn \(root) has a value that cannot be encoded: \(why)"
        }
    }
}

extension GroupLimit {
    /// Which limit it is, so that it can be told without the turn.
    public enum Kind: Int, Sendable, CaseIterable {
        case turns, effects, bytes, effectBytes, unencodable

        /// What is wrong with a group that breaks it.
        public func text(_ limit: Int) -> String {
            switch self {
            case .turns: "more than \(limit) turns in one group: an endless chain of follow-ups?"
            case .effects: "more than \(limit) effects in one group"
            case .bytes: "more than \(limit) bytes of records in one group"
            case .effectBytes: "an effect of more than \(limit) bytes"
            case .unencodable: "a message or an effect that cannot be encoded"
            }
        }
    }

    /// Which limit it is.
    public var kind: Kind {
        switch self {
        case .turns: .turns
        case .effects: .effects
        case .bytes: .bytes
        case .effectBytes: .effectBytes
        case .unencodable: .unencodable
        }
    }

    /// The size of the limit; 0 where there is none.
    public var limit: Int {
        switch self {
        case .turns(let limit, _), .effects(let limit, _), .bytes(let limit, _), .effectBytes(let limit, _): limit
        case .unencodable: 0
        }
    }
}
