import MessagePack
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText
import SamovarWire

/// The outcome of `verify`, for people and for scripts.
enum VerdictText {
    static func success(_ verdict: Verdict) -> String {
        let states = verdict.replayed.states
        var parts = [
            "\(turns(verdict)) of timeline \(verdict.subject.timeline)",
            "replayed in two processes with different hash seeds", commands(verdict.replayed),
            "\(counted(verdict.digests, "state")) and \(counted(verdict.snapshots.count, "snapshot")) agree",
        ]
        if states > 0 { parts.append("\(counted(states, "state")) as the store had \(states == 1 ? "it" : "them")") }
        if !verdict.wantOtherwise.isEmpty {
            let count = verdict.wantOtherwise.count
            parts.append("the subscriptions of \(counted(count, "snapshot")) are those of another build and were not compared")
        }
        if verdict.passedOver > 0 {
            let older = "this build takes turns of older versions otherwise than they did"
            parts.append("nothing up to turn \(verdict.passedOver) was replayed, for \(older)")
        }
        if !verdict.accepted.isEmpty {
            parts.append("another command was accepted at turn \(verdict.accepted.map(String.init).joined(separator: " and "))")
        }
        return "ok: " + parts.joined(separator: ", ")
    }

    private static func turns(_ verdict: Verdict) -> String {
        let last = verdict.subject.last
        return verdict.begin > 0 && verdict.passedOver == 0 ? "turns \(verdict.begin + 1) to \(last)" : counted(last, "turn")
    }

    /// What was compared with the hashes in the journal, and what could not be.
    static func commands(_ counts: ReplayCounts) -> String {
        let missing = "\(counted(counts.uncompared, "command")) of older versions could not be compared"
        switch (counts.compared, counts.uncompared) {
        case (0, 0): return "there are no commands to compare"
        case (_, 0): return "every command is the recorded one"
        case (0, _): return "no command was compared: all \(counts.uncompared) are of older versions"
        default: return "\(counted(counts.compared, "command")) as recorded, \(missing)"
        }
    }

    static func failure(_ finding: Verdict.Finding, _ counts: ReplayCounts) -> String {
        switch finding {
        case .command(let reports):
            ([sentence(reports)] + DivergenceText.lines(reports)).joined(separator: "\n")
        case .state(let turn, let lastEqual, let states, let command):
            ([sentence(turn, lastEqual)] + about(command) + differences(states)).joined(separator: "\n")
        case .snapshot(let turn, let parts, let lastEqual):
            """
            turn \(turn): its snapshot is not what a replay gives\(why(counts))
              differs    \(parts.joined(separator: ", "))
              since      \(lastEqual.map { "turn \($0), whose snapshot is what a replay gives" } ?? "turn 1")
            """
        case .refusedSnapshot(let snapshot):
            "turn \(snapshot.turn): a start refuses to go on from its snapshot: \(snapshot.problem ?? "")"
        }
    }

    private static func why(_ counts: ReplayCounts) -> String {
        guard counts.compared == 0, counts.uncompared > 0 else {
            return ", although all commands are the recorded ones: `update` has changed"
        }
        return ": this build takes turns of older versions otherwise, and passes over them once a store of its version has started"
    }

    private static func isFickle(_ reports: [DivergenceReport]) -> Bool { Set(reports.map(\.hash)).count > 1 }

    private static func sentence(_ reports: [DivergenceReport]) -> String {
        let turn = reports.first.map { "turn \($0.turn)" } ?? "a turn that could not be met again"
        guard reports.first?.subject != .state else {
            return isFickle(reports)
                ? "\(turn): `update` makes another state in each process: it is not deterministic"
                : "\(turn): `update` makes another state than the store had: it has changed, or depends on more than its arguments"
        }
        return isFickle(reports)
            ? "\(turn): `update` orders something else in each process: it is not deterministic"
            : "\(turn): `update` orders another command than it did: it has changed, or depends on more than its arguments"
    }

