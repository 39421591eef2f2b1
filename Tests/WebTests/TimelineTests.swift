import Foundation
import ProcessSupport
import Testing

/// The past of a store, in a browser.
@Suite(.serialized, .enabled("there is no Chromium: no browser shows the page") { Browser.program != nil })
struct TimelineTests {
    /// A row of the timeline that is chosen.
    private static let chosen = "document.querySelector('main tr[aria-selected] a')?.textContent ?? ''"

    /// A page at its timeline, of a store that has counted `turns` times.
    private func timeline(_ inputs: [String] = [], width: Int = 1_000) async throws -> (ServedPage, Browser) {
        let page = try await ServedPage()
        for input in inputs { _ = try await page.command("send", input) }
        let browser = try await Browser(width: width, in: page.scratch)
        try await browser.visit(page.address)
        try await browser.click("document.querySelector('nav a[href=\"#timeline\"]:not([hidden])')")
        return (page, browser)
    }

    private static let three = [#"{"add":{"name":"pears"}}"#, #"{"count":{"name":"pears","by":4}}"#, #"{"setGoal":{"to":20}}"#]

    @Test(.timeLimit(.minutes(3)))
    func `A person scrubs to the first, a middle and the newest turn, and sees their states`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        for (turn, goal, pears) in [(1, "10", nil), (3, "10", "4"), (4, "20", "4")] as [(Int, String, String?)] {
            _ = try await browser.value(
                "(() => { const r = document.querySelector('main input[type=range]'); r.value = \(turn); r.oninput(); })()")
            try await eventually("turn \(turn) is chosen") { try await browser.value(Self.chosen) as? String == "\(turn)" }
            try await browser.visit("http://\(page.host)/#state/\(turn)")
            try await browser.shows("State after turn \(turn)", in: "main h2")
            try await browser.shows("goal: \(goal)", in: "main .tree")
            try await browser.click("[...document.querySelectorAll('main summary')].find(s => s.textContent.startsWith('counts'))")
            try await browser.shows(pears.map { "pears: \($0)" } ?? "nothing in it", in: "main .tree")
            try await browser.visit("http://\(page.host)/#timeline")
            try await eventually("turn \(turn) is still chosen") { try await browser.value(Self.chosen) as? String == "\(turn)" }
        }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A turn shows its message, what it changed and where it came from`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        try await browser.visit("http://\(page.host)/#turn/3")
        try await browser.shows("pears", in: "main")
        try await browser.shows("state.counts.pears", in: "main .changes")
        try await browser.shows("→ 4", in: "main .changes")
        try await browser.shows("← client", in: "main")
        try await browser.press("ArrowRight", code: 39)
        try await browser.shows("Turn 4", in: "main h2")
        try await browser.shows("state.goal", in: "main .changes")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }
}
