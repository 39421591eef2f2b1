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
        /// What the state wants to hear of, by its label.
        var bells: [String: HungBell] = [:]
    }

    enum Input: Portable {
        case note(UInt64)
        /// With so many follow-ups, the last of which orders an effect.
        case chain(UInt64, links: Int)
        case work(UInt64, Work, count: Int)
        case refuse(UInt64)
        case hang(UInt64, Bell)
        case takeDown(UInt64, bell: Int)
        /// Orders an effect with the label and the policy of a stone.
        case lay(UInt64, Work, Stone)
        /// Cancels what lies on a stone.
        case clear(UInt64, stone: Int)
        case shout(UInt64)
    }

    enum Message: Portable {
        case noted(UInt64)
        case link(UInt64, rest: Int)
        case ordered(UInt64, Work, count: Int)
        /// The answer of an effect; `flour` is of one execution and no other.
        case ground(UInt64, flour: UInt64)
        case spoiled(UInt64, attempts: Int)
        case hung(UInt64, Bell)
        case tookDown(UInt64, bell: Int)
        case rang(UInt64, bell: Int)
        case laid(UInt64, Work, Stone)
        case cleared(UInt64, stone: Int)
        case shouted(UInt64)
        /// Streamed by an effect, item after item.
        case poured(UInt64, item: Int)
    }

    /// What other programs hear.
    typealias Output = UInt64

    /// What a worker is asked for.
    struct Effect: Portable {
        let grain: UInt64
        let work: Work
        /// Of several that one turn orders; of one on a stone, the number of the stone.
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
        case .hang(let grain, let bell): return .hung(grain, bell)
        case .takeDown(let grain, let bell): return .tookDown(grain, bell: bell)
        case .lay(let grain, let work, let stone): return .laid(grain, work, stone)
        case .clear(let grain, let stone): return .cleared(grain, stone: stone)
        case .shout(let grain): return .shouted(grain)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Mill> {
        state.tally.take(message, turn)
        switch message {
        case .noted, .spoiled, .poured: return .none
        case .ground(let grain, _):
            // Some answers end subscriptions: one, or all that wait for the end of the store.
            if grain % 8 == 3 { state.bells[name(Int(grain / 8 % UInt64(Bell.places)))] = nil }
            if grain % 4 == 1 { state.bells = state.bells.filter { $0.value.bell.kind != .draining } }
            return .none
        case .link(let grain, let rest):
            return rest > 0 ? .then(.link(grain, rest: rest - 1)) : order(Effect(grain: grain, work: .quick, part: 0))
        case .ordered(let grain, let work, let count):
            state.orders[work.rawValue, default: 0] += count
            return .batch((0..<count).map { order(Effect(grain: grain, work: work, part: $0)) })
        case .hung(let grain, let bell):
            state.bells[name(bell.place)] = HungBell(bell, grain: grain, now: turn.now)
            return .none
        case .tookDown(_, let bell):
            state.bells[name(bell)] = nil
            return .none
        case .rang(let grain, let bell): return ring(&state, grain, bell)
        case .laid(let grain, let work, let stone):
            return order(Effect(grain: grain, work: work, part: stone.code), id: stone.label, policy: stone.policy)
        case .cleared(let grain, let stone): return .cancel(Stone.label(stone)).emit(grain)
        case .shouted(let grain): return .emit(grain).emit(grain &+ 1)
        }
    }

    /// A bell that rang. One that rings at a single time is taken down by half of its rings.
    private static func ring(_ state: inout State, _ grain: UInt64, _ place: Int) -> Command<Mill> {
        guard let hung = state.bells[name(place)] else { return .none }
        state.bells[name(place)]?.rings += 1
        if hung.bell.kind == .at, grain % 2 == 0 { state.bells[name(place)] = nil }
        guard hung.bell.isWorking else { return hung.rings % 4 == 0 ? .emit(grain) : .none }
        return order(Effect(grain: grain, work: .quick, part: 0), id: Label("bell \(place)"), policy: .latest)
    }

    private static func order(_ effect: Effect, id: Label? = nil, policy: Policy = .all) -> Command<Mill> {
        .run(
            effect, id: id, queue: effect.work.queue, policy: policy, retry: effect.work.retry, timeout: effect.timeout,
            delay: effect.work.delay)
    }

    static func name(_ place: Int) -> String { "bell \(place)" }

    static func subscriptions(_ state: State) -> [Subscription<Mill>] {
        state.bells.isEmpty ? [] : state.bells.sorted { $0.key < $1.key }.map { $0.value.subscription(id: Label($0.key)) }
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
        case .hung(let grain, let bell): hash.combine(grain ^ bell.code)
        case .tookDown(let grain, let bell), .rang(let grain, let bell): hash.combine(grain &* UInt64(bell + 2))
        case .laid(let grain, _, let stone): hash.combine(grain &- UInt64(stone.code))
        case .cleared(let grain, let stone): hash.combine(grain &+ UInt64(stone) << 32)
        case .shouted(let grain): hash.combine(~grain)
        case .poured(let grain, let item): hash.combine(grain &+ UInt64(item) << 40)
        }
        checksum = hash.finish()
    }
}
