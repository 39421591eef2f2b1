import Samovar
import SamovarTesting
import Testing

/// A program in which not everybody may do everything.
enum Till: Program {
    struct State: Portable {
        var total = 0
        var isOpen = true
    }

    enum Input: Portable { case sell(amount: Int), close }
    enum Message: Portable { case sold(amount: Int), closed }
    enum Refusal: Error, Portable { case isClosed, notYours }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Till> { .state(State()) }

    // snippet: inputs-sender
    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        guard state.isOpen else { throw .isClosed }
        switch input {
        case .sell(let amount): return .sold(amount: amount)
        case .close:
            guard turn.sender?.name == "back-office" else { throw .notYours }
            return .closed
        }
    }
    // end

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Till> {
        switch message {
        case .sold(let amount): state.total += amount
        case .closed: state.isOpen = false
        }
        return .none
    }

    static func view(_ state: State) -> Int { state.total }
}

@Suite struct TillTests {
    @Test func `Only the key of the back office closes the till`() throws {
        let store = try TestStore(Till.self)
        // snippet: testing-sender
        store.sending(as: "shop-1") {
            store.send(.sell(amount: 5)) { $0.total = 5 }
            store.expectRefusal(of: .close, .notYours)
        }
        store.sending(as: "back-office") { store.send(.close) { $0.isOpen = false } }
        // end
        store.expectRefusal(of: .sell(amount: 1), .isClosed)
        store.finish()
    }
}
