import Foundation
import ProcessSupport
import Testing

/// The past of a store, in a browser.
@Suite(.serialized, .enabled("there is no Chromium: no browser shows the page") { Browser.program != nil })
struct TimelineTests {
    /// A row of the timeline that is chosen.
    private static let chosen = "document.querySelector('main tr[aria-selected] a')?.textContent ?? ''"

    /// A page at its timeline, of a store that has counted `turns` times.
    private func timeline(
        _ inputs: [String] = [], width: Int = 1_000, of program: String = Executable.tally, variables: [String: String] = [:]
    ) async throws -> (ServedPage, Browser) {
        let page = try await ServedPage(program, variables: variables)
        for input in inputs { _ = try await page.command("send", input) }
        let browser = try await Browser(width: width, in: page.scratch)
        try await browser.visit(page.address)
        try await browser.click("document.querySelector('nav a[href=\"#timeline\"]:not([hidden])')")
        return (page, browser)
    }

    private static let three = [#"{"add":{"name":"pears"}}"#, #"{"count":{"name":"pears","by":4}}"#, #"{"setGoal":{"to":20}}"#]

    @Test(.timeLimit(.minutes(3)))
    func `Enter on a link opens the link, and not the turn that is chosen`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        try await browser.press("Home", code: 36)
        try await eventually("one is chosen") { try await browser.value(Self.chosen) as? String != "" }
        // What its default is not kept from opens the link.
        let isOpened = try await browser.value(
            """
            document.querySelector('nav a[href="#effects"]')
              .dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
            """)
        #expect(isOpened as? Bool == true)
        #expect(try await browser.value("location.hash") as? String == "#timeline")
        #expect(page.store.end == nil)
    }

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

    /// Has the page keep each question whose address has this in it until `letGo()`, and remember it in `asked`.
    private static func held(_ part: String) -> String {
        """
        (() => { const answer = window.fetch, go = new Promise((resolve) => (window.letGo = resolve)); window.asked = [];
        window.fetch = async (address, options) => {
          if (!address.includes('\(part)')) return answer(address, options);
          window.asked.push({ address, signal: options?.signal });
          await go;
          return answer(address, options);
        }; })()
        """
    }

    @Test(.timeLimit(.minutes(3)))
    func `While a person scrubs one question is out, and then the turn is shown at which the scrubber stands`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        _ = try await browser.value(Self.held("/turns?"))
        let asked = try await browser.value(
            """
            (() => { const r = document.querySelector('main input[type=range]');
            for (let i = 0; i < 50; i++) { r.value = i % 4 + 1; r.oninput(); } return window.asked.length; })()
            """)
        // None, if the one for the newest turns is still out.
        #expect(try #require(asked as? Int) <= 1)
        _ = try await browser.value("window.letGo()")
        try await eventually("turn 2 is chosen") { try await browser.value(Self.chosen) as? String == "2" }
        #expect(try #require(try await browser.value("window.asked.length") as? Int) <= 2)
        #expect(page.page.end == nil)
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

