import Foundation
import Samovar

/// About the smallest program: it counts, and what it has to say is an order for somebody who has a place to write it.
enum Twice: OpenProgram {
    enum Message: Portable { case once, twice }
    enum Effect: Portable { case log(text: String) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Twice> { .state(0) }

    static func update(_ count: inout Int, _ message: Message, _ turn: Turn) -> Command<Twice> {
        switch message {
        case .once:
            count &+= 1
            return .run(.log(text: "turn \(turn.number): the count is \(count)"))
        // Two turns of their own, right after this one: nobody can come between them, and all three are on disk or none.
        case .twice: return .then(.once).then(.once)
        }
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@main
struct TwiceApp: SamovarApp {
    static let worker = Worker<Twice> { effect, job in
        switch effect {
        case .log(let text): try FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
        }
        return nil
    }
}
