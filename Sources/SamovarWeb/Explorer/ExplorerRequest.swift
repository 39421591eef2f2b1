import MessagePack
import SamovarText
import SamovarWire

/// What the page's server asks the explorer: one JSON object in one line, `{"ask":"turns","count":50}`.
///
/// | `ask` | with |
/// |---|---|
/// | `turns` | `before` or `after` a turn, `count` ≤ 200; `kind`, `origin`, `root`, `text` |
/// | `turn`, `causes` | `turn` |
/// | `diff` | `before`, `after` |
/// | `state` | `turn`, `path`, `from` |
/// | `density` | |
///
/// With each comes what the store says: its `timeline`, and `durable`, its newest turn on disk.
enum ExplorerRequest: Equatable {
    /// Newest first in any case: those before a turn, or those after one that are the nearest to it.
    enum Place: Equatable {
        case newest
        case before(Int)
        case after(Int)
    }

    case turns(Place, count: Int, TurnFilter)
    case turn(Int)
    case causes(of: Int)
    case diff(Int, Int)
    case state(Int, ValuePath, from: Int)
    case density

    static let maximumRows = 200
    /// Of a text that is looked for.
    static let maximumTextBytes = 1_000

    /// - Throws: `ExplorerError` for what is no request.
    init(_ value: MessagePackValue) throws(ExplorerError) {
        guard let ask = value.text("ask") else { throw ExplorerError("a request has `ask`") }
        switch ask {
        case "turns":
            let count = try value.wholeNumber("count") ?? 100
            let (before, after) = (try value.wholeNumber("before"), try value.wholeNumber("after"))
            let place: Place = before.map(Place.before) ?? after.map(Place.after) ?? .newest
            self = .turns(place, count: min(max(count, 1), Self.maximumRows), try TurnFilter(value))
        case "turn": self = .turn(try value.turn("turn"))
        case "causes": self = .causes(of: try value.turn("turn"))
        case "diff": self = .diff(try value.turn("before"), try value.turn("after"))
        case "state":
            let path: ValuePath
            do {
                path = try ValuePath(parsing: value.text("path") ?? "state")
            } catch {
                throw ExplorerError("\(error)")
            }
            self = .state(try value.turn("turn"), path, from: max(0, try value.wholeNumber("from") ?? 0))
        case "density": self = .density
        default: throw ExplorerError("nothing is known of “\(TurnText.shortened(ask))”")
        }
    }
}

/// Why there is no answer, for a person.
struct ExplorerError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension TurnFilter {
    fileprivate init(_ value: MessagePackValue) throws(ExplorerError) {
        if let name = value.text("kind") {
            guard let kind = TurnMark.Kind.allCases.first(where: { "\($0)" == name }) else {
                throw ExplorerError("there is no such kind")
            }
            self.kind = kind
        }
        if let name = value.text("origin") {
            guard let source = TurnMark.Source.allCases.first(where: { "\($0)" == name }) else {
                throw ExplorerError("there is no such origin")
            }
            self.source = source
        }
        root = try value.wholeNumber("root")
        if let text = value.text("text"), !text.isEmpty {
            guard text.utf8.count <= ExplorerRequest.maximumTextBytes else { throw ExplorerError("the text is too long") }
            self.text = text
        }
    }
}

extension MessagePackValue {
    func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    func number(_ name: String) -> Int? {
        if case .int(let number)? = self[name] { Int(exactly: number) } else { nil }
    }

    /// Nil if there is none: a filter that cannot be read must not be taken for no filter.
    fileprivate func wholeNumber(_ name: String) throws(ExplorerError) -> Int? {
        guard let value = self[name] else { return nil }
        guard case .int(let number) = value, let number = Int(exactly: number) else {
            throw ExplorerError("`\(name)` is a whole number")
        }
        return number
    }

    fileprivate func turn(_ name: String) throws(ExplorerError) -> Int {
        guard let turn = number(name), turn >= 1 else { throw ExplorerError("`\(name)` is the number of a turn, from 1") }
        return turn
    }
}
