import SamovarCore
import Testing

/// Several updates over one state, and programs inside programs; the example is that of docs/composition.md.
@Suite struct CompositionTests {
    @Test func `C19: Several updates run from left to right, and so do their orders`() {
        enum Steps: OpenProgram {
            struct State: Portable { var seen: [String] = [] }
            enum Message: Portable { case go }
            enum Effect: Portable { case note([String]) }

            static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Steps> { .state(State()) }

            static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Steps> {
                .batch([step("a", &state), step("b", &state), step("c", &state)])
            }

            private static func step(_ name: String, _ state: inout State) -> Command<Steps> {
                state.seen.append(name)
                return .run(.note(state.seen))
            }

            static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
        }
        var state = Steps.State()
        let command = Steps.update(&state, .go, .numbered(1))
        #expect(state.seen == ["a", "b", "c"])
        #expect(
            Array(command) == [
                .run(.note(["a"]), RunOptions()), .run(.note(["a", "b"]), RunOptions()),
                .run(.note(["a", "b", "c"]), RunOptions()),
            ])
    }

    @Test func `C20: A child changes only its part of the state, and its orders reach the parent under its name`() throws {
        var store = try LocalStore(Kitchen.self)
        try store.send(.eggs(.set(seconds: 1)))
        try store.send(.bread(.set(seconds: 2)))
        #expect(store.subscriptions.map(\.id) == ["eggs/second", "bread/second"])
        try store.fire("eggs/second")
        try store.fire("bread/second")
        #expect(store.state.eggs.remaining == 0 && store.state.bread.remaining == 1)
        let bells = store.takeEffects()
        #expect(bells.map(\.effect) == [.ring(timer: "eggs")])
        #expect(bells.map(\.options.id) == ["eggs/bell"])
        try store.send(.bread(.set(seconds: 5)))
        #expect(store.takeCancelled() == [], "the bell of the eggs is not that of the bread")
        try store.send(.eggs(.set(seconds: 5)))
        #expect(store.takeCancelled() == bells.map(\.id))
    }

    @Test func `An update that orders nothing sees each message, too`() throws {
        var store = try LocalStore(Kitchen.self)
        try store.send(.cook)
        try store.send(.cook)
        #expect(store.state.book == ["cook", "cook"])
        #expect(store.takeEffects().map(\.effect) == [.cook])
    }
}
