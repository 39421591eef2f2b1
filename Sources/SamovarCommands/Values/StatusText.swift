import MessagePack

/// The reply to `status`, for people: facts one below the other, and tables.
enum StatusText {
    /// What stands in a table of its own.
    private static let tables = ["workers", "queues", "paused", "rules", "counters"]

    static func lines(of status: MessagePackValue) -> String {
        guard case .map(let pairs) = status else { return ViewText.screen(of: status) }
        let facts = pairs.filter { pair in
            if case .string(let name) = pair.key { !tables.contains(name) } else { true }
        }
        var parts = [ViewText.screen(of: .map(facts))]
        parts += [workers(of: status), queues(of: status), counters(of: status)].filter { !$0.isEmpty }
        return parts.joined(separator: "\n\n")
    }

    private static func workers(of status: MessagePackValue) -> String {
        guard case .array(let workers)? = status["workers"], !workers.isEmpty else { return "no workers" }
        let rows = workers.map { worker in
            var row = worker
            row["queues"] = list(worker["queues"])
            row["can"] = list(worker["can"])
            if case .array(let jobs)? = worker["progress"] {
                row["progress"] = jobs.isEmpty ? .nil : .string(jobs.map(\.plainText).joined(separator: "; "))
            }
            return row
        }
        let columns = ["id", "slots", "running", "silentMilliseconds", "queues", "can", "progress"]
        return "\(count(workers.count, "worker"))\n" + TextTable.lines(of: rows, columns).joined(separator: "\n")
    }

    /// Queues with their rules, and what is paused beside them.
    static func queues(of status: MessagePackValue) -> String {
        guard case .array(let queues)? = status["queues"] else { return "no queues" }
        var parts: [String] = []
        if !queues.isEmpty {
            let rows = queues.map { queue in
                var row = queue
                for flag in ["served", "paused"] { row[flag] = queue[flag] == .bool(true) ? "yes" : flag == "served" ? "no" : .nil }
                row["rules"] = rule(of: queue["name"], status)
                return row
            }
            let columns = [
                "name", "waiting", "oldestSeconds", "behind", "delayed", "running", "slots", "served", "paused", "rules",
            ]
            parts.append("\(count(queues.count, "queue"))\n" + TextTable.lines(of: rows, columns).joined(separator: "\n"))
        }
        if case .array(let paused)? = status["paused"] {
            let labels = paused.compactMap { place in
                if case .string(let label)? = place["label"] { "“\(label)”" } else { String?.none }
            }
            if !labels.isEmpty { parts.append("paused labels: \(labels.joined(separator: ", "))") }
        }
        return parts.isEmpty ? "no queues" : parts.joined(separator: "\n\n")
    }

    private static func rule(of queue: MessagePackValue?, _ status: MessagePackValue) -> MessagePackValue {
        guard case .array(let rules)? = status["rules"], let rule = rules.first(where: { $0["queue"] == queue }) else {
            return .nil
        }
        return rule["text"] ?? .nil
    }

    private static func counters(of status: MessagePackValue) -> String {
        guard let counters = status["counters"] else { return "" }
        return ViewText.screen(of: ["counters": counters])
    }

    private static func list(_ names: MessagePackValue?) -> MessagePackValue {
        guard case .array(let names)? = names, !names.isEmpty else { return .nil }
        return .string(names.map(\.plainText).joined(separator: ", "))
    }

    private static func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }
}
