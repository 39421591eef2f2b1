import Foundation
import Samovar

/// A program in several versions, of which the environment says which it is, so that one executable can play all builds.
///
/// - Version 2 counts one by one what version 1 counted in pairs.
/// - Version 3 has no migrations.
/// - Version 6 is version 2, but counts everything three times, and its orders name the total.
/// - Version 4 has another name for the total, and its migrations do not say so. Those of version 5 do.
enum Versioned: OpenProgram, Migrating {
    struct State: Portable {
        var total = 0

        init() {}

        init(from decoder: any Decoder) throws {
            total = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: Versioned.totalKey)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(total, forKey: Versioned.totalKey)
        }
    }

    /// What is ordered and never done, with a key that another build may call otherwise.
    struct Effect: Portable {
        let text: String

        init(text: String) {
            self.text = text
        }

        init(from decoder: any Decoder) throws {
            text = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: Versioned.effectKey)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(text, forKey: Versioned.effectKey)
        }
    }

    enum Key: String, CodingKey {
        case total, sum, text, words
    }

    enum Message: Portable {
        case add(count: Int)
        case order(text: String)
    }

    private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

    static var version: Int { variable("VERSIONED_PROGRAM").flatMap { Int($0) } ?? 1 }
    static var totalKey: Key { version == 4 || version == 5 ? .sum : .total }
    static var effectKey: Key { variable("VERSIONED_EFFECT") == nil ? .text : .words }

    static var schema: Schema { Schema(name: "Versioned", version: version) }

    static var migrations: [Migration] {
        switch version {
        case 2: [fromPairs]
        case 6: [fromPairs] + (2...5).map { Migration(from: $0) }
        case 4: [Migration(from: 1), Migration(from: 2), Migration(from: 3)]
        case 5: [Migration(from: 1, state: { $0.setting("sum", to: $0["total"] ?? 0) })] + (2...4).map { Migration(from: $0) }
        default: []
        }
    }

    private static var fromPairs: Migration {
        Migration(
            from: 1,
            message: { message in
                guard case .int(let pairs) = message["add"]?["count"] else { return message }
                return ["add": ["count": .int(2 * pairs)]]
            },
            state: { state in
                guard case .int(let pairs) = state["total"] else { return state }
                return state.setting("total", to: .int(2 * pairs))
            })
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Versioned> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Versioned> {
        switch message {
        case .add(let count):
            state.total &+= version == 6 ? 3 * count : count
            return .none
        case .order(let text): return .run(Effect(text: version == 6 ? "\(text) \(state.total)" : text))
        }
    }

    static func subscriptions(_ state: State) -> [Subscription<Versioned>] {
        variable("VERSIONED_SOURCE").map { [.source(Effect(text: $0), id: "source")] } ?? []
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

@main
struct VersionedApp: SamovarApp {
    static var worker: Worker<Versioned> { Worker { _, _ in nil } }
}
