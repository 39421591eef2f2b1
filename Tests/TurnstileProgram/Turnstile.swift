import Foundation
import Samovar

/// A child program: it greets, by an effect of its own.
enum Doorman: Program {
    struct State: Portable { var greeted: [String] = [] }
    enum Message: Portable { case greet(name: String), greeted(name: String) }
    enum Effect: Portable { case greet(name: String) }
    typealias Input = Message
    typealias ViewState = Int

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Doorman> { .state(State()) }
    static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Doorman> {
        switch message {
        case .greet(let name): return .run(.greet(name: name), id: "greeting")
        case .greeted(let name):
            state.greeted.append(name)
            return .none
        }
    }

    static func view(_ state: State) -> Int { state.greeted.count }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// A program with a child inside, a gate in front and an observer behind, for tests with real processes: it counts who passes.
enum Turnstile: Program {
    struct State: Portable {
        var passed: [String] = []
        var doorman = Doorman.State()
    }
    enum Input: Portable { case pass(name: String) }
    enum Message: Portable { case passed(name: String), noted(name: String), doorman(Doorman.Message) }
    enum Effect: Portable { case note(name: String), doorman(Doorman.Effect) }
    struct ViewState: Portable { let passed: Int, greeted: Int }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Turnstile> { .state(State()) }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
        switch input {
        case .pass(let name): .passed(name: name)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Turnstile> {
        switch message {
        case .passed(let name):
            state.passed.append(name)
            return .then(.doorman(.greet(name: name))).run(.note(name: name))
        case .noted: return .none
        case .doorman(let message):
            return Doorman.update(&state.doorman, message, turn)
                .lift(under: "doorman", message: { .doorman($0) }, effect: { .doorman($0) })
        }
    }

    static func view(_ state: State) -> ViewState {
        ViewState(passed: state.passed.count, greeted: Doorman.view(state.doorman))
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@main struct TurnstileApp: SamovarApp {
    static var worker: Worker<Turnstile> {
        Worker { effect, job in
            switch effect {
            case .note(let name): .noted(name: name)
            case .doorman(.greet(let name)): .doorman(.greeted(name: name))
            }
        }
    }

    static var gates: [InputGate<Turnstile>] {
        [
            InputGate("doorman") { input, state, _ in
                if case .pass(let name) = input, state.passed.contains(name) { "\(name) has passed already" } else { nil }
            }
        ]
    }

    /// Each turn as a line of a file that the test reads.
    static var observers: [TurnObserver<Turnstile>] {
        guard let path = ProcessInfo.processInfo.environment["TURNSTILE_AUDIT"] else { return [] }
        return [
            TurnObserver { message, state, turn in
                "\(turn.number) \(message) \(state.passed.count)\n"
            } deliver: { line in
                guard let file = FileHandle(forWritingAtPath: path) else { return }
                file.seekToEndOfFile()
                file.write(Data(line.utf8))
                file.closeFile()
            }
        ]
    }
}
