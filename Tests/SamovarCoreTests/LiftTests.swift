import SamovarCore
import Testing

/// A child program and its parent.
private enum Bell: Program {
    struct State: Portable { var rings = 0 }
    enum Message: Portable { case ring, rung(times: Int) }
    enum Effect: Portable { case strike }
    enum Output: Portable { case heard }
    typealias Input = Message
    typealias ViewState = Int

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Bell> { .state(State(), .run(.strike)) }
    static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Bell> {
        switch message {
        case .ring: return .run(.strike, id: "strike", queue: "tower", policy: .latest).then(.rung(times: 1))
        case .rung(let times):
            state.rings += times
            return .emit(.heard).cancel("strike")
        }
    }

    static func subscriptions(_ state: State) -> [Subscription<Bell>] {
        [.every(.seconds(1), id: "hour", send: .ring), .source(.strike, id: "rope"), .on(.resumed, id: "back", send: .ring)]
    }

    static func view(_ state: State) -> Int { state.rings }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

private enum Church: OpenProgram {
    struct State: Portable { var bell = Bell.State() }
    enum Message: Portable { case bell(Bell.Message), heard }
    enum Effect: Portable { case bell(Bell.Effect) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Church> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Church> {
        guard case .bell(let message) = message else { return .none }
        return Bell.update(&state.bell, message, turn)
            .lift(under: "bell", message: { .bell($0) }, effect: { .bell($0) }, output: { _ in .then(.heard) })
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@Suite struct LiftTests {
    private static let turn = Turn(
        number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: Secret(high: 0, low: 0))

    @Test func `A child's orders become the parent's, with its labels under a prefix`() {
        var state = Church.State()
        let command = Church.update(&state, .bell(.ring), Self.turn)
        let options = RunOptions(id: "bell/strike", queue: "tower", policy: .latest)
        #expect(Array(command) == [.run(.bell(.strike), options), .then(.bell(.rung(times: 1)))])
    }

    @Test func `A child changes its own part of the state, and the parent decides what its outputs mean`() {
        var state = Church.State()
        let command = Church.update(&state, .bell(.rung(times: 2)), Self.turn)
        #expect(state.bell.rings == 2)
        #expect(Array(command) == [.then(.heard), .cancel("bell/strike")])
    }

    @Test func `An effect without a label has none in the parent`() {
        let lifted: Command<Church> = Command<Bell>.run(.strike)
            .lift(under: "bell", message: { .bell($0) }, effect: { .bell($0) }, output: { _ in .none })
        #expect(Array(lifted) == [.run(.bell(.strike), RunOptions())])
    }

    @Test func `Subscriptions are lifted with their times, sources and moments`() {
        let lifted = Bell.subscriptions(Bell.State())
            .map { $0.lift(into: Church.self, under: "bell", message: { .bell($0) }, effect: { .bell($0) }) }
        #expect(
            lifted == [
                .every(.seconds(1), id: "bell/hour", send: .bell(.ring)), .source(.bell(.strike), id: "bell/rope"),
                .on(.resumed, id: "bell/back", send: .bell(.ring)),
            ])
    }
}
