import MessagePack

/// The pages of the past: what a path asks the explorer.
///
/// | path | query |
/// |---|---|
/// | `turns` | `before` or `after`, `count`, `kind`, `origin`, `root`, `text` |
/// | `turns/N`, `turns/N/causes` | |
/// | `turns/N/diff` | `from`; without it the turn before |
/// | `state` | `turn`, `path`, `from` |
/// | `density` | |
struct PastPages: Sendable {
    let explorer: ExplorerProcess
    let hub: LiveHub

    /// Whether this page may show it: states are for operators, since views are all that others may see. Nil until the store has said who this is.
    var isOpen: Bool? { get async { await hub.isOperator } }

    /// What a path of the API asks; nil if it asks nothing.
    static func request(_ path: String, _ query: [String: String]) -> MessagePackValue? {
        let parts = path.split(separator: "/")
        guard parts.count >= 3, parts[0] == "api", parts[1] == "v1" else { return nil }
        switch (parts[2], parts.count) {
        case ("turns", 3):
            return request("turns", query, numbers: ["before", "after", "count", "root"], texts: ["kind", "origin", "text"])
        case ("turns", 4): return ["ask": "turn", "turn": number(parts[3])]
        case ("turns", 5) where parts[4] == "causes": return ["ask": "causes", "turn": number(parts[3])]
        case ("turns", 5) where parts[4] == "diff":
            guard let turn = Int(parts[3]), turn > 0 else { return nil }
            return ["ask": "diff", "before": query["from"].map { number($0) } ?? .int(Int64(turn) - 1), "after": .int(Int64(turn))]
        case ("state", 3): return request("state", query, numbers: ["turn", "from"], texts: ["path"])
        case ("density", 3): return ["ask": "density"]
        default: return nil
        }
    }

    /// What is no number is refused as none by who reads the request.
    private static func number(_ text: some StringProtocol) -> MessagePackValue {
        Int64(text).map { .int($0) } ?? .string(String(text))
    }

    private static func request(_ ask: String, _ query: [String: String], numbers: [String], texts: [String]) -> MessagePackValue {
        var pairs = [MessagePackPair("ask", .string(ask))]
        for name in numbers { if let text = query[name] { pairs.append(MessagePackPair(.string(name), number(text))) } }
        for name in texts {
            if let text = query[name], !text.isEmpty { pairs.append(MessagePackPair(.string(name), .string(text))) }
        }
        return .map(pairs)
    }

    /// In JSON.
    func answer(to request: MessagePackValue) async -> String {
        var request = request
        let newest = hub.newest
        if let newest {
            request["timeline"] = .string(newest.timeline)
            request["durable"] = .int(Int64(newest.turn))
        }
        return await explorer.ask(request, timeline: newest?.timeline)
    }
}
