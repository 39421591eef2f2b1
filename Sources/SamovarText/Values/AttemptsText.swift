package import MessagePack

/// The reply to `attempts`, for people: what is known of an effect, and its attempts in a table.
package enum AttemptsText {
    package static func lines(of answer: MessagePackValue) -> String {
        var facts: [MessagePackPair] = []
        func add(_ name: String, _ value: MessagePackValue?) {
            if let value, value != .nil { facts.append(MessagePackPair(.string(name), value)) }
        }
        let row = answer["open"] ?? answer["dead"]
        add("effect", answer["effect"])
        add("state", row?["status"] ?? .string(unknown(answer["state"])))
        add("waits for", row?["waitsFor"])
        add("next attempt", row?["nextAttempt"])
        add("queue", row?["queue"])
        add("label", row?["label"])
        add("kind", row?["payload"]?.caseName.map { MessagePackValue.string($0) })
        add("ordered", row?["ordered"])
        add("root", row?["root"])
        add("failures", row?["failures"])
        add("deaths", row?["deaths"])
        add("failure", row?["failure"])
        add("progress", row?["progress"]?["text"])
        return ViewText.screen(of: .map(facts)) + "\n\n" + attempts(of: answer)
    }

    private static func unknown(_ state: MessagePackValue?) -> String {
        state == "closed" ? "closed" : "closed, or never ordered"
    }

    private static func attempts(of answer: MessagePackValue) -> String {
        guard case .array(let attempts)? = answer["attempts"], let count = answer["attemptCount"] else { return "" }
        let since = answer["remembersSince"]?.plainText ?? "the start"
        let rest = count == .int(Int64(attempts.count)) ? "" : ", the newest \(attempts.count) of them"
        let title =
            "\(count.plainText) attempt\(count == 1 ? "" : "s") since \(since)\(rest); a restart of the store forgets them"
        guard !attempts.isEmpty else { return title }
        let rows = attempts.map { attempt in
            var row = attempt
            if attempt["claimed"] == .bool(true) { row["how"] = .string("\(attempt["how"]?.plainText ?? ""), claimed") }
            return row
        }
        let columns = ["attempt", "worker", "handedOut", "startedBy", "ended", "seconds", "how"]
        return title + "\n" + TextTable.lines(of: rows, columns).joined(separator: "\n")
    }
}
