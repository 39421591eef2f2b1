import Samovar

/// Two counters. `update` counts the first one itself; one step of the second one is slow work, so it is ordered from a worker.
enum Counter: Program {
    struct State: Portable {
        var sync = 0
        var async = 0
        /// Whether a worker is counting: there is never more than one step under way.
        var isBusy = false
        /// Why the last slow step came to nothing.
        var problem: String?
    }

    /// What outsiders may send. As JSON: `{"increment":{}}`.
    enum Input: Portable {
        case increment, decrement, incrementAsync
    }

    /// What can happen, from outside or from a worker.
    enum Message: Portable {
        case incremented, decremented, started
        case finished(count: Int)
        case gaveUp(reason: String)
    }

    /// What workers can be asked to do.
    enum Effect: Portable {
        case addOne(to: Int)
    }

    enum Refusal: Error, Portable {
        case busy
    }

    struct ViewState: Portable {
        let sync: String
        let async: String
        let status: String
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Counter> {
        .state(State())
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .increment: return .incremented
        case .decrement: return .decremented
        case .incrementAsync:
            if state.isBusy { throw .busy }
            return .started
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Counter> {
        switch message {
        // Wrapping: a trap in `update` would end the store, and nobody wants to learn that by counting too far.
        case .incremented: state.sync &+= 1
        case .decremented: state.sync &-= 1
        case .started:
            state.isBusy = true
            state.problem = nil
            return .run(.addOne(to: state.async), retry: .times(3), timeout: .seconds(10))
        case .finished(let count):
            state.isBusy = false
            state.async = count
        case .gaveUp(let reason):
            state.isBusy = false
            state.problem = reason
        }
        return .none
    }

    static func view(_ state: State) -> ViewState {
        ViewState(
            sync: "\(state.sync)", async: "\(state.async)",
            status: state.isBusy ? "working…" : state.problem ?? "idle")
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        .gaveUp(reason: failure.description)
    }
}
