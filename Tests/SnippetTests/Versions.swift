import Samovar
import Testing

// snippet: schema-migration
enum Counter: OpenProgram, Migrating {
    struct State: Portable { var total = 0, limit = 100 }
    enum Message: Portable { case increment(by: Int) }

    static var schema: Schema { Schema(name: "Counter", version: 3) }

    static var migrations: [Migration] {
        [
            // Version 1 had `increment` without a step, and called the total `count`.
            Migration(
                from: 1,
                message: { message in message["increment"] == nil ? message : ["increment": ["by": 1]] },
                state: { state in ["total": state["count"] ?? 0] }),
            // Version 2 had no limit.
            Migration(from: 2, state: { state in state.setting("limit", to: 100) }),
        ]
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Counter> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Counter> {
        switch message {
        case .increment(let step): state.total = min(state.total &+ step, state.limit)
        }
        return .none
    }
}
// end

@Suite struct VersionTests {
    @Test func `A program says which version it reads and which it writes`() {
        #expect(Counter.schema.version == 3)
        #expect(Counter.migrations.map(\.version) == [1, 2])
    }

    @Test func `A field is set, replaced and removed in a map, and what is no map stays as it is`() {
        var state: MessagePackValue = ["total": 1]
        state["limit"] = 10
        #expect(state == ["total": 1, "limit": 10])
        state["total"] = 2
        #expect(state == ["total": 2, "limit": 10])
        state["total"] = nil
        state["missing"] = nil
        #expect(state == ["limit": 10])
        #expect(state.setting("limit", to: "none") == ["limit": "none"])
        #expect(state == .map([MessagePackPair("limit", 10)]))
        #expect(MessagePackValue.int(3).setting("limit", to: 10) == 3)
    }
}
