import Foundation
import PostgreSQLJournal
import Samovar
import SamovarWeb

/// A program that breaks the one rule that Samovar cannot check beforehand: `update` looks at more than its arguments.
///
/// It orders things as its `Set` has them, and that order is another one in each process. `FICKLE_ORDER=forward` and `backward` make
/// it two editions of a program that keeps the rule, and `FICKLE_WATCHES` one that wants to look each hour.
enum Fickle: OpenProgram {
    struct State: Portable {
        var names: Set<String> = []
        /// The names in the order of the last look.
        var seen: [String] = []
        var visited: [String] = []
    }

    enum Message: Portable {
        case add(names: [String])
        /// Orders a job for each name.
        case visit
        /// Orders a follow-up for each name.
        case greet
        /// Changes the state, and orders nothing.
        case look
        case visited(name: String)
    }

    enum Effect: Portable {
        case visit(name: String)
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Fickle> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Fickle> {
        if ProcessInfo.processInfo.environment["FICKLE_TALKS"] != nil { print("turn \(turn.number)") }
        switch message {
        case .add(let names): state.names.formUnion(names)
        case .visit: return .batch(ordered(state.names).map { .run(.visit(name: $0)) })
        case .greet: return .batch(ordered(state.names).map { .then(.visited(name: $0)) })
        case .look: state.seen = ordered(state.names)
        case .visited(let name): state.visited.append(name)
        }
        return .none
    }

    static func subscriptions(_ state: State) -> [Subscription<Fickle>] {
        ProcessInfo.processInfo.environment["FICKLE_WATCHES"] == nil ? [] : [.every(.seconds(3_600), id: "look", send: .look)]
    }

    private static func ordered(_ names: Set<String>) -> [String] {
        switch ProcessInfo.processInfo.environment["FICKLE_ORDER"] {
        case "forward": names.sorted()
        case "backward": names.sorted(by: >)
        default: Array(names)
        }
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@main
struct FickleApp: SamovarApp {
    static var journals: [JournalKind] { [.postgreSQL] }
    static var page: PageKind? { .web }

    static var worker: Worker<Fickle> {
        Worker { effect, _ in
            switch effect {
            case .visit(let name): .visited(name: name)
            }
        }
    }
}
