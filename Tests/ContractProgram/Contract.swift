import Samovar

/// The program of the contract tests: a little of everything that crosses processes.
enum Contract: OpenProgram {
    struct Seed: Portable { var loads = false }

    struct State: Portable {
        var count = 0
        var phase = "initial"
        /// What came in streams, in order.
        var streamed: [Int] = []
        /// What handlers saw and failures said, in order.
        var notes: [String] = []
        /// The endpoint of another contract whose outputs are heard.
        var listening: String?
        var isTicking = false
        /// Of each tick, the subscription's activation and the time for which it fired.
        var ticks: [Tick] = []
    }

    struct Tick: Portable {
        let activation: Int
        let nominal: Timestamp
    }

    enum Message: Portable {
        case increment(by: Int)
        /// Stops at zero.
        case decrement
        case load
        case turnedTo(phase: String)
        case work(jobs: Int, milliseconds: Int)
        case chain(to: Int)
        case orderThenOrder
        case look(endpoint: String)
        case stream(count: Int, milliseconds: Int)
        case streamed(Int)
        case hang(file: String, id: String)
        case cancel(id: String)
        case publish(text: String)
        case unknown(text: String? = nil)
        case emit(count: Int)
        case listen(to: String?)
        case heard(Int)
        case noted(String)
        case tick(Bool)
        case ticked
    }

    enum Effect: Portable {
        case load
        case add(milliseconds: Int)
        case note(String)
        case look(endpoint: String)
        case stream(count: Int, milliseconds: Int)
        case hang(file: String)
        case publish(text: String)
        case unknown(text: String? = nil)
        case listen(to: String)
    }

    typealias Output = Int

    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<Contract> {
        .state(State(), seed.loads ? .run(.load) : .none)
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Contract> {
        switch message {
        case .increment(let number): state.count += number
        case .decrement: state.count = max(0, state.count - 1)
        case .load: return .run(.load)
        case .turnedTo(let phase): state.phase = phase
        case .work(let jobs, let milliseconds):
            return .batch((0..<jobs).map { _ in .run(.add(milliseconds: milliseconds), retry: .times(5)) })
        case .chain(let end):
            state.count += 1
            return state.count < end ? .then(.chain(to: end)) : .none
        case .orderThenOrder:
            return .run(.note("first")).run(.note("second")).then(.publish(text: "third"))
        case .look(let endpoint): return .run(.look(endpoint: endpoint))
        case .stream(let count, let milliseconds):
            return .run(.stream(count: count, milliseconds: milliseconds), id: "stream", retry: .times(3))
        case .streamed(let number), .heard(let number): state.streamed.append(number)
        case .hang(let file, let id): return .run(.hang(file: file), id: Label(id))
        case .cancel(let id): return .cancel(Label(id))
        case .publish(let text): return .run(.publish(text: text), groups: ["search", "mail"])
        case .unknown(let text): return .run(.unknown(text: text), retry: .times(3))
        case .emit(let count):
            let first = state.count
            state.count += count
            return .batch((0..<count).map { .emit(first + $0 + 1) })
        case .listen(let endpoint): state.listening = endpoint
        case .noted(let text): state.notes.append(text)
        case .tick(let isWanted): state.isTicking = isWanted
        case .ticked:
            guard case .subscription(let activation, let nominal) = turn.origin else { break }
            state.ticks.append(Tick(activation: activation.turn, nominal: nominal))
        }
        return .none
    }

    static func subscriptions(_ state: State) -> [Subscription<Contract>] {
        (state.listening.map { [.source(.listen(to: $0), id: "outputs")] } ?? [])
            + (state.isTicking ? [.every(.milliseconds(100), id: "tick", missed: .none, send: .ticked)] : [])
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .noted("\(failure)") }
}
