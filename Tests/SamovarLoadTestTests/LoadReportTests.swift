import Foundation
import MessagePack
import SamovarLoad
import SamovarStore
import Testing

@testable import SamovarLoadTest

#if canImport(FoundationXML)
import FoundationXML
#endif

/// What people read of a load test.
struct LoadReportTests {
    private func summary(_ count: Int, _ microseconds: [(Double, Int64)]) -> LatencySummary {
        LatencySummary(
            count: count, mean: 500, curve: microseconds.map { LatencySummary.Point(percentile: $0.0, microseconds: $0.1) })
    }

    private func report(
        input: String = #"{"increment":{}}"#, lost: Int = 0, problems: [String] = [],
        evidence: LoadReport.Judgement.Evidence = .journal(turns: 1_234), due: Int = 3_001, withoutView: Int = 0,
        withoutEnd: Int = 0
    ) -> LoadReport {
        var findings = Judge.Findings()
        findings.lost = lost
        if lost > 0 { findings.examples = ["input 3 of session <b>x</b> was sent, and neither client nor journal knows of it"] }
        var counts = ClientCounts()
        counts.due = due
        counts.sent = 3_001
        counts.applied = 2_000
        counts.refused = 1_001
        var store = ProcessFigures("store")
        for second in 0...3 {
            store.add(
                ProcessSample(processorSeconds: Double(second) * 0.5, residentBytes: 32 << 20), of: 1, at: Double(second))
        }
        return LoadReport(
            program: "Counter", started: "2026-01-02T03:04:05Z", pace: .rate(1_000),
            settings: [("rate", "1000 inputs/s"), ("input", input)], machines: ["here: 2 processors"], duration: 3, counts: counts,
            withoutView: withoutView, withoutEnd: withoutEnd,
            latencies: Latencies(
                applied: summary(2_000, [(0, 80), (50, 678), (90, 900), (99, 12_345), (99.9, 1_500_000), (100, 2_000_000)]),
                settled: summary(0, []), view: summary(1_900, [(0, 100), (50, 16_000), (100, 40_000)])),
            seconds: (1...3).map { second in
                LoadReport.Second(
                    time: Double(second), sent: 1_000, applied: 700, answered: 1_000, views: 30, unanswered: 1, p50: 678,
                    p99: 12_345,
                    max: second == 2 ? nil : 2_000_000)
            }, processes: [store],
            kills: [LoadReport.Kill(time: 1.5, process: "store"), LoadReport.Kill(time: 2.5, process: "worker 1")],
            bytes: LoadReport.BytesPerMessage(sent: 83.5, received: 74, view: 121, journal: 56),
            judgement: LoadReport.Judgement(evidence: evidence, findings: findings), problems: problems, notes: ["a < b & c"])
    }

