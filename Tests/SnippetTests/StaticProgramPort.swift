import Samovar
import SamovarTesting
import Testing

// snippet: static-port
enum Door: Program {
    struct Seed: Portable { var isLocked: Bool }
    struct State: Portable {
        var isLocked: Bool
        var entries = 0
    }

    enum Input: Portable { case userDidKnock, userDidKnockTwice, userDidTurnKey }
    enum Message: Portable { case knocked(times: Int), opened, turned }
    enum Effect: Portable { case log(String) }
    enum Refusal: Error, Portable { case locked }
    typealias ViewState = String

    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<Door> { .state(State(isLocked: seed.isLocked)) }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .userDidTurnKey: return .turned
        case .userDidKnock, .userDidKnockTwice:
            if state.isLocked { throw .locked }
            return .knocked(times: input == .userDidKnock ? 1 : 2)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Door> {
        switch message {
        case .knocked(let times): return .run(.log("\(times) knocks")).then(.opened)
        case .opened: state.entries += 1
        case .turned: state.isLocked.toggle()
        }
        return .none
    }

    static func view(_ state: State) -> String { state.isLocked ? "locked" : "\(state.entries) have entered" }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}
// end

// snippet: static-port-test
@Suite struct DoorTests {
    @Test func `Two knocks open the door once and are logged`() throws {
        let store = try TestStore(Door.self, seed: Door.Seed(isLocked: false))
        store.send(.userDidKnockTwice) { $0.entries = 1 }
        store.expectEffects([.log("2 knocks")])
        store.expectView("1 have entered")
        store.complete(.log("2 knocks"))
        store.send(.userDidTurnKey) { $0.isLocked = true }
        store.expectRefusal(of: .userDidKnock, .locked)
    }
}
// end

@Suite struct StaticPortTests {
    @Test func `What an event orders and what follows from it are one group`() throws {
        var store = try LocalStore(Door.self, seed: Door.Seed(isLocked: false))
        try store.send(.userDidKnock)
        #expect(store.takeEffects().map(\.effect) == [.log("1 knocks")])
        #expect(store.head == 3 && store.view == "1 have entered")
    }
}
