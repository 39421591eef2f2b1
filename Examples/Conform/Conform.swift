import Foundation
import Samovar

/// What `samovar conform` gives its peers to do: effects for workers, and inputs for clients. It never runs in a store there, so nothing is
/// made of its messages. See `docs/conformance.md`.
enum Conform: OpenProgram {
    enum Message: Portable {
        case note(number: Int)
        case echoed(text: String)
        case counted(number: Int)
        case slept
    }

    enum Effect: Portable {
        case echo(text: String)
        case fail(text: String, permanent: Bool)
        case sleep(milliseconds: Int)
        case send(count: Int)
        case stream(count: Int)
        case report(count: Int)
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Conform> { .state(0) }
    static func update(_ notes: inout Int, _ message: Message, _ turn: Turn) -> Command<Conform> {
        notes &+= 1
        return .none
    }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@main
struct ConformApp: SamovarApp {
    static let slots = 2
    static let readAhead = 2

    static let worker = Worker<Conform> { effect, job in
        switch effect {
        case .echo(let text): return .echoed(text: text)
        case .fail(let text, let isPermanent):
            if isPermanent { throw Permanent(text) }
            throw Trouble(description: text)
        case .sleep(let milliseconds):
            try await Task.sleep(for: .milliseconds(milliseconds))
            return .slept
        case .send(let count):
            for number in 0..<count { try job.send(.counted(number: number + 1)) }
            return nil
        case .stream(let count):
            for number in (job.resume?.index ?? 0)..<count {
                try await job.stream(.counted(number: number + 1), checkpoint: number + 1)
            }
            return nil
        case .report(let count):
            for number in 0..<count {
                job.progress(Double(number) / Double(count))
                try await Task.sleep(for: .milliseconds(100))
            }
            return .slept
        }
    }
}

/// What a handler throws that is told to fail.
struct Trouble: Error, CustomStringConvertible {
    let description: String
}
