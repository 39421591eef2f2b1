import Samovar
import Testing

// snippet: schema-migration
enum Counter: OpenProgram, Migrating {
    struct State: Portable { var total = 0 }
    enum Message: Portable { case increment(by: Int) }

    static var schema: Schema { Schema(name: "Counter", version: 2) }

    static var migrations: [Migration] {
        [
            // Version 1 had `increment` without a step, and called the total `count`.
            Migration(
                from: 1,
                message: { message in message["increment"] == nil ? message : ["increment": ["by": 1]] },
                state: { state in ["total": state["count"] ?? 0] })
        ]
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Counter> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Counter> {
        switch message {
        case .increment(let step): state.total &+= step
        }
        return .none
    }
}
// end

@Suite struct VersionTests {
    @Test func `A program says which version it reads and which it writes`() {
        #expect(Counter.schema.version == 2)
        #expect(Counter.migrations.map(\.version) == [1])
    }
}
