import Samovar

struct Quote: Portable { let text: String, author: String }

/// Where quotes come from: the environment of the worker. A file in `QuotesApp`, something else elsewhere.
typealias Library = @Sendable (_ number: Int) async throws -> Quote

/// Fetches one quote at a time: a whole program, which knows nothing of who wants them.
enum Fetcher: Program {
    struct State: Portable { var quote: Quote?, isBusy = false, problem: String? }
    enum Message: Portable { case wanted, fetched(Quote), failed(reason: String) }
    enum Effect: Portable { case fetch(number: Int) }
    typealias Input = Message
    typealias ViewState = State

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Fetcher> { .state(State()) }
    static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }
    static func view(_ state: State) -> State { state }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Fetcher> {
        switch message {
        case .wanted:
            state.isBusy = true
            var dice = turn.random("quote")
            let number = Int.random(in: 0..<1_000_000, using: &dice)
            // The newest wish counts; one that is still under way is cancelled.
            return .run(.fetch(number: number), id: "fetch", policy: .latest, retry: .times(3), timeout: .seconds(10))
        case .fetched(let quote): state = State(quote: quote)
        case .failed(let reason): state = State(quote: state.quote, problem: reason)
        }
        return .none
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .failed(reason: failure.description) }

    /// - Parameter library: made once in each worker process, and nowhere else.
    static func worker(_ library: @escaping @Sendable () async throws -> Library) -> Worker<Fetcher> {
        Worker(environment: library) { effect, library, job in
            switch effect {
            case .fetch(let number): .fetched(try await library(number))
            }
        }
    }
}
