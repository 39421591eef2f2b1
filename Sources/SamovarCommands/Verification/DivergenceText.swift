import Foundation
import MessagePack
import SamovarHost
import SamovarStore
import SamovarText
import SamovarWire

/// A command that is not the recorded one, for people: what the journal knows of the old one, and the new one in full.
enum DivergenceText {
    /// - Parameter reports: of one turn, one for each process that computed it.
    static func lines(_ reports: [DivergenceReport]) -> [String] {
        guard let first = reports.first else { return [] }
        guard first.subject == .command else { return states(reports, first).map(escapeForTerminal) }
        var lines = [
            "  the turn   \(first.origin)",
            "  message    \(json(first.message))",
            "  then       \(recorded(first))",
        ]
        lines += traces(first).map { "             " + $0 }
        // Two processes that order the same are told of once.
        let isOne = Set(reports.map(\.hash)).count == 1
        for (index, report) in reports.enumerated() where index == 0 || !isOne {
            lines.append((isOne ? "  now        " : "  process \(index + 1)  ") + "hash \(report.hash), build \(executableBuild)")
            lines += orders(report).map { "             " + $0 }
        }
        return lines.map(escapeForTerminal)
    }

    /// Of a state, nothing is known but its digest.
    private static func states(_ reports: [DivergenceReport], _ first: DivergenceReport) -> [String] {
        let build = first.recordedBuild.isEmpty ? "an unnamed build" : "build \(first.recordedBuild)"
        let now = reports.count == 1 ? ["now"] : reports.indices.map { "process \($0 + 1)" }
        return ["  then       digest \(first.recordedHash ?? ""), \(build)"]
            + zip(now, reports).map {
                "  \($0)".padding(toLength: 13, withPad: " ", startingAt: 0) + "digest \($1.hash), build \(executableBuild)"
            }
    }

    private static func recorded(_ report: DivergenceReport) -> String {
        let build = report.recordedBuild.isEmpty ? "an unnamed build" : "build \(report.recordedBuild)"
        guard let hash = report.recordedHash else { return "no hash, for it is the first turn; \(build)" }
        return report.recordedNothing
            ? "hash \(hash), \(build): it ordered nothing"
            : "hash \(hash), \(build); of a command, the journal keeps no more than its hash, and knows:"
    }

    private static func traces(_ report: DivergenceReport) -> [String] {
        let followUps = report.recordedFollowUps.map { "then \(json($0.message)), turn \($0.turn)" }
        let effects = report.recordedEffects.map { effect in
            ["effect \(effect.effect)", effect.value.map { json($0) }, effect.trace.isEmpty ? nil : effect.trace]
                .compactMap(\.self).joined(separator: ", ")
        }
        let known = followUps + effects
        return known.isEmpty && !report.recordedNothing ? ["no follow-up, and no trace of an effect"] : shortened(known)
    }

    private static func orders(_ report: DivergenceReport) -> [String] {
        guard !report.orders.isEmpty else { return ["nothing"] }
        let lines = report.orders.map { order in
            switch order.kind {
            case .run: "run \(json(order.value)) \(order.options)"
            case .then, .emit: "\(order.kind) \(json(order.value))"
            case .cancel: "cancel “\(order.options)”"
            case .control: order.options
            }
        }
        return shortened(lines, omitted: report.omitted)
    }

    private static let lineLimit = 20

    private static func shortened(_ lines: [String], omitted: Int = 0) -> [String] {
        let rest = lines.count - lineLimit + omitted
        return lines.prefix(lineLimit) + (rest > 0 ? ["and \(rest) more"] : [])
    }

    static func json(_ bytes: [UInt8]) -> String {
        guard let value = readable(bytes) else { return "(\(bytes.count) bytes that cannot be read)" }
        return SamovarText.shortened(JSONTranscoder.text(of: value), to: 400)
    }

    /// Nil for bytes that are no MessagePack.
    static func readable(_ bytes: [UInt8]) -> MessagePackValue? { try? MessagePackValue(encoded: bytes) }

    /// For scripts.
    static func value(of report: DivergenceReport) -> MessagePackValue {
        [
            "subject": .string(report.subject.rawValue), "turn": .int(Int64(report.turn)), "origin": .string(report.origin),
            "message": readable(report.message) ?? .binary(report.message),
            "recorded": [
                "hash": report.recordedHash.map { .string($0) } ?? .nil, "build": .string(report.recordedBuild),
                "followUps": .array(
                    report.recordedFollowUps.map {
                        ["turn": .int(Int64($0.turn)), "message": readable($0.message) ?? .binary($0.message)]
                    }),
                "effects": .array(
                    report.recordedEffects.map {
                        [
                            "effect": .string($0.effect), "trace": .string($0.trace),
                            "value": $0.value.map { readable($0) ?? .binary($0) } ?? .nil,
                        ]
                    }),
            ],
            "now": [
                "hash": .string(report.hash), "build": .string(executableBuild), "omitted": .int(Int64(report.omitted)),
                "orders": .array(report.orders.map(value)),
            ],
        ]
    }

    private static func value(of order: DivergenceReport.Order) -> MessagePackValue {
        let value = readable(order.value) ?? .binary(order.value)
        return switch order.kind {
        case .run: ["run": value, "options": .string(order.options)]
        case .then: ["then": value]
        case .cancel: ["cancel": .string(order.options)]
        case .control: ["control": .string(order.options)]
        case .emit: ["emit": value]
        }
    }
}

extension CommandFailure {
    /// A store's refusal to go on with another command than the journal has the hash of.
    static func divergence(_ report: DivergenceReport, _ sentence: String) -> CommandFailure {
        let hint = """
              Run the build that wrote it, or mend `update`; `verify` says whether it is deterministic. To go on from here with what
              this build orders, start once with --accept-divergence \(report.turn); docs/journal.md says what that means.
            """
        return CommandFailure(.badData, ([sentence] + DivergenceText.lines([report]) + [hint]).joined(separator: "\n"))
    }
}
