import Observation
import Samovar
import SamovarTesting
import Testing

// snippet: elementary-port
enum Shop: OpenProgram {
    struct State: Portable {
        var items: [String] = []
        var isOpen = false
        var seconds = 0
    }

    enum Message: Portable { case open, close, ticked, search(text: String), found(items: [String]) }
    enum Effect: Portable { case search(text: String), ring }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Shop> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Shop> {
        switch message {
        case .open:
            state.isOpen = true
            return .run(.ring)
        case .close: state.isOpen = false
        case .ticked: state.seconds += 1
        case .search(let text): return .run(.search(text: text), id: "search", policy: .latest)
        case .found(let items): state.items = items
        }
        return .none
    }

    /// The timer is there for as long as the state wants it: a second `open` makes no second timer.
    static func subscriptions(_ state: State) -> [Subscription<Shop>] {
        state.isOpen ? [.every(.seconds(1), id: "tick", send: .ticked)] : []
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

struct ShopApp: SamovarApp {
    static let worker = Worker<Shop>.handlers {
        take(.ring) { job in
            print("ding")
            return nil
        }
        on({ if case .search(let text) = $0 { text } else { nil } }) { (text: String, job) in
            .found(items: try await catalogue(text))
        }
    }
}
// end

/// Stands for a search somewhere else.
private func catalogue(_ text: String) async throws -> [String] { [text] }

// snippet: elementary-observing
@MainActor func showItems(of connector: Connector<Shop>) async throws {
    let live = LiveView(connector)
    async let following: Void = live.follow()
    for await items in Observations({ live.view?.items ?? [] }) { print(items) }
    try await following
}
// end

@Suite struct ElementaryPortTests {
    @Test func `A newer search cancels the older one, and a second opening makes no second timer`() throws {
        let store = try TestStore(Shop.self)
        store.send(.open) { $0.isOpen = true }
        store.complete(.ring)
        store.send(.open)
        store.complete(.ring)
        store.advance(by: .seconds(2)) { $0.seconds = 2 }
        store.send(.close) { $0.isOpen = false }
        store.advance(by: .seconds(2))
        store.send(.search(text: "te"))
        store.send(.search(text: "tea"))
        store.expectEffects([.search(text: "tea")])
        store.complete(.search(text: "tea"), with: .found(items: ["tea"])) { $0.items = ["tea"] }
    }
}
