import Samovar
import SamovarTesting
import Testing

// snippet: talk-port
enum Notebook: Program {
    struct State: Portable {
        var count = 0
        /// The count that was exported last.
        var exported = 0
    }

    enum Message: Portable { case increment, decrement, export, exported(count: Int), draining }
    enum Effect: Portable { case export(count: Int) }
    typealias Input = Message

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Notebook> { .state(State()) }
    static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Notebook> {
        switch message {
        case .increment: state.count += 1
        case .decrement: state.count -= 1
        case .export, .draining: return .run(.export(count: state.count))
        case .exported(let count): state.exported = count
        }
        return .none
    }

    static func subscriptions(_ state: State) -> [Subscription<Notebook>] {
        state.exported == state.count ? [] : [.on(.draining, id: "at the end", send: .draining)]
    }

    static func view(_ state: State) -> Panel<Message> {
        Panel(
            "Notebook",
            [
                .columns([.button("−", send: .decrement), "\(state.count)", .button("+", send: .increment)]),
                .button("export", send: .export),
            ])
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}
// end

@Suite struct TalkPortTests {
    @Test func `The view is a value that carries what its buttons send`() throws {
        let store = try TestStore(Notebook.self)
        store.send(.increment) { $0.count = 1 }
        store.expectView(
            Panel(
                "Notebook",
                [
                    .columns([.button("−", send: .decrement), "1", .button("+", send: .increment)]),
                    .button("export", send: .export),
                ]))
        store.expectSubscriptions([.on(.draining, id: "at the end", send: .draining)])
        store.send(.export)
        store.complete(.export(count: 1), with: .exported(count: 1)) { $0.exported = 1 }
        store.expectSubscriptions([])
    }
}