    private func parse(_ page: String) throws -> XMLDocument {
        // As XML it must be well-formed, which browsers do not insist on.
        let body = page.replacing("<!doctype html>\n", with: "").replacing(#/<meta [^>]*>/#, with: "")
        return try XMLDocument(xmlString: body)
    }

    @Test func `The page is well-formed, needs no other file, and holds the figures`() throws {
        let page = report().page
        let document = try parse(page)
        #expect(try document.nodes(forXPath: "//svg").count == 5)
        #expect(try document.nodes(forXPath: "//polyline").count == 3 + 2 + 3 + 1 + 1)
        for figure in ["678 µs", "12.3 ms", "1.50 s", "2.00 s", "2,000", "700/s", "sound", "50 %", "32.0 MiB", "1,234 turns"] {
            #expect(page.contains(figure), "\(figure)")
        }
        // Kills, in each of the four charts over time.
        #expect(try document.nodes(forXPath: "//line[@class='mark']").count == 4 * 2)
        #expect(!page.contains("http") && !page.contains("<script") && !page.contains("src=") && !page.contains("@import"))
    }

    @Test func `What comes from outside is text and nothing else`() throws {
        let hostile = #"{"name":"</dd><script>alert('x')</script>&amp;"}"#
        let page = report(input: hostile, lost: 1, problems: ["agent <img src=x onerror=alert(1)> is missing"]).page
        #expect(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>x"))
        let document = try parse(page)
        let texts = try document.nodes(forXPath: "//dd").compactMap(\.stringValue)
        #expect(texts.contains(hostile))
        #expect(escaped("a\u{0}b\u{1B}[31m\"'") == "a\u{FFFD}b\u{FFFD}[31m&quot;&#39;")
    }

    @Test func `What agents say of themselves commands no terminal`() {
        let text = report(problems: ["agent \u{1B}]52;c;x\u{7} is missing: \u{1B}[2J"]).text
        #expect(!text.contains("\u{1B}") && text.contains("problem: agent \\u{1b}]52;c;x\\u{7} is missing"))
    }

    @Test func `A history that is not sound shows it everywhere`() throws {
        let report = report(lost: 2)
        #expect(!report.isSound)
        #expect(report.page.contains("not sound") && report.page.contains("What is wrong"))
        #expect(report.text.contains("lost 2, duplicated 0, out of order 0; by the journal, 1,234 turns"))
        #expect(report.text.contains("finding: input 3 of session"))
        #expect(report.value["sound"] == .bool(false) && report.value["lost"] == .int(2))
        #expect(report.complaint == "the history is not sound: " + report.verdictText)
    }

    @Test func `A problem of the test itself is one of its verdict`() {
        let report = report(problems: ["agent 2 is missing: its process ended (signal 9)"])
        #expect(!report.isSound)
        #expect(report.complaint == "agent 2 is missing: its process ended (signal 9)")
    }

    @Test func `A role that was to be killed and never was is a problem`() {
        let plan = KillPlan(roles: [.store, .worker, .store], interval: 1)
        let (store, worker) = (LoadReport.Kill(time: 1, process: "store"), LoadReport.Kill(time: 2, process: "worker 2"))
        #expect(plan.problems(after: [store, worker]) == [])
        #expect(plan.problems(after: [worker]) == ["--kill store: none was killed, for none ran when its death was due"])
        #expect(plan.problems(after: []).count == 2)
        #expect(KillPlan(roles: [.store], interval: 1).problems(after: [store]) == [], "no worker was to be killed")
    }

    @Test func `What nobody could see is not called zero`() {
        let text = report(evidence: .receipts(because: "the store is on another machine")).text
        #expect(text.contains("duplicated –, out of order 0; by receipts alone (the store is on another machine)"))
    }

    @Test func `The table names each latency, and a dash where nothing was measured`() {
        let lines = report().text.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("send → applied") && $0.contains("678 µs") && $0.hasSuffix("2,000") })
        #expect(lines.contains { $0.hasPrefix("send → settled") && $0.contains("–") && $0.hasSuffix(" 0") })
        #expect(lines.contains("killed          store 1 time, worker 1 1 time"))
        #expect(lines.contains("note: a < b & c"))
    }

    @Test func `Inputs whose end nobody told are counted beside what was measured`() {
        let report = report(withoutEnd: 1_234)
        let told = "1,234 inputs were chosen for send → settled, and their end was never told: "
        #expect(report.remarks(isOwn: true, rejection: nil).contains(told + "the figures are those of the others, and too good."))
        #expect(report.value["withoutEnd"] == .int(1_234))
        #expect(!self.report().remarks(isOwn: true, rejection: nil).contains { $0.contains("never told") })
    }

    @Test func `Inputs that no view has followed are counted, and nobody says that they changed nothing`() {
        let remarks = report(withoutView: 17).remarks(isOwn: true, rejection: nil)
        #expect(
            remarks.contains(
                "Of 17 inputs no view of their turn or a later one was measured: send → view is that of the others. "
                    + "An input that changes nothing in the view is followed by none."))
        #expect(!report().remarks(isOwn: true, rejection: nil).contains { $0.contains("no view") })
    }

    @Test func `That the store did not keep up is said only of a test without a problem`() {
        let told = ": the latencies are those of the others, and too good."
        let slow = report(due: 3_011).remarks(isOwn: true, rejection: nil)
        #expect(slow.contains("10 inputs were due and never sent, since the store did not keep up" + told))
        let problem = report(problems: ["agent 1: an input of 2097157 bytes; 1048576 at most"], due: 3_011)
        #expect(problem.remarks(isOwn: true, rejection: nil).contains("10 inputs were due and never sent" + told))
    }

    @Test func `Figures have three digits and their unit`() {
        #expect(
            [0, 999, 1_000, 12_345, 999_999, 61_000_000].map { latencyText($0) } == [
                "0 µs", "999 µs", "1.00 ms", "12.3 ms", "1000 ms", "61.0 s",
            ])
        #expect([0, 999, 1_000, 1_234_567].map { countText($0) } == ["0", "999", "1,000", "1,234,567"])
        #expect(
            [tickText("10.0 s"), tickText("1.00 ms"), tickText("1.50 s"), tickText("5 µs")] == ["10 s", "1 ms", "1.50 s", "5 µs"])
        #expect(bytesText(1_536) == "1.50 KiB")
    }

    @Test func `An axis ends at a round number and starts below the smallest`() {
        let linear = Axis.linear(to: 437) { "\(Int($0))" }
        #expect(linear.ticks.map(\.label) == ["0", "100", "200", "300", "400", "500"])
        #expect(linear.position(of: 250) == 0.5 && linear.position(of: 900) == 1)
        let logarithmic = Axis.logarithmic(30, 700) { "\(Int($0))" }
        #expect(logarithmic.ticks.map(\.label) == ["10", "20", "50", "100", "200", "500", "1000"])
        #expect(logarithmic.position(of: 100) == 0.5)
        #expect(Axis.percentiles(of: 1_000).ticks.map(\.label) == ["0", "50 %", "90 %", "99 %", "99.9 %"])
        #expect(Axis.time(to: 14).ticks.map(\.label) == ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s", "12 s", "14 s"])
    }

    @Test func `A test in which nothing was seen has a page, too`() throws {
        let empty = LoadReport(
            program: "x", started: "", pace: .saturate(window: 1), settings: [], machines: [], duration: 1, counts: ClientCounts(),
            withoutView: 0, withoutEnd: 0,
            latencies: Latencies(applied: summary(0, []), settled: summary(0, []), view: summary(0, [])),
            seconds: [],
            processes: [], kills: [], bytes: LoadReport.BytesPerMessage(sent: 0, received: 0, view: nil, journal: nil),
            judgement: LoadReport.Judgement(evidence: .journal(turns: 0), findings: Judge.Findings()), problems: [], notes: [])
        #expect(try parse(empty.page).nodes(forXPath: "//svg").isEmpty)
        #expect(empty.throughput == 0)
    }
}
