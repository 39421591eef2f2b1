import Samovar

/// Shows quotes, and keeps those that somebody likes. The fetching is a program of its own inside this one.
enum Quotes: Program {
    struct State: Portable { var fetcher = Fetcher.State(), kept: [Quote] = [] }
    enum Input: Portable { case next, keep }
    enum Message: Portable { case fetcher(Fetcher.Message), kept(Quote) }
    enum Effect: Portable { case fetcher(Fetcher.Effect) }
    enum Refusal: Error, Portable { case nothingToKeep, keptAlready, full }
    struct ViewState: Portable { let quote: Quote?, status: String, kept: [Quote] }

    static let most = 100

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Quotes> {
        .state(State(), .then(.fetcher(.wanted)))
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .next: return .fetcher(.wanted)
        case .keep:
            guard let quote = state.fetcher.quote else { throw .nothingToKeep }
            if state.kept.contains(quote) { throw .keptAlready }
            if state.kept.count >= most { throw .full }
            return .kept(quote)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Quotes> {
        switch message {
        // The child changes its part of the state and nothing else; what it orders becomes an order of this program.
        case .fetcher(let message):
            return Fetcher.update(&state.fetcher, message, turn)
                .lift(under: "fetcher", message: { .fetcher($0) }, effect: { .fetcher($0) })
        case .kept(let quote):
            state.kept.append(quote)
            return .none
        }
    }

    static func view(_ state: State) -> ViewState {
        let status = state.fetcher.isBusy ? "fetching…" : state.fetcher.problem ?? "ready"
        return ViewState(quote: state.fetcher.quote, status: status, kept: state.kept)
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        switch effect {
        case .fetcher(let effect): Fetcher.failed(effect, failure).map { .fetcher($0) }
        }
    }
}
