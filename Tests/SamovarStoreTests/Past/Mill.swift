import MessagePack
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// A program in which much depends on much: what is accepted, ordered, followed and subscribed to follows from the state, and the state from the
/// numbers and times of turns.
enum Mill: OpenProgram {
    struct State: Portable {
        var grain = 0
        var dice: UInt64 = 0
        var done: [String] = []
        var times: [Int64] = []
        var timers: [String: Int] = [:]
        var source: String?
    }

    enum Message: Portable {
        case pour(Int)
        case echo(String, Int)
        case grind(String)
        case stop(String)
        case time(String, Int)
        case watch(String)
        case flour(String)
        case rang(String)
        case broken(String)
        case told(String)
        case revive
    }

    struct Job: Portable {
        var name: String
        var grain: Int
    }

    enum Refusal: Error, Portable {
        case empty(Int)
    }

    typealias Effect = Job

    static var schema: Schema { Schema(name: "Mill", version: 1) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State(grain: 2), .then(.echo("open", 1))) }

    static func accept(_ input: Message, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        if case .pour(let amount) = input, state.grain + amount < 0 { throw .empty(state.grain) }
        return input
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .pour(let amount):
            state.grain += amount
            var command = Command<Self>.none
            if state.grain.isMultiple(of: 2) { command = command.then(.echo("even", state.grain % 5)) }
            if state.grain.isMultiple(of: 3) { command = command.then(.echo("third", 2)) }
            return command
        case .echo(let word, let count):
            var random = turn.random()
            state.dice = random.next()
            state.times.append(turn.now.microseconds % 97)
            if count > 1 { return .then(.echo(word, count - 1)) }
            return state.dice.isMultiple(of: 4) ? run("echo") : .none
        case .grind(let name):
            let order = run(name, grain: state.grain % 3)
            return state.grain.isMultiple(of: 5) ? order.then(.echo("fifth", 1)) : order
        case .stop(let name): return .cancel(Label(name))
        case .revive: return .requeue(queue: .default)
        case .time(let name, let seconds):
            state.timers[name] = seconds == 0 ? nil : seconds + abs(state.grain % 2)
            return .none
        case .watch(let name):
            state.source = name.isEmpty ? nil : "\(name)\(state.grain % 2)"
            return .none
        case .flour(let name), .broken(let name), .told(let name):
            state.done.append(name)
            if state.done.count > 8 { state.done.removeFirst() }
            return state.done.count.isMultiple(of: 3) ? .then(.pour(1)) : .none
        case .rang(let name):
            state.grain += 1
            return state.grain.isMultiple(of: 4) ? run(name) : .none
        }
    }

    /// Of names that begin with “l” the latest alone is wanted.
    static func options(_ name: String) -> (id: Label?, policy: Policy) {
        (name.count > 1 ? Label(name) : nil, name.hasPrefix("l") ? .latest : .all)
    }

    private static func run(_ name: String, grain: Int = 0) -> Command<Self> {
        let (id, policy) = options(name)
        return .run(Job(name: name, grain: grain), id: id, policy: policy)
    }

    static func subscriptions(_ state: State) -> [Subscription<Self>] {
        state.timers.sorted { $0.key < $1.key }.map { .every(.seconds($0.value), id: Label($0.key), send: .rang($0.key)) }
            + (state.source.map { [.source(Job(name: $0, grain: 0), id: "source")] } ?? [])
    }

    static func failed(_ effect: Job, _ failure: Failure) -> Message? {
        effect.name.hasPrefix("d") ? nil : .broken(effect.name)
    }

    static func operated(_ action: OperatorAction<Self>) -> Message? {
        switch action {
        case .requeued(let job, _) where job.grain == 0: .told("requeued \(job.name)")
        case .dropped(let job, _): .told("dropped \(job.name)")
        default: nil
        }
    }
}

let millSecret = Secret(high: 5, low: 6)
