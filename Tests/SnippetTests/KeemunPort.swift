import Samovar
import SamovarTesting
import Testing

// snippet: keemun-port
enum Rates: Program {
    struct State: Portable {
        var rate: Int?
        var isLoading = false
    }

    enum Input: Portable { case refresh }
    enum Message: Portable { case refreshed, loaded(rate: Int), gaveUp }
    enum Effect: Portable { case load }
    enum Refusal: Error, Portable { case busy }
    struct ViewState: Portable { let text: String }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Rates> {
        .state(State(isLoading: true), .run(.load, retry: .times(3)))
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        if state.isLoading { throw .busy }
        return .refreshed
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Rates> {
        switch message {
        case .refreshed:
            state.isLoading = true
            return .run(.load, retry: .times(3))
        case .loaded(let rate):
            state.rate = rate
            state.isLoading = false
        case .gaveUp:
            state.isLoading = false
        }
        return .none
    }

    static func view(_ state: State) -> ViewState {
        ViewState(text: state.isLoading ? "loading …" : state.rate.map { "\($0) ct" } ?? "unknown")
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .gaveUp }
}

struct RatesApp: SamovarApp {
    static let worker = Worker<Rates>(environment: { RateService() }) { effect, service, job in
        switch effect {
        case .load: .loaded(rate: try await service.current())
        }
    }
}
// end

/// Stands for a service of the outside world.
struct RateService: Sendable {
    func current() async throws -> Int { 7 }
}

@Suite struct KeemunPortTests {
    @Test func `The start loads, a second refresh is refused meanwhile, and a failure ends the loading`() throws {
        let store = try TestStore(Rates.self)
        store.expectEffects([.load])
        store.expectRefusal(of: .refresh, .busy)
        store.complete(.load, with: .loaded(rate: 3)) { $0 = Rates.State(rate: 3) }
        store.expectViews([Rates.ViewState(text: "loading …"), Rates.ViewState(text: "3 ct")])
        store.send(.refresh) { $0.isLoading = true }
        store.fail(.load) { $0.isLoading = false }
    }
}
