import SamovarLoad
import SamovarText

extension LoadReport {
    /// The result as a table, for a terminal: agents of other machines name themselves, and the store's words are in it.
    var text: String {
        var lines = ["Load test of \(program): \(headline)", ""]
        lines.append(row("", Self.latencyColumns, 10))
        lines += latencyRows.map { row($0, $1, 10) }
        lines.append("")
        lines.append(row("throughput", "\(countText(Int(throughput.rounded()))) applied/s over \(secondsText(duration))"))
        lines.append(row("inputs", inputsText))
        lines.append(row("judged", verdictText))
        lines.append(row("bytes per input", bytesPerInputText))
        if !kills.isEmpty { lines.append(row("killed", killsText)) }
        lines += ["", row("process", Self.processColumns, 12)] + processRows.map { row($0, $1, 12) }
        lines +=
            ([""] + problems.map { "problem: \($0)" } + judgement.findings.examples.map { "finding: \($0)" }
                + notes.map { "note: \($0)" })
        if lines.last == "" { lines.removeLast() }
        return lines.map(escapeForTerminal).joined(separator: "\n")
    }

    /// The settings in one line.
    var headline: String {
        settings.filter { !$0.name.hasPrefix("input") }.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
    }

    var inputsText: String {
        var parts = ["\(countText(counts.due)) due", "\(countText(counts.sent)) sent", "\(countText(counts.applied)) applied"]
        for (count, name) in [
            (counts.refused, "refused"), (counts.rejected, "rejected"), (counts.unknown, "unknown"),
            (counts.unanswered, "unanswered"),
        ] where count > 0 { parts.append("\(countText(count)) \(name)") }
        return parts.joined(separator: ", ")
    }

    var verdictText: String {
        let findings = judgement.findings
        var text = "lost \(findings.lost), duplicated \(duplicatedText), out of order \(findings.outOfOrder)"
        if findings.contradicted > 0 { text += ", contradicted \(findings.contradicted)" }
        if findings.unanswered > 0 { text += ", unanswered \(findings.unanswered)" }
        return text + "; \(evidenceText)"
    }

    /// A dash for what nobody could see.
    var duplicatedText: String {
        if case .receipts = judgement.evidence { "–" } else { "\(judgement.findings.duplicated)" }
    }

    var evidenceText: String {
        switch judgement.evidence {
        case .journal(let turns): "by the journal, \(countText(turns)) turns"
        case .receipts(let reason): "by receipts alone (\(reason))"
        }
    }

    var bytesPerInputText: String {
        var text = "\(bytesText(bytes.sent)) sent, \(bytesText(bytes.received)) received"
        if let journal = bytes.journal { text += ", \(bytesText(journal)) in the journal" }
        if let view = bytes.view { text += "; \(bytesText(view)) for each view" }
        return text
    }

    var killsText: String {
        let counts = Dictionary(grouping: kills, by: \.process).mapValues(\.count)
        return counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value) \($0.value == 1 ? "time" : "times")" }
            .joined(separator: ", ")
    }

    /// Why the exit code is not 0.
    var complaint: String {
        isSound ? "" : problems.first ?? "the history is not sound: \(verdictText)"
    }

    static let latencyColumns = LatencySummary.headline.map(\.name) + ["mean", "measured"]

    var latencyRows: [(name: String, figures: [String])] {
        series.map { name, summary in
            let figures = LatencySummary.headline.map { latencyText(summary.value(at: $0.percentile)) }
            return (name, figures + [summary.count == 0 ? "–" : latencyText(Int64(summary.mean)), countText(summary.count)])
        }
    }

    static let processColumns = ["CPU mean", "CPU max", "memory max"]

    var processRows: [(name: String, figures: [String])] {
        processes.map { process in
            let memory = bytesText(Double(process.highestMemory))
            return (process.name, [percentText(process.meanLoad), percentText(process.highestLoad), memory])
        }
    }

    var series: [(name: String, summary: LatencySummary)] {
        [("send → applied", latencies.applied), ("send → settled", latencies.settled), ("send → view", latencies.view)]
    }

    private func row(_ name: String, _ text: String) -> String {
        name + String(repeating: " ", count: max(1, 16 - name.count)) + text
    }

    private func row(_ name: String, _ figures: [String], _ width: Int) -> String {
        row(name, figures.map { String(repeating: " ", count: max(1, width - $0.count)) + $0 }.joined())
    }
}