    @Test(.timeLimit(.minutes(3)))
    func `An effect that a turn has ordered shows its attempts, and leads to its page`() async throws {
        let (page, browser) = try await timeline(of: Executable.trapProgram)
        let worker = try Child(Executable.trapProgram, ["worker", "--data", page.data], in: page.scratch)
        let sent = try await page.command("send", #"{"work":{"name":"tea"}}"#, "--wait", "settled")
        let turn = try #require(sent.firstMatch(of: /"turn":(\d+)/)?.1, "\(sent)")
        try await browser.visit("http://\(page.host)/#turn/\(turn)")
        try await browser.shows("effect \(turn)/0: closed; answered by", in: "main .order .attempts")
        try await browser.click("document.querySelector('main .order a')")
        try await browser.shows("Effect \(turn)/0: closed", in: "main h2")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        worker.send(SIGTERM)
    }

    /// The processes that compute the past for a page.
    private func explorers(_ page: ServedPage) -> [ProcessTable.Entry] {
        ProcessTable.all(naming: page.scratch.path).filter { $0.command == "explore" }
    }

    @Test(.timeLimit(.minutes(3)))
    func `The keyboard goes through the turns, opens one, and comes back`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        let newest = try #require(try await browser.value("document.querySelector('main .turns a').textContent") as? String)
        for (key, code, turn) in [
            ("Home", 36, newest), ("ArrowDown", 40, "\(try #require(Int(newest)) - 1)"), ("ArrowUp", 38, newest), ("End", 35, "1"),
            ("k", 75, "2"), ("j", 74, "1"), ("k", 75, "2"),
        ] {
            try await browser.press(key, code: code)
            try await eventually("\(key) leads to \(turn)") { try await browser.value(Self.chosen) as? String == turn }
        }
        try await browser.press("Enter", code: 13)
        try await browser.shows("Turn 2", in: "main h2")
        try await browser.press("ArrowLeft", code: 37)
        try await browser.shows("Turn 1", in: "main h2")
        _ = try await browser.value("history.back()")
        _ = try await browser.value("history.back()")
        try await eventually("turn 2 is still chosen") { try await browser.value(Self.chosen) as? String == "2" }
        #expect(page.page.end == nil)
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `At the oldest turn nothing older is offered`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        try await browser.press("End", code: 35)
        try await eventually("End leads to 1") { try await browser.value(Self.chosen) as? String == "1" }
        let older = "[...document.querySelectorAll('main button')].find(b => b.textContent === 'older').disabled"
        #expect(try await browser.value(older) as? Bool == true)
        #expect(page.page.end == nil)
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `Where no turn is found nothing newer is offered`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        _ = try await browser.value(
            """
            (() => { const i = [...document.querySelectorAll('main .filters label')].find(l => l.textContent.startsWith('text'))
            .querySelector('input'); i.value = 'nothing has this'; i.form.requestSubmit(); })()
            """)
        try await browser.shows("No such turn.", in: "main .list")
        let newer = "[...document.querySelectorAll('main button')].find(b => b.textContent === 'newer').disabled"
        #expect(try await browser.value(newer) as? Bool == true)
        #expect(page.page.end == nil)
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `Turns are found by kind, origin, chain and text`() async throws {
        let (page, browser) = try await timeline(Self.three + [#"{"add":{"name":"pears"}}"#, #"{"add":{"name":"figs"}}"#])
        try await browser.shows("figs", in: "main .turns")
        let turns = "[...document.querySelectorAll('main .turns a')].map(a => a.textContent).join()"
        let all = try #require(try await browser.value(turns) as? String)
        func choose(_ name: String, _ value: String) async throws {
            _ = try await browser.value(
                """
                (() => { const i = [...document.querySelectorAll('main .filters label')].find(l => l.textContent.startsWith('\(name)'))
                .querySelector('input, select'); i.value = '\(value)'; i.form.requestSubmit(); })()
                """)
        }
        for (name, value, found) in [
            ("kind", "refused", "5"), ("text", "FIGS", "6,7"), ("root", "3", "3"), ("origin", "store", "1"),
        ] {
            try await choose(name, value)
            try await eventually("\(name) \(value): \(found)") {
                let rows = try await browser.value(turns) as? String ?? ""
                // The end of a session may have a turn of its own.
                return name == "text" ? rows.contains("figs") || !rows.isEmpty && rows != all : rows == found
            }
            try await choose(name, "")
            try await eventually("all are there again") { (try await browser.value(turns) as? String ?? "").hasSuffix(all) }
        }
        #expect(page.page.end == nil)
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A text is looked for with its spaces and its plus`() async throws {
        let (page, browser) = try await timeline([#"{"add":{"name":"green tea"}}"#, #"{"add":{"name":"a+b c"}}"#])
        try await browser.shows("a+b c", in: "main .turns")
        for (text, found, other) in [("green tea", "green tea", "a+b c"), ("a+b c", "a+b c", "green tea")] {
            _ = try await browser.value(
                """
                (() => { const i = [...document.querySelectorAll('main .filters label')].find(l => l.textContent.startsWith('text'))
                .querySelector('input'); i.value = '\(text)'; i.form.requestSubmit(); })()
                """)
            try await eventually("'\(text)' is found alone") {
                let rows = try await browser.text(of: "main .turns")
                return rows.contains(found) && !rows.contains(other)
            }
        }
        #expect(page.page.end == nil)
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `Text of the past that is markup is text, and fits a telephone`() async throws {
        let markup = "<img src=x onerror=stop()>"
        let input = try JSONSerialization.data(withJSONObject: ["add": ["name": markup]])
        let (page, browser) = try await timeline([String(decoding: input, as: UTF8.self)], width: 360)
        try await browser.shows("<img src=x", in: "main .turns")
        try await browser.visit("http://\(page.host)/#turn/2")
        try await browser.shows("<img src=x", in: "main .changes")
        try await browser.visit("http://\(page.host)/#state/2")
        try await browser.click("[...document.querySelectorAll('main summary')].find(s => s.textContent.startsWith('counts'))")
        try await browser.shows("<img src=x", in: "main .tree")
        for hash in ["#timeline", "#turn/2", "#state/2"] {
            try await browser.visit("http://\(page.host)/\(hash)")
            try await eventually("it is drawn") { try await browser.text(of: "main").count > 40 }
            #expect(try await browser.value("document.querySelectorAll('main img, main script').length") as? Int == 0)
            #expect(try await browser.value("document.documentElement.scrollWidth <= 360") as? Bool == true, "\(hash) fits")
        }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `An explorer that is killed comes back, and nothing is left of either`() async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        let first = try #require(explorers(page).first)
        first.send(SIGKILL)
        try await browser.visit("http://\(page.host)/#state/4")
        try await browser.shows("goal: 20", in: "main .tree")
        #expect(explorers(page).map(\.id) != [first.id])
        page.page.send(SIGTERM)
        #expect(try await page.page.wait() == .exited(0), "\(page.page.errors)")
        try await eventually("it has ended") { explorers(page).isEmpty }
    }

    @Test(.timeLimit(.minutes(3)), arguments: [("TRAP_AT_13", "trapped"), ("HANG_AT_13", "did not end")])
    func `A turn whose update ends no more, or ends the process, is named, and all else is shown`(
        variable: String, words: String
    ) async throws {
        let inputs = [7, 13, 5].map { #"{"add":{"amount":\#($0)}}"# }
        let (page, browser) = try await timeline(inputs, of: Executable.trapProgram, variables: [variable: "1"])
        try await browser.shows("amount: 13", in: "main .turns")
        let turn = try #require(
            try await browser.value(
                "[...document.querySelectorAll('main .turns tr')].find(r => r.textContent.includes('amount: 13')).querySelector('a').textContent"
            ) as? String)
        try await browser.visit("http://\(page.host)/#turn/\(turn)")
        try await browser.shows("turn \(turn): its replay \(words)", in: "main")
        try await browser.shows("amount", in: "main dl")
        // It is known from now on, and what is before it goes on.
        try await browser.visit("http://\(page.host)/#state/\(try #require(Int(turn)) - 1)")
        try await browser.shows("total: 7", in: "main .tree")
        try await browser.visit("http://\(page.host)/#live")
        try await browser.shows("25", in: "main")
        #expect(page.store.end == nil && page.page.end == nil)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A message of a megabyte is a row like any other, and is shown cut`() async throws {
        let page = try await ServedPage(Executable.trapProgram)
        let long = String(repeating: "x", count: 1_000_000)
        let sent = try Child(
            Executable.trapProgram, ["send", "-", "--data", page.data], in: page.scratch,
            input: #"{"work":{"name":"\#(long)"}}"# + "\n")
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.click("document.querySelector('nav a[href=\"#timeline\"]:not([hidden])')")
        try await browser.shows("work", in: "main .turns")
        #expect(try await browser.text(of: "main .turns").count < 2_000)
        try await browser.visit("http://\(page.host)/#turn/2")
        try await browser.shows("(1000000 bytes)", in: "main dl")
        try await browser.shows("effect", in: "main")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)), arguments: [("turn", "Turn 4"), ("state", "State after turn 4")])
    func `With another timeline nothing of the old one is shown any more`(name: String, title: String) async throws {
        let (page, browser) = try await timeline(Self.three)
        try await browser.shows("setGoal", in: "main .turns")
        try await browser.visit("http://\(page.host)/#\(name)/4")
        try await browser.shows(title, in: "main h2")
        try await browser.shows("goal", in: "main")
        page.store.send(SIGTERM)
        try await page.store.wait()
        let store = try Child(Executable.tally, ["store", "--fresh", "--data", page.data], in: page.scratch)
        try await eventually("the page is at the new timeline: \(store.errors)") {
            let text = try await browser.text(of: "main .turns")
            return text.contains("started") && !text.contains("setGoal")
        }
        #expect(try await browser.value("location.hash") as? String == "#timeline")
        let (status, text) = try page.ask("/api/v1/state?turn=1", ["Cookie: \(page.cookie)"])
        #expect(status == 200 && text.contains("state.goal"), "\(text)")
    }
}
