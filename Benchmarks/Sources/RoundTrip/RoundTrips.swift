import SamovarCore

/// An effect of a round trip: 64 bytes, which name it.
protocol NumberedEffect: Portable {
    init(number: Int)
    var number: Int { get }
}

/// A message of a round trip.
protocol RoundTripMessage: Portable {
    static var order: Self { get }
    static func answer(_ number: Int) -> Self
    /// The number of an answer; nil if it is the order of the next effect.
    var answered: Int? { get }
}

/// A program that drives itself: each answer orders the next effect by a follow-up, so that `open` effects are under way until
/// `total` have been answered. One round trip is two turns, that of the answer and that of the order.
///
/// Each effect has a number, and the state remembers which were answered: what was lost or counted twice is in the view.
enum RoundTrips<Message: RoundTripMessage, Effect: NumberedEffect>: Program {
    struct Seed: Portable {
        var open: Int
        var total: Int
    }

    struct State: Portable {
        var total: Int
        var ordered: Int
        var answered = 0
        var twice = 0
        var began: Timestamp
        var ended: Timestamp
        /// One bit for each number.
        var seen: [UInt64]

        mutating func note(_ number: Int) {
            let bit = UInt64(1) << (number % 64)
            if seen[number / 64] & bit != 0 { twice += 1 }
            seen[number / 64] |= bit
        }
    }

    typealias Input = NoSeed

    struct ViewState: Portable {
        var answered: Int
        var missing: Int
        var twice: Int
        /// From the first answer to the last, by the store's clock.
        var microseconds: Int
    }

    static var schema: Schema { Schema(name: "RoundTrips", version: 1) }

    static func start(_ seed: Seed, _ turn: Turn) -> Next<Self> {
        let total = max(1, seed.total)
        let open = min(max(1, seed.open), total)
        let state = State(
            total: total, ordered: open, began: turn.now, ended: turn.now, seen: Array(repeating: 0, count: total / 64 + 1))
        return .state(state, .batch((0..<open).map { .run(Effect(number: $0)) }))
    }

    static func accept(_ input: NoSeed, _ state: State, _ turn: Turn) -> Message { .order }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        guard let number = message.answered else {
            let next = state.ordered
            guard next < state.total else { return .none }
            state.ordered += 1
            return .run(Effect(number: next))
        }
        guard 0..<state.total ~= number else { return .none }
        if state.answered == 0 { state.began = turn.now }
        state.note(number)
        state.answered += 1
        state.ended = turn.now
        return state.ordered < state.total ? .then(.order) : .none
    }

    static func view(_ state: State) -> ViewState {
        let seen = state.answered == state.total ? state.seen.reduce(0) { $0 + $1.nonzeroBitCount } : 0
        return ViewState(
            answered: state.answered, missing: state.answered == state.total ? state.total - seen : state.total - state.answered,
            twice: state.twice, microseconds: Int(state.ended.microseconds - state.began.microseconds))
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// Effects of 64 bytes, of which the first 8 are a number.
enum Samples {
    static func bytes(_ number: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0x78, count: 64)
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, as: Int.self) }
        return bytes
    }

    static func number(of bytes: [UInt8]) -> Int {
        guard bytes.count >= 8 else { return -1 }
        return Int(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(as: Int.self) })
    }
}
