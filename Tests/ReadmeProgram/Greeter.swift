// snippet: greeter
import Samovar

enum Greeter: OpenProgram {
    struct State: Portable { var greeting = "" }
    enum Message: Portable { case greet(name: String), greeted(text: String) }
    enum Effect: Portable { case compose(name: String) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Greeter> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Greeter> {
        switch message {
        case .greet(let name): return .run(.compose(name: name), retry: .times(3))
        case .greeted(let text): state.greeting = text
        }
        return .none
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .greeted(text: "\(failure)") }
}

@main struct GreeterApp: SamovarApp {
    static let worker = Worker<Greeter> { effect, job in
        switch effect {
        case .compose(let name): .greeted(text: "Hello, \(name)!")
        }
    }
}
// end
