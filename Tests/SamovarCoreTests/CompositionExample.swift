// snippet: composition
import SamovarCore

/// A kitchen timer: a whole program, which knows nothing of kitchens.
enum Timer: Program {
    struct State: Portable { var remaining = 0 }
    enum Message: Portable { case set(seconds: Int), second }
    enum Effect: Portable { case ring }
    typealias Input = Message
    typealias ViewState = Int

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Timer> { .state(State()) }
    static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Timer> {
        switch message {
        case .set(let seconds):
            state.remaining = seconds
            return .cancel("bell")
        case .second:
            state.remaining -= 1
            return state.remaining == 0 ? .run(.ring, id: "bell") : .none
        }
    }

    static func subscriptions(_ state: State) -> [Subscription<Timer>] {
        state.remaining > 0 ? [.every(.seconds(1), id: "second", send: .second)] : []
    }

    static func view(_ state: State) -> Int { state.remaining }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// A kitchen with two timers, a cook, and a book in which everything is written down.
enum Kitchen: OpenProgram {
    struct State: Portable {
        var eggs = Timer.State()
        var bread = Timer.State()
        var isBusy = false
        var book: [String] = []
    }

    enum Message: Portable {
        case eggs(Timer.Message)
        case bread(Timer.Message)
        case cook, served
    }

    enum Effect: Portable {
        case ring(timer: String)
        case cook
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Kitchen> { .state(State()) }

    /// Several functions over one state: they run from left to right, each sees what those before it changed, and what they order
    /// is carried out in the same order.
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Kitchen> {
        write(&state, message)
        return .batch([
            timers(&state, message, turn),
            cook(&state, message),
        ])
    }

    /// One that orders nothing needs no command.
    private static func write(_ state: inout State, _ message: Message) {
        state.book.append("\(message)")
    }

    /// Children: each changes its own part of the state. Labels get a name in front, so two bells are not one.
    private static func timers(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Kitchen> {
        switch message {
        case .eggs(let message):
            return Timer.update(&state.eggs, message, turn)
                .lift(under: "eggs", message: { .eggs($0) }, effect: { _ in .ring(timer: "eggs") })
        case .bread(let message):
            return Timer.update(&state.bread, message, turn)
                .lift(under: "bread", message: { .bread($0) }, effect: { _ in .ring(timer: "bread") })
        case .cook, .served: return .none
        }
    }

    private static func cook(_ state: inout State, _ message: Message) -> Command<Kitchen> {
        switch message {
        case .cook where !state.isBusy:
            state.isBusy = true
            return .run(.cook)
        case .served:
            state.isBusy = false
            return .none
        default: return .none
        }
    }

    static func subscriptions(_ state: State) -> [Subscription<Kitchen>] {
        Timer.subscriptions(state.eggs)
            .map { $0.lift(under: "eggs", message: { .eggs($0) }, effect: { _ in .ring(timer: "eggs") }) }
            + Timer.subscriptions(state.bread)
            .map { $0.lift(under: "bread", message: { .bread($0) }, effect: { _ in .ring(timer: "bread") }) }
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { effect == .cook ? .served : nil }
}
// end
