package import MessagePack
import SamovarTerminal

/// The reply to `status`, for people: groups of facts one below the other, with units, and tables. What is as it should be, and tells nothing, is left
/// out; `--json` has everything. Of a store of another build, what it does not tell is missing.
package enum StatusText {
    package static func lines(of status: MessagePackValue) -> String {
        guard case .map = status else { return ViewText.screen(of: status) }
        let groups = [
            group("store", store(status)), group("journal", journal(status)), group("disk", disk(status)),
            group("clients", clients(status)), group("effects", effects(status)),
        ]
        let parts =
            groups + [status["queues"] == nil ? "" : queues(of: status), status["workers"] == nil ? "" : workers(of: status)]
            + [group("counted since \(text(status["countersSince"]) ?? "the start")", counters(status))]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    // MARK: Groups

    private typealias Fact = (name: String, text: String?)

    /// The facts of a group below its title, values below each other; empty if there are none.
    private static func group(_ title: String, _ facts: [Fact]) -> String {
        let shown = facts.compactMap { fact in fact.text.map { (fact.name, $0) } }
        guard !shown.isEmpty else { return "" }
        let width = shown.map { $0.0.columns }.max() ?? 0
        return ([title] + shown.map { "  " + $0.0 + String(repeating: " ", count: width - $0.0.columns + 2) + $0.1 })
            .joined(separator: "\n")
    }

    private static func store(_ status: MessagePackValue) -> [Fact] {
        let outages = [
            ("diskFull", "the disk is full"), ("databaseAway", "the database is away"), ("leaseInDoubt", "the lease is in doubt"),
        ]
        let outage = outages.lazy.compactMap { name, words in
            text(status["\(name)Since"]).map { "\(words) since \($0): no input is accepted" }
        }.first
        let rates = status["rates"]
        return [
            ("program", sentence(status["program"], (" ", status["schema"]), (", build ", status["build"]))),
            ("timeline", text(status["timeline"])),
            (
                "phase",
                sentence(
                    status["phase"], (", up ", Quantity.age(status["uptimeSeconds"]).map { .string($0) }),
                    (", start ", status["starts"]))
            ),
            ("held up", outage),
            ("turn", turn(status)),
            ("rates", Quantity.rate(rates?["turns"]).map { "\($0) turns/s, \(Quantity.rate(rates?["inputs"]) ?? "0") inputs/s" }),
            ("rounds", Quantity.percentiles(status["round"])),
            ("memory", Quantity.bytes(status["process"]?["residentBytes"])),
            ("follower", follower(status)),
            ("views", unusual(status["views"], "on")),
            ("suspects", nonzero(status["suspects"])),
            ("invariants", invariants(status["invariants"])),
        ]
    }

    /// Nil if the store does not look at them.
    private static func invariants(_ value: MessagePackValue?) -> String? {
        guard let value, case .int(let count)? = value["count"], case .array(let broken)? = value["broken"] else { return nil }
        guard !broken.isEmpty else { return "\(count), none is broken" }
        return broken.map { "“\(text($0["name"]) ?? "?")” broken by turn \(text($0["turn"]) ?? "?")" }.joined(separator: ", ")
    }

    private static func turn(_ status: MessagePackValue) -> String? {
        guard let turn = text(status["turn"]), case .int(let behind)? = status["lag"]?["turns"], behind > 0 else {
            return text(status["turn"]).map { $0 + (status["turn"] == status["durable"] ? ", on disk" : "") }
        }
        return "\(turn), \(behind) not on disk yet for \(Quantity.duration(status["lag"]?["seconds"]) ?? "?")"
    }

    private static func follower(_ status: MessagePackValue) -> String? {
        guard let follower = status["follower"], case .int(let at)? = follower["turn"], case .int(let head)? = status["turn"] else {
            return nil
        }
        return "\(max(0, head - at)) turns behind, heard \(Quantity.age(follower["seconds"]) ?? "?") ago"
    }

    private static func journal(_ status: MessagePackValue) -> [Fact] {
        [
            ("durability", text(status["durability"])),
            ("rate", Quantity.bytes(status["rates"]?["journalBytes"]).map { "\($0)/s" }),
            ("commits", Quantity.percentiles(status["commit"])),
            ("snapshot", snapshot(status)),
        ]
    }

    private static func snapshot(_ status: MessagePackValue) -> String? {
        unusual(status["snapshots"], "on")
            ?? status["snapshotTurn"].flatMap { turn in
                guard case .int(let number) = turn, number > 0 else { return nil }
                return "turn \(number)" + (text(status["snapshotTime"]).map { " of \($0)" } ?? "")
            }
    }

    private static func disk(_ status: MessagePackValue) -> [Fact] {
        [
            ("journal", Quantity.bytes(status["process"]?["journalBytes"])),
            ("free", Quantity.bytes(status["process"]?["freeBytes"])),
        ]
    }

    private static func clients(_ status: MessagePackValue) -> [Fact] {
        [
            ("connected", bounded(status["clients"], status["maximumClients"])), ("sessions", text(status["sessions"])),
            ("inputs waiting", text(status["inbox"])),
        ]
    }

    private static func effects(_ status: MessagePackValue) -> [Fact] {
        [
            ("open", bounded(status["openEffects"], status["maximumOpenEffects"])),
            ("dead", bounded(status["deadEffects"], status["maximumDeadEffects"])),
            ("closed", Quantity.rate(status["rates"]?["effectsClosed"]).map { "\($0)/s" }),
            ("held for", nonzero(status["awaitedWorkers"]).map { "\($0) workers of before the restart" }),
        ]
    }

    private static func counters(_ status: MessagePackValue) -> [Fact] {
        guard case .map(let counters)? = status["counters"] else { return [] }
        return counters.map { (shortened($0.key.plainText, to: 60), nonzero($0.value)) }
    }

    // MARK: Values

    /// A text and what is known of the rest of it.
    private static func sentence(_ start: MessagePackValue?, _ rest: (String, MessagePackValue?)...) -> String? {
        text(start).map { start in
            rest.reduce(start) { sentence, part in sentence + (text(part.1).map { part.0 + $0 } ?? "") }
        }
    }

    private static func text(_ value: MessagePackValue?) -> String? {
        guard let value, value != .nil else { return nil }
        return shortened(value.plainText, to: 1_000)
    }

    private static func unusual(_ value: MessagePackValue?, _ usual: MessagePackValue) -> String? {
        value == usual ? nil : text(value)
    }

    private static func nonzero(_ value: MessagePackValue?) -> String? { unusual(value, .int(0)) }

    private static func bounded(_ value: MessagePackValue?, _ limit: MessagePackValue?) -> String? {
        text(value).map { $0 + (text(limit).map { " of \($0) at most" } ?? "") }
    }

    // MARK: Tables

    private static func workers(of status: MessagePackValue) -> String {
        // While nothing is taken, only their number is told.
        if case .int(let number)? = status["workers"] { return counted(Int(number), "worker") }
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
        return "\(counted(workers.count, "worker"))\n" + TextTable.lines(of: rows, columns).joined(separator: "\n")
    }

    /// Queues with their rules, and what is paused beside them.
    package static func queues(of status: MessagePackValue) -> String {
        guard case .array(let queues)? = status["queues"] else { return "no queues" }
        var parts: [String] = []
        if !queues.isEmpty {
            let rows = queues.map { queue in
                var row = queue
                for flag in ["served", "paused"] { row[flag] = queue[flag] == .bool(true) ? "yes" : flag == "served" ? "no" : .nil }
                row["rules"] = rule(of: queue["name"], status)
                for part in ["wait", "attempt"] { row[part] = Quantity.percentiles(queue[part]).map { .string($0) } ?? .nil }
                return row
            }
            let columns = [
                "name", "waiting", "oldestSeconds", "behind", "delayed", "running", "slots", "served", "paused", "wait", "attempt",
                "rules",
            ]
            parts.append("\(counted(queues.count, "queue"))\n" + TextTable.lines(of: rows, columns).joined(separator: "\n"))
        }
        if case .array(let paused)? = status["paused"] {
            let labels = paused.compactMap { place in
                if case .string(let label)? = place["label"] { "“\(escapeForTerminal(label))”" } else { String?.none }
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

    private static func list(_ names: MessagePackValue?) -> MessagePackValue {
        guard case .array(let names)? = names, !names.isEmpty else { return .nil }
        return .string(names.map(\.plainText).joined(separator: ", "))
    }
}

package func counted(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }
