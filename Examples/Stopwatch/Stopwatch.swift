import Samovar

/// A stopwatch. It ticks while it runs and only then: the timer is a subscription that the state asks for.
enum Stopwatch: Program {
    struct State: Portable {
        /// What it shows.
        var elapsed = Duration.zero
        /// Up to when the time is counted; nil while it stands still.
        var counted: Timestamp?
    }

    /// What outsiders may send: a person has no button for a tick.
    enum Input: Portable {
        case start, stop, reset
    }

    enum Message: Portable {
        case started, stopped, reset, ticked
    }

    struct ViewState: Portable {
        let time: String
        let isRunning: Bool
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Stopwatch> {
        .state(State())
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
        switch input {
        case .start: .started
        case .stop: .stopped
        case .reset: .reset
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Stopwatch> {
        // How late a tick comes does not matter: the time is that between turns, not a number of ticks.
        if let counted = state.counted {
            state.elapsed += turn.now - counted
            state.counted = turn.now
        }
        switch message {
        case .started: state.counted = turn.now
        case .stopped: state.counted = nil
        case .reset: state = State()
        case .ticked: break
        }
        return .none
    }

    /// The timer begins with the turn in which `counted` gets a value, and ends with the one in which it loses it.
    static func subscriptions(_ state: State) -> [Subscription<Stopwatch>] {
        state.counted == nil ? [] : [.every(.milliseconds(100), id: "tick", send: .ticked)]
    }

    static func view(_ state: State) -> ViewState {
        let (seconds, attoseconds) = state.elapsed.components
        let parts = [seconds / 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return ViewState(
            time: "\(parts[0]):\(parts[1]).\(attoseconds / 100_000_000_000_000_000)", isRunning: state.counted != nil)
    }
}
