import ChaosSupport
import Foundation
import ProcessSupport

/// What happened to four machines, and what became of everything that was sent.
struct MachineVerdict: CustomStringConvertible {
    /// Of `load --json`.
    struct Report: Decodable {
        struct Inputs: Decodable {
            let sent, applied, refused, rejected, unknown: Int
        }

        struct Evidence: Decodable {
            let evidence: String
        }

        let inputs: Inputs
        let lost, duplicated, outOfOrder, contradicted, unanswered: Int
        let judgedBy: Evidence
        let findings, problems: [String]
    }

    struct View: Decodable {
        let view: Slate.ViewState
    }

    let faults: [String: Int]
    /// Of processes that should not have ended.
    let ends: [String]
    let report: Report
    let view: Slate.ViewState
    let answers: [(worker: String, count: Int)]

    var description: String {
        var lines = faults.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
        lines += [
            ("inputs: sent, applied, refused", "\(report.inputs.sent), \(report.inputs.applied), \(report.inputs.refused)"),
            ("jobs answered", "\(view.answered)"),
        ]
        lines += answers.map { ("answers of worker \($0.worker)", "\($0.count)") }
        lines += [
            ("lost, duplicated, out of order", "\(report.lost), \(report.duplicated), \(report.outOfOrder)"),
            ("contradicted, unanswered", "\(report.contradicted), \(report.unanswered)"),
            ("judged by", "the \(report.judgedBy.evidence)"),
        ]
        return lines.map { "\n  " + $0.0.padding(toLength: 52, withPad: " ", startingAt: 0) + $0.1 }.joined()
    }
}
