import MessagePack
import SamovarCore

/// A counter, the cheapest program there is: what is measured is the runtime.
enum Tally: OpenProgram {
    struct State: Portable {
        var count = 0
    }

    enum Message: Portable {
        case increment(by: Int)
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .increment(let step): state.count &+= step
        }
        return .none
    }
}

/// The same counter with a message that reads itself.
enum PackableTally: OpenProgram {
    typealias State = Tally.State

    enum Message: Portable, MessagePackable {
        case increment(by: Int)

        func write(to writer: inout MessagePackWriter) {
            switch self {
            case .increment(let step): writer.write(step)
            }
        }

        init(from reader: inout MessagePackReader) throws(MessagePackError) {
            self = .increment(by: try reader.readInt())
        }
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .increment(let step): state.count &+= step
        }
        return .none
    }
}

/// A state of a million entries, of which each turn changes one.
enum Ledger: Program {
    struct Seed: Portable {
        var entries: Int
    }

    struct State: Portable {
        var balances: [Int: Int]
    }

    enum Input: Portable {
        case deposit(account: Int, amount: Int)
    }

    struct ViewState: Portable {
        var accounts: Int
    }

    typealias Message = Input

    static func start(_ seed: Seed, _ turn: Turn) -> Next<Self> {
        .state(State(balances: Dictionary(uniqueKeysWithValues: (0..<seed.entries).map { ($0, 0) })))
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Never) -> Input { input }

    static func update(_ state: inout State, _ message: Input, _ turn: Turn) -> Command<Self> {
        switch message {
        case .deposit(let account, let amount): state.balances[account, default: 0] += amount
        }
        return .none
    }

    static func view(_ state: State) -> ViewState { ViewState(accounts: state.balances.count) }
}
