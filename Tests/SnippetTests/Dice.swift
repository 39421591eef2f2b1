import Samovar
import SamovarTesting
import Testing

// snippet: dice
enum Dice: OpenProgram {
    struct State: Portable {
        var rolled: [Int] = []
        var last: Timestamp?
    }

    enum Message: Portable { case roll(times: Int) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Dice> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Dice> {
        switch message {
        case .roll(let times):
            var dice = turn.random("dice")
            for _ in 0..<min(max(times, 0), 100) { state.rolled.append(Int.random(in: 1...6, using: &dice)) }
            state.last = turn.now
        }
        return .none
    }
}
// end

@Suite struct DiceTests {
    @Test func `What was rolled is rolled again by a replay`() throws {
        let store = try TestStore(Dice.self, exhaustive: false)
        store.send(.roll(times: 10))
        let rolled = store.state
        #expect(rolled.rolled.count == 10 && rolled.rolled.allSatisfy { (1...6).contains($0) })
        #expect(rolled.last == store.now)
        store.restart()
        store.expectState(rolled)
    }

    // snippet: dice-in-one-process
    @Test func `In one process a turn has happened when send returns`() throws {
        var store = try LocalStore(Dice.self, secret: Secret(high: 1, low: 2))
        try store.send(.roll(times: 2))
        #expect(store.state.rolled.count == 2)
    }
    // end
}
