import Foundation
import ProcessSupport
import Testing

/// A person before the page, in a browser that is one.
@Suite(.serialized, .enabled("there is no Chromium: no browser shows the page") { Browser.program != nil })
struct BrowserTests {
    private func button(_ label: String, _ number: Int = 0) -> String {
        "[...document.querySelectorAll('main button')].filter(b => b.textContent === '\(label)')[\(number)]"
    }

    private func field(_ label: String) -> String {
        "[...document.querySelectorAll('main label')].find(l => l.textContent === '\(label)')?.querySelector('input')"
    }

    /// Waits until what was drawn last is old enough to be pressed.
    private func settle() async throws { try await Task.sleep(for: .milliseconds(450)) }

    @Test(.timeLimit(.minutes(3)))
    func `A person types a name, presses its button and sees the count change`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.shows("Tally", in: "#title")
        #expect(try await browser.value("location.hash") as? String == "#live", "the token is in no address any more")
        #expect(try await browser.value("document.cookie") as? String == "")
        try await browser.click(field("Add"))
        try await browser.type("pears")
        try await browser.press("Enter", code: 13)
        try await browser.shows("pears", in: "main table")
        try await browser.shows("applied in turn", in: "#answer")
        try await settle()
        try await browser.click(button("+1"))
        try await browser.shows("1 of 10", in: "main")
        // What another has changed is seen, too.
        _ = try await page.command("send", #"{"count":{"name":"pears","by":4}}"#)
        try await browser.shows("5 of 10", in: "main")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        let foreign = browser.requests.filter { !$0.hasPrefix("http://\(page.host)/") && !$0.hasPrefix("ws://\(page.host)/") }
        #expect(foreign.isEmpty, "\(foreign)")
        #expect(try await !browser.screenshot().isEmpty)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Text that is markup is text`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(width: 360, in: page.scratch)
        let markup = "<img src=x onerror=stop()>"
        let input = try JSONSerialization.data(withJSONObject: ["add": ["name": markup]])
        _ = try await page.command("send", String(decoding: input, as: UTF8.self))
        try await browser.visit(page.address)
        try await browser.shows("<img src=x", in: "main table")
        #expect(try await browser.value("document.querySelectorAll('main img, main script').length") as? Int == 0)
        #expect(try await browser.value("document.title") as? String == "Tally")
        #expect(try await browser.value("document.documentElement.scrollWidth <= 360") as? Bool == true, "it fits 360 pixels")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A button that has just moved is not pressed for the one that stood there`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        for name in ["a", "b"] { _ = try await page.command("send", #"{"add":{"name":"\#(name)"}}"#) }
        try await browser.visit(page.address)
        try await browser.shows("b", in: "main table")
        try await settle()
        // The row of a goes, and that of b is under the mouse.
        _ = try await browser.value(
            """
            (() => { const seen = new MutationObserver(() => {
              if (document.querySelectorAll('main tbody tr').length !== 1) return;
              seen.disconnect(); document.querySelector('main tbody button').click(); });
            seen.observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true }); return true; })()
            """)
        _ = try await page.command("send", #"{"remove":{"name":"a"}}"#)
        try await browser.shows("has just come to this place", in: "#answer")
        try await browser.shows("b", in: "main table")
    }

    @Test(.timeLimit(.minutes(3)))
    func `What has the focus, and what is typed, stay with their control, and go with it`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        for name in ["a", "b"] { _ = try await page.command("send", #"{"add":{"name":"\#(name)"}}"#) }
        try await browser.visit(page.address)
        try await browser.shows("b", in: "main table")
        try await browser.click(field("Goal"))
        try await browser.press("End", code: 35)
        try await browser.type("7")
        // A field that is left, and whose value another changes, keeps what was typed.
        _ = try await browser.value("document.activeElement.blur()")
        _ = try await page.command("send", #"{"setGoal":{"to":50}}"#)
        try await browser.shows("of 50", in: "main")
        #expect(try await browser.value("\(field("Goal")).value") as? String == "107")
        // The focus is at a button of a row that goes: it does not come to that of the next row.
        _ = try await browser.value("document.querySelector('main tbody button').focus()")
        _ = try await page.command("send", #"{"remove":{"name":"a"}}"#)
        try await eventually("the row is gone") {
            try await browser.value("document.querySelectorAll('main tbody tr').length") as? Int == 1
        }
        #expect(try await browser.value("document.activeElement.id") as? String == "main")
        // And that at one that moves goes with it.
        let removal = "document.querySelector('main tbody tr:last-child button:last-of-type')"
        _ = try await browser.value("\(removal).focus()")
        let key = try await browser.value("document.activeElement.dataset.key") as? String
        _ = try await page.command("send", #"{"add":{"name":"aa"}}"#)
        try await browser.shows("aa", in: "main table")
        #expect(try await browser.value("document.activeElement.dataset.key") as? String == key)
        // The row that came has moved the field, too.
        try await settle()
        try await browser.click(field("Goal"))
        try await browser.press("Enter", code: 13)
        try await browser.shows("of 107", in: "main")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A store and a server that die are missed, and found again`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        page.store.send(SIGKILL)
        try await browser.shows("No sign of the store", in: "#banner")
        let store = try Child(Executable.tally, ["store", "--data", page.data], in: page.scratch)
        try await eventually("the store is back: \(store.errors)") {
            try await browser.value("document.querySelector('#banner').hidden") as? Bool == true
        }
        page.page.send(SIGKILL)
        try await browser.shows("server does not answer", in: "#banner")
        let again = try Child(Executable.tally, ["web", "--data", page.data, "--port", "\(page.port)"], in: page.scratch)
        // It has the token still, but this browser has not.
        try await browser.shows("which has the token", in: "#banner")
        // In the same tab, where it differs from what is shown by its fragment alone.
        try await browser.visit(page.address)
        try await eventually("the token is taken, and the store is shown again") {
            let state = "location.hash + ' ' + document.querySelector('#banner')?.hidden"
            return try await browser.value(state) as? String == "#live true"
        }
        try await browser.shows("Change", in: "main")
        #expect(again.end == nil, "\(again.errors)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `Each page is reached by its link, and says what the store says`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        for (name, text) in [("overview", "fdatasync"), ("effects", "0 open"), ("workers", "queues"), ("live", "Change")] {
            try await browser.click("document.querySelector('nav a[href=\"#\(name)\"]')")
            try await browser.shows(text, in: "main")
            #expect(try await browser.value("document.querySelector('nav a[aria-current]').hash") as? String == "#\(name)")
        }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    /// The numbers of the path of a line of a chart.
    private func points(_ browser: Browser, chart: Int, line: Int) async throws -> Int {
        let path = "document.querySelectorAll('main figure')[\(chart)]?.querySelectorAll('path')[\(line)]"
        return try await browser.value("\(path)?.getAttribute('d').split(/[ML]/).length - 1") as? Int ?? 0
    }

    @Test(.timeLimit(.minutes(3)))
    func `The Overview draws rates and times as they come, and says where the store keeps what it knows`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(width: 360, in: page.scratch)
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        try await browser.click("document.querySelector('nav a[href=\"#overview\"]')")
        try await browser.shows("fdatasync", in: "main .storage")
        _ = try await page.command("send", #"{"add":{"name":"tea"}}"#)
        // Rates have a point each second, times from the first commit on.
        try await eventually("three seconds are drawn") {
            let turns = try await points(browser, chart: 0, line: 0)
            let commits = try await points(browser, chart: 1, line: 0)
            return turns >= 3 && commits >= 1
        }
        let height = "document.querySelectorAll('main figure')[0]?.querySelector('path')?.getBBox().height"
        try await eventually("the line rises with the turn") { try await browser.value(height) as? Double ?? 0 > 10 }
        let stroke = "(e => e && getComputedStyle(e).stroke)(document.querySelector('path.line0'))"
        try await eventually("the line has a colour") {
            try await browser.value(stroke) as? String ?? "none" != "none"
        }
        try await browser.shows("KiB", in: "main .storage")
        try await browser.shows("free on the disk", in: "main .storage")
        try await eventually("the disk is told of") {
            try await browser.text(of: "main .storage").contains(/free on the disk\s+[0-9.]+ [GTM]iB/)
        }
        #expect(try await browser.value("document.documentElement.scrollWidth <= 360") as? Bool == true, "it fits 360 pixels")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A value that comes where there was none takes the place of the word for none`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        try await browser.click("document.querySelector('nav a[href=\"#overview\"]')")
        try await browser.shows("All that the store says", in: "main")
        let names = "[...document.querySelectorAll('main .status > dl > dt')]"
        let cell = "\(names).find(name => name.textContent === 'paused')?.nextElementSibling"
        // A status that came too late takes the place of the list for a moment.
        try await eventually("nothing is paused") { try await browser.value("\(cell)?.textContent") as? String == "none" }
        _ = try await page.command("queues", "--pause", "--queue", "mail")
        try await eventually("the pause is shown, and nothing beside it") {
            let isShown = "\(cell)?.children.length === 1 && \(cell)?.firstChild?.textContent.startsWith('1 value')"
            return try await browser.value(isShown) as? Bool == true
        }
        _ = try await page.command("queues", "--resume", "--queue", "mail")
        try await eventually("it is gone") { try await browser.value("\(cell)?.textContent") as? String == "none" }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `An effect is opened by its link, and shows its attempts`() async throws {
        let page = try await ServedPage(Executable.counter, tool: Executable.samovar)
        let browser = try await Browser(in: page.scratch)
        let sent = try Child(Executable.counter, ["send", "incrementAsync", "--data", page.data], in: page.scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await browser.visit(page.address)
        try await browser.shows("turn", in: "#turn")
        try await browser.click("document.querySelector('nav a[href=\"#effects\"]')")
        try await browser.click("document.querySelector('main td a')")
        try await browser.shows(": open", in: "main h2")
        try await browser.shows("0 attempts since", in: "main .attempts")
        let worker = try Child(Executable.counter, ["worker", "--data", page.data], in: page.scratch)
        try await browser.shows(": closed", in: "main h2")
        try await browser.shows("1 attempt since", in: "main .attempts")
        try await browser.shows("answered", in: "main .attempts tbody")
        worker.send(SIGTERM)
        try await browser.click("document.querySelector('main a[href=\"#effects\"]')")
        try await browser.shows("0 open", in: "main")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A second press on “drop” does not drop the effect that has moved up`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        // A store with three dead effects, which drops what it is told to.
        _ = try await browser.value(
            """
            (() => { const old = window.fetch; let dead = ['1/0', '2/0', '3/0']; window.dropped = [];
              const json = (value) => Promise.resolve(new Response(JSON.stringify(value)));
              window.fetch = (url, options) => {
                if (String(url).endsWith('/effects')) return json({ openCount: 0, open: [], deadCount: dead.length,
                  dead: dead.map((effect) => ({ effect })) });
                if (!String(url).endsWith('/drop')) return old(url, options);
                const { effect } = JSON.parse(options.body);
                window.dropped.push(effect); dead = dead.filter((one) => one !== effect);
                return json({ dropped: [effect] }); }; })()
            """)
        try await browser.click("document.querySelector('nav a[href=\"#effects\"]')")
        try await browser.shows("3 dead", in: "main .dead")
        try await settle()
        _ = try await browser.value(
            """
            (async () => { const drop = () => [...document.querySelectorAll('main .dead button')]
                .find((one) => one.textContent === 'drop').click();
              const isDrawn = new Promise((go) => { const seen = new MutationObserver(() => {
                if (!document.querySelector('main .dead h2')?.textContent.startsWith('2')) return;
                seen.disconnect(); drop(); go(); });
              seen.observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true }); });
              drop();
              await isDrawn; await new Promise((go) => setTimeout(go, 200)); })()
            """)
        #expect(try await browser.value("window.dropped.join(' ')") as? String == "1/0")
        try await settle()
        try await browser.click("[...document.querySelectorAll('main .dead button')].find(one => one.textContent === 'drop')")
        try await browser.shows("1 dead", in: "main .dead")
        #expect(try await browser.value("window.dropped.join(' ')") as? String == "1/0 2/0")
    }

    @Test(.timeLimit(.minutes(3)))
    func `Without the token there is nothing to be seen`() async throws {
        let page = try await ServedPage()
        let browser = try await Browser(in: page.scratch)
        try await browser.visit("http://\(page.host)/")
        try await browser.shows("which has the token", in: "main")
        #expect(try await !browser.text().contains("Change"))
    }
}
