import Elementary
import SamovarCore

/// The counter that both stores run.
enum Counter: OpenProgram {
    struct State: Portable {
        var count = 0
    }

    enum Message: Portable {
        case increment, decrement, reset
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Counter> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Counter> {
        change(&state, message)
        return .none
    }

    @inline(__always)
    static func change(_ state: inout State, _ message: Message) {
        switch message {
        case .increment: state.count &+= 1
        case .decrement: state.count &-= 1
        case .reset: state.count = 0
        }
    }
}

/// The same with an `update` that is called and not inlined, as a large one would be.
enum CalledCounter: OpenProgram {
    typealias State = Counter.State
    typealias Message = Counter.Message

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<CalledCounter> { .state(State()) }

    @inline(never)
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<CalledCounter> {
        Counter.change(&state, message)
        return .none
    }
}

/// As its users write it: two closures, of which the second has nothing to do for these actions.
func makeElementaryCounter() -> Elementary.Store<Counter.State, Counter.Message> {
    Elementary.Store(state: Counter.State(), update: { Counter.change(&$0, $1) }, effect: { _, _, _ in })
}
