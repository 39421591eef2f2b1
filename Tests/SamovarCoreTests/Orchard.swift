import SamovarCore

/// A program with every kind of order, so small that a test can foresee each turn.
enum Orchard: OpenProgram {
    struct State: Portable {
        /// The number and the origin of each turn, in order.
        var log: [String] = []
    }

    enum Message: Portable {
        case quiet
        case then([Message])
        case run(Int)
        /// A follow-up that orders a follow-up, and so on.
        case endless
    }

    struct Effect: Portable {
        var name: String
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Orchard> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Orchard> {
        switch turn.origin {
        case .followUp(let cause): state.log.append("\(turn.number) after \(cause)")
        default: state.log.append("\(turn.number)")
        }
        return switch message {
        case .quiet: .none
        case .then(let messages): .batch(messages.map { .then($0) })
        case .run(let count): .batch((0..<count).map { .run(Effect(name: "\($0)")) })
        case .endless: .then(.endless)
        }
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

let secret = Secret(high: 0x0f0e_0d0c_0b0a_0908, low: 0x0706_0504_0302_0100)
let noon = Timestamp(microseconds: 43_200_000_000)

extension Turn {
    static func numbered(_ number: Int, secret: Secret = secret) -> Turn {
        Turn(number: number, now: noon, origin: .store, secret: secret)
    }
}