    private static func sentence(_ turn: Int, _ lastEqual: Int) -> String {
        turn - lastEqual == 1
            ? "turn \(turn): `update` makes another state in each process: it is not deterministic"
            : "turns \(lastEqual + 1) to \(turn): `update` made another state in each process, and not when asked for closer: "
                + "it is not deterministic"
    }

    private static func about(_ command: DivergenceReport?) -> [String] {
        guard let command else { return [] }
        return ["  the turn   \(command.origin)", "  message    \(DivergenceText.json(command.message))"].map(escapeForTerminal)
    }

    private static func differences(_ states: [[UInt8]]) -> [String] {
        guard let found = parts(5, states) else { return [] }
        guard !found.isEmpty else { return ["  differs    nothing that can be shown: it was equal when looked at again"] }
        return found.flatMap {
            ["  differs    \($0.path)", "  process 1  \($0.processes[0])", "  process 2  \($0.processes[1])"]
        }.map(escapeForTerminal)
    }

    /// The first parts in which the states of two processes differ, and what each has there. Nil if they cannot be read.
    private static func parts(_ limit: Int, _ states: [[UInt8]]) -> [(path: String, processes: [String])]? {
        guard states.count == 2 else { return nil }
        let changes = try? ValueChanges(from: states[0], to: states[1], at: ValuePath(root: .state)).changes
        return changes?.prefix(limit).map { change in
            ("\(change.path)", [change.before, change.after].map { ValueChanges.text(of: $0).bounded(to: 200) })
        }
    }

    static func value(of verdict: Verdict, _ breaches: [Breach]) -> MessagePackValue {
        [
            "ok": .bool(verdict.finding == nil && breaches.isEmpty), "timeline": .string(verdict.subject.timeline),
            "turns": .int(Int64(verdict.subject.last)), "digests": .int(Int64(verdict.digests)),
            "snapshots": .array(verdict.snapshots.map { .int(Int64($0)) }),
            "otherSubscriptions": .array(verdict.wantOtherwise.map { .int(Int64($0)) }),
            "passedOver": .int(Int64(verdict.passedOver)),
            "unreadableSnapshots": .array(verdict.unreadable.map { .int(Int64($0.turn)) }),
            "accepted": .array(verdict.accepted.map { .int(Int64($0)) }),
            "commands": [
                "compared": .int(Int64(verdict.replayed.compared)), "uncompared": .int(Int64(verdict.replayed.uncompared)),
                "states": .int(Int64(verdict.replayed.states)),
            ],
            "brokenInvariants": .array(
                breaches.map { ["name": .string($0.invariant), "turn": .int(Int64($0.record.turn))] }),
            "finding": verdict.finding.map(value) ?? .nil,
        ]
    }

    private static func value(of finding: Verdict.Finding) -> MessagePackValue {
        switch finding {
        case .command(let reports):
            return [
                "kind": "command", "turn": reports.first.map { .int(Int64($0.turn)) } ?? .nil,
                "deterministic": .bool(!isFickle(reports)), "processes": .array(reports.map(DivergenceText.value)),
            ]
        case .state(let turn, let lastEqual, let states, let command):
            return [
                "kind": "state", "turn": .int(Int64(turn)), "lastEqual": .int(Int64(lastEqual)), "deterministic": false,
                "message": command.flatMap { DivergenceText.readable($0.message) } ?? .nil,
                "differences": .array(
                    (parts(20, states) ?? []).map {
                        ["path": .string($0.path), "processes": .array($0.processes.map { .string($0) })]
                    }),
            ]
        case .snapshot(let turn, let parts, let lastEqual):
            return [
                "kind": "snapshot", "turn": .int(Int64(turn)), "parts": .array(parts.map { .string($0) }),
                "lastEqual": lastEqual.map { .int(Int64($0)) } ?? .nil,
            ]
        case .refusedSnapshot(let snapshot):
            return [
                "kind": "refusedSnapshot", "turn": .int(Int64(snapshot.turn)), "problem": .string(snapshot.problem ?? ""),
            ]
        }
    }
}
