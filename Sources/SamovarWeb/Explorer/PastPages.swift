import MessagePack

/// The pages of the past: what ``ExplorerRequest`` knows of paths.
struct PastPages: Sendable {
    let explorer: ExplorerProcess
    let hub: LiveHub

    /// Whether this page may show it: states are for operators, since views are all that others may see. Nil until the store has said who this is.
    var isOpen: Bool? { get async { await hub.isOperator } }

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
