import Foundation
import Samovar

/// A program in two versions: what version 1 counted in pairs, version 2 counts one by one. Which of them this is, the environment says,
/// so that one executable can play both builds.
enum Versioned: OpenProgram, Migrating {
    struct State: Portable {
        var total = 0
    }

    enum Message: Portable {
        case add(count: Int)
    }

    static var version: Int { ProcessInfo.processInfo.environment["VERSIONED_PROGRAM"].flatMap { Int($0) } ?? 1 }

    static var schema: Schema { Schema(name: "Versioned", version: version) }

    static var migrations: [Migration] {
        guard version == 2 else { return [] }
        return [
            Migration(
                from: 1,
                message: { message in
                    guard case .int(let pairs) = message["add"]?["count"] else { return message }
                    return ["add": ["count": .int(2 * pairs)]]
                },
                state: { state in
                    guard case .int(let pairs) = state["total"] else { return state }
                    return ["total": .int(2 * pairs)]
                })
        ]
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Versioned> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Versioned> {
        switch message {
        case .add(let count): state.total &+= count
        }
        return .none
    }
}

@main
struct VersionedApp: SamovarApp {
    static var worker: Worker<Versioned> { .none }
}
