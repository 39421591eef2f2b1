import MessagePack
import SamovarCore

/// The program of the simulated store. Every input carries a grain that no other has, and the checksum of the state depends on each
/// message, its turn, its time and its order: a message lost, repeated or taken out of turn is seen in every later view.
enum Mill: Program {
    struct Seed: Portable {
        /// How much a view weighs.
        var sackBytes: Int
    }

    struct State: Portable {
        var tally: Tally
        var sackBytes: Int
        /// What was ordered, by kind: a dictionary, so that its order must not matter.
        var orders: [String: Int] = [:]
    }

    enum Input: Portable {
        case note(UInt64)
        /// With so many follow-ups, the last of which orders an effect.
        case chain(UInt64, links: Int)
        case work(UInt64, Work, count: Int)
        case refuse(UInt64)
    }

    enum Message: Portable {
        case noted(UInt64)
        case link(UInt64, rest: Int)
        case ordered(UInt64, Work, count: Int)
        /// The answer of an effect; `flour` is of one execution and no other.
        case ground(UInt64, flour: UInt64)
        case spoiled(UInt64, attempts: Int)
    }

    /// What a worker is asked for.
    struct Effect: Portable {
        let grain: UInt64
        let work: Work
        let part: Int
    }

    struct Refusal: Error & Portable {
        let grain: UInt64
    }

    struct ViewState: Portable {
        let tally: Tally
        let sack: String
    }

    static var schema: Schema { Schema(name: "Mill", version: 1) }

    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<Mill> {
        .state(State(tally: Tally(), sackBytes: seed.sackBytes), .then(.noted(1)).run(Effect(grain: 1, work: .quick, part: 0)))
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .note(let grain): return .noted(grain)
        case .chain(let grain, let links): return .link(grain, rest: links)
        case .work(let grain, let work, let count): return .ordered(grain, work, count: count)
        case .refuse(let grain): throw Refusal(grain: grain)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Mill> {
        state.tally.take(message, turn)
        switch message {
        case .noted, .ground, .spoiled: return .none
        case .link(let grain, let rest):
            return rest > 0 ? .then(.link(grain, rest: rest - 1)) : order(Effect(grain: grain, work: .quick, part: 0))
        case .ordered(let grain, let work, let count):
            state.orders[work.rawValue, default: 0] += count
            return .batch((0..<count).map { order(Effect(grain: grain, work: work, part: $0)) })
        }
    }

    private static func order(_ effect: Effect) -> Command<Mill> {
        .run(
            effect, queue: effect.work.queue, retry: effect.work.retry, timeout: effect.work.timeout,
            delay: effect.work == .late ? .milliseconds(700) : .zero)
    }

    static func view(_ state: State) -> ViewState { view(of: state.tally, sackBytes: state.sackBytes) }

    /// A view depends on the tally alone, so that a judge who keeps the tally of each turn knows each view.
    static func view(of tally: Tally, sackBytes: Int) -> ViewState {
        let letter = UInt8(97 + tally.checksum % 26)
        return ViewState(tally: tally, sack: String(decoding: [UInt8](repeating: letter, count: sackBytes), as: UTF8.self))
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        effect.work == .doomed ? nil : .spoiled(effect.grain, attempts: failure.attempts)
    }
}

/// What the messages so far came to.
struct Tally: Portable, BitwiseCopyable {
    var messages = 0
    var checksum: UInt64 = 0

    mutating func take(_ message: Mill.Message, _ turn: Turn) {
        messages += 1
        var random = turn.random("flour")
        var hash = KeyedHash(Secret(high: checksum, low: random.next()))
        hash.combine(turn.number)
        hash.combine(UInt64(bitPattern: turn.now.microseconds))
        switch message {
        case .noted(let grain): hash.combine(grain)
        case .link(let grain, let rest): hash.combine(grain &+ UInt64(rest))
        case .ordered(let grain, _, let count): hash.combine(grain &* UInt64(count + 1))
        case .ground(let grain, let flour): hash.combine(grain ^ flour)
        case .spoiled(let grain, let attempts): hash.combine(grain &- UInt64(attempts))
        }
        checksum = hash.finish()
    }
}
