import Samovar
import SamovarTesting
import Synchronization
import Testing

// snippet: swiftea-port
enum Maths: OpenProgram {
    struct State: Portable {
        var value = 0
        var words = Words.State()
    }

    enum Message: Portable { case add(Int), multiply(by: Int), fetch, fetched(Int), words(Words.Message) }
    enum Effect: Portable { case fetch }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Maths> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Maths> {
        .batch([arithmetic(&state, message), words(&state, message, turn)])
    }

    private static func arithmetic(_ state: inout State, _ message: Message) -> Command<Maths> {
        switch message {
        case .add(let number), .fetched(let number): state.value += number
        case .multiply(let number): state.value *= number
        case .fetch: return .run(.fetch, timeout: .seconds(10))
        case .words: break
        }
        return .none
    }

    /// The child's part of the state, its messages as a case of ours, and its labels under its name.
    private static func words(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Maths> {
        guard case .words(let message) = message else { return .none }
        return Words.update(&state.words, message, turn).lift(under: "words") { .words($0) }
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

enum Words: OpenProgram {
    struct State: Portable { var text = "" }
    enum Message: Portable { case append(String) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Words> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Words> {
        switch message {
        case .append(let text): state.text += text
        }
        return .none
    }
}

struct MathsApp: SamovarApp {
    static let worker = Worker<Maths>(environment: { NumberService() }) { effect, service, job in
        switch effect {
        case .fetch: .fetched(try await service.next())
        }
    }

    static var observers: [TurnObserver<Maths>] {
        [
            TurnObserver { _, state, turn in
                "\(turn.number): \(state.value)"
            } deliver: {
                print($0)
            }
        ]
    }
}
// end

/// Stands for a service of the outside world.
struct NumberService: Sendable {
    func next() async throws -> Int { 1 }
}

// snippet: swiftea-reading
func addThenMultiply(_ connector: Connector<Maths>) async throws -> Int? {
    _ = await connector.send(.add(2))
    guard case .applied(let turn, _) = await connector.send(.multiply(by: 2)) else { return nil }
    return try await connector.view(atLeast: turn)?.state.value
}
// end

@Suite struct SwifTEAPortTests {
    @Test func `Parts of an update run over one state, the child's in its own part, and an observer sees each turn`() throws {
        let values = Mutex<[Int]>([])
        let store = try TestStore(
            Maths.self,
            observers: [
                TurnObserver { _, state, _ in
                    state.value
                } deliver: { value in
                    values.withLock { $0.append(value) }
                }
            ])
        store.send(.add(2)) { $0.value = 2 }
        store.send(.multiply(by: 2)) { $0.value = 4 }
        store.send(.words(.append("tea"))) { $0.words.text = "tea" }
        store.send(.fetch)
        store.complete(.fetch, with: .fetched(3)) { $0.value = 7 }
        #expect(values.withLock { $0 } == [2, 4, 4, 4, 7])
    }
}
