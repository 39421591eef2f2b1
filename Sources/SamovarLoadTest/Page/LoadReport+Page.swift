import SamovarLoad

extension LoadReport {
    /// One HTML file that needs no other: for a browser, and for whoever is sent it.
    var page: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Load test of \(escaped(program))</title>
        <style>\(pageStyle)</style>
        </head>
        <body>
        <header>
        <div><h1>Load test of \(escaped(program))</h1><p class="sub">\(escaped(started)) · \(escaped(headline))</p></div>
        \(badge)
        </header>
        \(findingsSection)
        <section class="cards">
        \(cards)
        </section>
        <section class="card"><h2>Latency</h2>\(table(Self.latencyColumns, latencyRows))</section>
        <section class="charts">
        \(charts.map(\.figure).joined(separator: "\n"))
        </section>
        <section class="columns">
        <div class="card"><h2>Processes</h2>\(table(Self.processColumns, processRows))</div>
        <div class="card">\(settingsSection)</div>
        </section>
        \(notesSection)
        <footer>Latencies count from when an input was due, not from when it could be sent. Recorded as HDR histograms with three
        significant digits, merged over all agents.</footer>
        </body>
        </html>

        """
    }

    private var badge: String {
        isSound ? "<span class=\"badge good\">✓ sound</span>" : "<span class=\"badge bad\">✕ not sound</span>"
    }

    private var cards: String {
        let findings = judgement.findings
        let (applied, view) = (latencies.applied, latencies.view)
        func at(_ percentile: Double, _ summary: LatencySummary) -> String { latencyText(summary.value(at: percentile)) }
        let cards: [(label: String, value: String, detail: String, isBad: Bool)] = [
            ("throughput", "\(countText(Int(throughput.rounded())))/s", "\(countText(counts.applied)) applied", false),
            ("send → applied p50", at(50, applied), "p99 \(at(99, applied))", false),
            ("send → applied p99.9", at(99.9, applied), "max \(at(100, applied))", false),
            ("send → view p50", at(50, view), "p99 \(at(99, view))", false),
            ("lost", "\(countText(findings.lost))", "of \(countText(counts.sent)) sent", findings.lost > 0),
            ("duplicated", duplicatedText, "records too many", findings.duplicated > 0),
            ("out of order", "\(countText(findings.outOfOrder))", "within a session", findings.outOfOrder > 0),
        ]
        return cards.map { card in
            "<div class=\"card\(card.isBad ? " bad" : "")\"><div class=\"label\">\(escaped(card.label))</div>"
                + "<div class=\"value\">\(escaped(card.value))</div><div class=\"sub\">\(escaped(card.detail))</div></div>"
        }.joined(separator: "\n")
    }

    private var findingsSection: String {
        let lines = problems + judgement.findings.examples
        guard !lines.isEmpty else { return "" }
        return "<section class=\"card bad\"><h2>What is wrong</h2>\(list(lines))</section>"
    }

    private var settingsSection: String {
        var rows: [(String, String)] = settings.map { ($0.name, $0.value) }
        rows += [("what became of them", inputsText), ("judged", evidenceText), ("bytes per input", bytesPerInputText)]
        if !kills.isEmpty { rows.append(("killed", killsText)) }
        rows += machines.map { ("machine", $0) }
        let body = rows.map { "<dt>\(escaped($0.0))</dt><dd>\(escaped($0.1))</dd>" }.joined(separator: "\n")
        return "<h2>The test</h2><dl>\(body)</dl>"
    }

    private var notesSection: String {
        notes.isEmpty ? "" : "<section class=\"card\"><h2>Notes</h2>\(list(notes))</section>"
    }

    private func list(_ lines: [String]) -> String {
        "<ul>\(lines.map { "<li>\(escaped($0))</li>" }.joined())</ul>"
    }

    private func table(_ columns: [String], _ rows: [(name: String, figures: [String])]) -> String {
        func cells(_ texts: [String], _ tag: String) -> String {
            "<tr>\(texts.map { "<\(tag)>\(escaped($0))</\(tag)>" }.joined())</tr>"
        }
        let body = rows.map { cells([$0] + $1, "td") }.joined()
        return "<div class=\"wide\"><table><thead>\(cells([""] + columns, "th"))</thead><tbody>\(body)</tbody></table></div>"
    }
}
