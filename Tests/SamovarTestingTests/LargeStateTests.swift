import SamovarCore
import SamovarTesting
import Testing

/// A state that is large as a value, and not behind a reference, must not overflow a stack.
@Suite struct LargeStateTests {
    /// 64 KiB, of which the codec takes one word.
    struct Block: Portable {
        var words = InlineArray<8_192, Int>(repeating: 0)

        init() {}

        init(from decoder: any Decoder) throws {
            words[0] = try decoder.singleValueContainer().decode(Int.self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(words[0])
        }

        static func == (a: Block, b: Block) -> Bool { a.words[0] == b.words[0] }
    }

    enum Hall: OpenProgram {
        struct State: Portable { var block = Block() }
        enum Message: Portable { case count(Int) }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Hall> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Hall> {
            guard case .count(let number) = message else { return .none }
            state.block.words[0] += 1
            return number > 1 ? .then(.count(number - 1)) : .none
        }
    }

    @Test func `A state of 64 KiB goes through turns, chains and a restart`() throws {
        let store = try TestStore(Hall.self)
        store.send(.count(100)) { $0.block.words[0] = 100 }
        store.restart()
        store.send(.count(1)) { $0.block.words[0] = 101 }

        var local = try LocalStore(Hall.self)
        try local.send(.count(100))
        let count = local.state.block.words[0]
        #expect(count == 100)
    }
}
