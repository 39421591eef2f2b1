import Foundation
import Samovar
import SamovarWeb

/// A program that dies of some of its inputs, for tests of what the store makes of that.
enum Trapdoor: Program {
    struct State: Portable {
        var total = 0
        var done: [String] = []
        var hidesView = false
        /// Whatever makes the state large.
        var parts: [String: String] = [:]
    }

    enum Input: Portable {
        case add(amount: Int)
        /// `update` traps.
        case trap
        /// `update` uses up the stack.
        case dive
        /// Follow-ups without an end.
        case chain
        /// `accept` traps.
        case trapInAccept
        /// `view` traps from then on.
        case blind
        /// A job that kills its worker.
        case kill
        /// A job whose answer traps.
        case answerTrap
        /// A job like any other.
        case work(name: String)
        /// `update` needs this many milliseconds.
        case think(milliseconds: Int)
        /// A job that prints so many lines, and hangs after them or not.
        case talk(lines: Int, hangs: Bool)
        /// So many parts of so many bytes come into the state.
        case grow(name: String, parts: Int, bytes: Int)
    }

    enum Message: Portable {
        case input(Input)
        case done(String)
        case answerTrap
    }

    enum Effect: Portable {
        case kill
        case answerTrap
        case work(name: String)
        case talk(lines: Int, hangs: Bool)
    }

    struct ViewState: Portable {
        var total: Int
        var done: [String]
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Trapdoor> { .state(State()) }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
        if input == .trapInAccept { trap("in accept") }
        return .input(input)
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Trapdoor> {
        switch message {
        case .input(let input): return take(input, &state)
        case .done(let what): state.done.append(what)
        case .answerTrap: trap("of an answer")
        }
        return .none
    }

    /// The first thread that calls `update`, which is the one that takes turns.
    private static let home = ObjectIdentifier(Thread.current)

    private static func take(_ input: Input, _ state: inout State) -> Command<Trapdoor> {
        switch input {
        case .add(let number):
            // As if the build had changed.
            if number == 13, ProcessInfo.processInfo.environment["TRAP_AT_13"] != nil { trap("changed build") }
            if number == 13, ProcessInfo.processInfo.environment["HANG_AT_13"] != nil { while true { usleep(10_000) } }
            // Anywhere but on the thread that takes the turns: what no program should do.
            let isBeside = home != ObjectIdentifier(Thread.current)
            if number == 14, isBeside, ProcessInfo.processInfo.environment["TRAP_BESIDE"] != nil { trap("beside the service") }
            state.total += number
        case .trap: trap("in update")
        case .dive: state.total = depth(1)
        case .chain: return .then(.input(.chain))
        case .trapInAccept: break
        case .blind: state.hidesView = true
        case .kill: return .run(.kill, retry: .times(9))
        case .answerTrap: return .run(.answerTrap)
        case .work(let name): return .run(.work(name: name))
        case .think(let milliseconds): usleep(UInt32(milliseconds) * 1_000)
        case .talk(let lines, let hangs): return .run(.talk(lines: lines, hangs: hangs))
        case .grow(let name, let parts, let bytes):
            for number in 0..<parts { state.parts["\(name)\(number)"] = String(repeating: "x", count: bytes) }
        }
        return .none
    }

    private static func depth(_ number: Int) -> Int { number &+ 1 == 0 ? number : depth(number &+ 1) &+ 1 }

    private static func trap(_ place: String) -> Never { preconditionFailure("a trap \(place), as ordered") }

    static func view(_ state: State) -> ViewState {
        if state.hidesView { trap("in view") }
        return ViewState(total: state.total, done: state.done)
    }

    static var invariants: [Invariant<Trapdoor>] {
        [Invariant("the total is below a thousand") { state in state.total < 1_000 }]
    }

    /// Nil: dead effects are for the test to look at.
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@main struct TrapApp: SamovarApp {
    static var page: PageKind? { .web }

    static let worker = Worker<Trapdoor> { effect, job in
        switch effect {
        case .kill: exit(9)
        case .answerTrap: return .answerTrap
        case .work(let name): return .done(name)
        case .talk(let lines, let hangs):
            for number in 0..<lines { print("line \(number) of \(lines)") }
            // A handler that does not hear that it shall stop.
            if hangs, ProcessInfo.processInfo.environment["HANG_DEAF"] != nil { while true { usleep(10_000) } }
            if hangs { try await Task.sleep(for: .seconds(600)) }
            return .done("talking")
        }
    }
}
