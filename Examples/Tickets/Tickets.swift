import Samovar

/// Sells the seats of a stadium: none twice, whichever machine is lost meanwhile.
enum Tickets: Program {
    static let seats = 1_000_000

    struct State: Portable {
        /// Seats are sold in their order.
        var sold = 0
        var printed = 0
        var unprinted: [Int] = []
    }

    /// What outsiders may send. As JSON: `{"buy":{"by":"Ada"}}`.
    enum Input: Portable {
        case buy(by: String)
    }

    enum Message: Portable {
        case bought(by: String)
        case printed(seat: Int)
        case notPrinted(seat: Int, why: String)
    }

    enum Effect: Portable {
        case print(seat: Int, by: String)
    }

    enum Refusal: Error, Portable {
        case soldOut
    }

    struct ViewState: Portable {
        let sold: Int
        let printed: Int
        let unprinted: [Int]
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Tickets> {
        .state(State())
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .buy(let name):
            if state.sold == seats { throw .soldOut }
            return .bought(by: name)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Tickets> {
        switch message {
        case .bought(let name):
            state.sold += 1
            return .run(.print(seat: state.sold, by: name))
        case .printed: state.printed += 1
        case .notPrinted(let seat, _): state.unprinted.append(seat)
        }
        return .none
    }

    static func view(_ state: State) -> ViewState {
        ViewState(sold: state.sold, printed: state.printed, unprinted: state.unprinted)
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        switch effect {
        case .print(let seat, _): .notPrinted(seat: seat, why: failure.text)
        }
    }
}
