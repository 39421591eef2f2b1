import SamovarCore
import SamovarTesting
import Synchronization
import Testing

/// A program with something for each method of a `TestStore`.
enum Kiosk: Program {
    struct Site: Portable {
        var name: String
        var up: Bool?
        var notes: [String] = []
    }

    struct State: Portable {
        var sites: [Site] = []
        var isWatching = false
        var ticks = 0
        var best: [String: Int] = [:]
        var tags: Set<String> = []
        var phase = Phase.idle
    }

    enum Phase: Portable {
        case idle
        case running(since: Int, by: String)
    }

    enum Input: Portable {
        case add(String)
        case probe(String, delay: Int = 0)
        case watch(Bool)
        case call(String)
        case chain(Int)
        case endless
        case forbidden(Int)
        case run(String)
    }

    enum Message: Portable {
        case input(Input)
        case probed(String, up: Bool)
        case lost(String)
        case ticked
        case resumed
    }

    enum Effect: Portable {
        case probe(name: String)
        case listen
    }

    enum Output: Portable { case called(String) }

    enum Refusal: Error, Portable {
        case busy
        case tooMany(limit: Int)
    }

    struct ViewState: Portable {
        var sites: Int
        var ticks: Int
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Kiosk> { .state(State()) }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .forbidden(0): throw .busy
        case .forbidden(let limit): throw .tooMany(limit: limit)
        default: .input(input)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Kiosk> {
        switch message {
        case .input(.add(let name)): state.sites.append(Site(name: name))
        case .input(.probe(let name, let delay)):
            return .run(
                .probe(name: name), id: "probe \(name)", policy: .serial(limit: 3), retry: .times(1), timeout: .seconds(10),
                delay: .seconds(delay))
        case .input(.watch(let isWatching)): state.isWatching = isWatching
        case .input(.call(let text)): return .emit(.called(text))
        case .input(.chain(let length)):
            state.ticks += 1
            return length > 1 ? .then(.input(.chain(length - 1))) : .none
        case .input(.endless): return .then(.input(.endless))
        case .input(.forbidden): break
        case .input(.run(let name)): state.phase = .running(since: 1, by: name)
        case .probed(let name, let up):
            for index in state.sites.indices where state.sites[index].name == name { state.sites[index].up = up }
        case .lost(let text): state.tags.insert(text)
        case .ticked: state.ticks += 1
        case .resumed: state.best["resumed", default: 0] += 1
        }
        return .none
    }

    static func subscriptions(_ state: State) -> [Subscription<Kiosk>] {
        guard state.isWatching else { return [] }
        return [
            .every(.seconds(60), id: "tick", send: .ticked), .on(.resumed, id: "resumed", send: .resumed),
            .source(.listen, id: "source"),
        ]
    }

    static func view(_ state: State) -> ViewState { ViewState(sites: state.sites.count, ticks: state.ticks) }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        effect == .probe(name: "silent") ? nil : .lost("\(failure)")
    }
}

/// What a store reports, instead of issues.
final class Reports: Sendable {
    private let noted = Mutex<[(text: String, line: Int)]>([])

    var reporter: TestReporter {
        TestReporter { text, location in self.noted.withLock { $0.append((text, location.line)) } }
    }

    func note(_ text: String) { noted.withLock { $0.append((text, 0)) } }

    func takeAll() -> [String] {
        noted.withLock { noted in
            defer { noted.removeAll() }
            return noted.map(\.text)
        }
    }

    var lines: [Int] { noted.withLock { $0.map(\.line) } }
}
