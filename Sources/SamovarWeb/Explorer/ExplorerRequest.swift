import MessagePack
import SamovarText
import SamovarWire

/// What the page's server asks the explorer, as it was asked itself: one JSON object in one line,
/// `{"path":"/api/v1/turns","query":{"count":"50"}}`.
///
/// | path | query |
/// |---|---|
/// | `turns` | `before` or `after` a turn, `count` ≤ 200; `kind`, `origin`, `root`, `text` |
/// | `turns/N`, `turns/N/causes` | |
/// | `turns/N/diff` | `from`; without it the turn before |
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

    /// Nil if there is nothing at the path.
    ///
    /// - Throws: `ExplorerError` for a question that cannot be read.
    init?(_ value: MessagePackValue) throws(ExplorerError) {
        let parts = (value.text("path") ?? "").split(separator: "/")
        guard parts.count >= 3, parts[0] == "api", parts[1] == "v1" else { return nil }
        let query: MessagePackValue = value["query"] ?? .nil
        switch (parts[2], parts.count) {
        case ("turns", 3):
            let count = try query.wholeNumber("count") ?? 100
            let (before, after) = (try query.wholeNumber("before"), try query.wholeNumber("after"))
            let place: Place = before.map(Place.before) ?? after.map(Place.after) ?? .newest
            self = .turns(place, count: min(max(count, 1), Self.maximumRows), try TurnFilter(query))
        case ("turns", 4): self = .turn(try Self.turnNumber("turn", String(parts[3])))
        case ("turns", 5) where parts[4] == "causes": self = .causes(of: try Self.turnNumber("turn", String(parts[3])))
        case ("turns", 5) where parts[4] == "diff":
            guard let turn = Int(parts[3]), turn > 0 else { return nil }
            self = .diff(try Self.turnNumber("before", query.text("from") ?? "\(turn - 1)"), turn)
        case ("state", 3):
            let path: ValuePath
            do {
                path = try ValuePath(parsing: query.filled("path") ?? "state")
            } catch {
                throw ExplorerError("\(error)")
            }
            self = .state(try Self.turnNumber("turn", query.text("turn")), path, from: max(0, try query.wholeNumber("from") ?? 0))
        case ("density", 3): self = .density
        default: return nil
        }
    }

    private static func turnNumber(_ name: String, _ text: String?) throws(ExplorerError) -> Int {
        guard let turn = text.flatMap({ Int($0) }), turn >= 1 else {
            throw ExplorerError("`\(name)` is the number of a turn, from 1")
        }
        return turn
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
    fileprivate init(_ query: MessagePackValue) throws(ExplorerError) {
        if let name = query.filled("kind") {
            guard let kind = TurnMark.Kind.allCases.first(where: { "\($0)" == name }) else {
                throw ExplorerError("there is no such kind")
            }
            self.kind = kind
        }
        if let name = query.filled("origin") {
            guard let source = TurnMark.Source.allCases.first(where: { "\($0)" == name }) else {
                throw ExplorerError("there is no such origin")
            }
            self.source = source
        }
        root = try query.wholeNumber("root")
        if let text = query.filled("text") {
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

    /// What is empty is not asked for.
    fileprivate func filled(_ name: String) -> String? { text(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// Nil if there is none: a filter that cannot be read must not be taken for no filter.
    fileprivate func wholeNumber(_ name: String) throws(ExplorerError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text) else { throw ExplorerError("`\(name)` is a whole number") }
        return number
    }
}
