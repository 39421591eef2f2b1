import Foundation
import ProcessSupport
import Testing

/// An open page whose store, server or explorer is in trouble.
@Suite(.serialized, .enabled("there is no Chromium: no browser shows the page") { Browser.program != nil })
struct TroubledPageTests {
    private static let timelineLink = "document.querySelector('nav a[href=\"#timeline\"]:not([hidden])')"

    private func add(_ name: String) -> String { #"{"add":{"name":"\#(name)"}}"# }

    private func isQuiet(_ browser: Browser) async throws -> Bool {
        try await browser.value("document.querySelector('#banner').hidden") as? Bool == true
    }

    @Test(
        .timeLimit(.minutes(3)),
        .enabled("small file systems are mounted for it, which needs root and Linux") { SmallDisk.isAvailable })
    func `A full disk is said, its timeline and states are shown all the same, and both go on when there is room`() async throws {
        let scratch = try Scratch()
        let disk = try SmallDisk(at: scratch.folder("disk"), megabytes: 32)
        // That of the explorer's own folder is full from the beginning.
        let cache = try SmallDisk(at: scratch.folder("cache"), megabytes: 1)
        try cache.fill()
        let page = try await ServedPage(in: scratch, data: disk.path + "/data", variables: ["TMPDIR": cache.path])
        _ = try await page.command("send", add("pears"))
        let browser = try await Browser(in: scratch)
        try await browser.visit(page.address)
        try await browser.click(Self.timelineLink)
        try await browser.shows("pears", in: "main .turns")
        try await eventually("the server is heard") { try await isQuiet(browser) }

        try disk.fill()
        try await eventually("the page says that the disk is full") {
            _ = try await page.command("send", #"{"count":{"name":"pears","by":1}}"#, "--timeout", "1s")
            return try await browser.text(of: "#banner").contains("The disk of the store is full")
        }
        try await browser.visit("http://\(page.host)/#turn/2")
        try await browser.shows("state.counts", in: "main .changes")
        try await browser.visit("http://\(page.host)/#state/2")
        try await browser.shows("goal: 10", in: "main .tree")
        try await browser.visit("http://\(page.host)/#timeline")
        try await browser.shows("pears", in: "main .turns")
        #expect(try await !isQuiet(browser))

        try disk.free()
        try await eventually("there is room") { try await isQuiet(browser) }
        _ = try await page.command("send", add("figs"))
        try await browser.shows("figs", in: "main .turns")
        #expect(page.store.end == nil && page.page.end == nil, "\(page.page.errors)")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A folder for temporary files that cannot be written to keeps nobody from the past`() async throws {
        let scratch = try Scratch()
        let page = try await ServedPage(in: scratch, variables: ["TMPDIR": "/proc/none"])
        _ = try await page.command("send", add("pears"))
        let browser = try await Browser(in: scratch)
        try await browser.visit(page.address)
        try await browser.click(Self.timelineLink)
        try await browser.shows("pears", in: "main .turns")
        try await browser.visit("http://\(page.host)/#state/2")
        try await browser.shows("goal: 10", in: "main .tree")
        #expect(page.page.errors.contains("no state is kept"), "\(page.page.errors)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A page whose journal is another store's says so, and what a person types there stays`() async throws {
        let scratch = try Scratch()
        let endpoint = "ipc://" + scratch.folder("sockets")
        let other = try Child(
            Executable.tally, ["store", "--data", scratch.folder("other"), "--endpoint", endpoint], in: scratch)
        try await eventually("the other store serves: \(other.errors)") { other.errors.contains("serving") }
        let page = try await ServedPage(in: scratch, doors: ([], ["--endpoint", endpoint]), storeIsDown: true)
        let browser = try await Browser(in: scratch)
        try await browser.visit(page.address)
        try await browser.click(Self.timelineLink)
        try await browser.shows("the journal is of another timeline than what the store shows", in: "main .list")
        let field = "document.querySelector('main input[type=search]').value"
        _ = try await browser.value("\(field) = 'tea'")
        // Each view is a message, with which a page is drawn.
        for name in ["pears", "figs", "plums"] {
            let turn = try await browser.text(of: "#turn")
            let sent = try Child(Executable.tally, ["send", add(name), "--endpoint", endpoint], in: scratch)
            #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
            try await eventually("a newer view is there") { try await browser.text(of: "#turn") != turn }
            try await browser.shows("the journal is of another timeline", in: "main .list")
        }
        #expect(try await browser.value(field) as? String == "tea")
        #expect(other.end == nil && page.page.end == nil, "\(page.page.errors)")
        other.send(SIGTERM)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A timeline that is open outlives its explorer, its store and its server`() async throws {
        let page = try await ServedPage()
        _ = try await page.command("send", add("pears"))
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.click(Self.timelineLink)
        try await browser.shows("pears", in: "main .turns")

        let explorer = try #require(ProcessTable.all(naming: page.scratch.path).first { $0.command == "explore" })
        explorer.send(SIGKILL)
        _ = try await page.command("send", add("figs"))
        try await browser.shows("figs", in: "main .turns")

        page.store.send(SIGKILL)
        try await browser.shows("No sign of the store", in: "#banner")
        try await browser.shows("figs", in: "main .turns")
        let store = try Child(Executable.tally, ["store", "--data", page.data], in: page.scratch)
        try await eventually("the store is back: \(store.errors)") { try await isQuiet(browser) }
        _ = try await page.command("send", add("plums"))
        try await browser.shows("plums", in: "main .turns")

        page.page.send(SIGKILL)
        try await browser.shows("server does not answer", in: "#banner")
        try await browser.shows("plums", in: "main .turns")
        let again = try Child(Executable.tally, ["web", "--data", page.data, "--port", "\(page.port)"], in: page.scratch)
        try await browser.shows("which has the token", in: "#banner")
        try await browser.visit("about:blank")
        try await browser.visit(page.address)
        try await browser.click(Self.timelineLink)
        try await browser.shows("plums", in: "main .turns")
        #expect(again.end == nil && store.end == nil, "\(again.errors)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A viewer who asks for a state is told that it is not for viewers, and sees none`() async throws {
        let scratch = try Scratch()
        let (keys, key) = (scratch.folder("keys"), scratch.folder("viewer.key"))
        let made = try Child(
            Executable.tally, ["keys", "new", "viewer", "--role", "viewer", "--out", key, "--keys", keys], in: scratch)
        #expect(try await made.wait() == .exited(0), "\(made.errors)")
        let address = "tcp://127.0.0.1:\(try Ports.free())"
        let page = try await ServedPage(
            in: scratch, doors: (["--endpoint", address, "--keys", keys], ["--endpoint", address, "--key", key]))
        // A page that asks before is told so, and does not ask again by itself.
        try await eventually("it is known what the key is for") {
            try page.ask("/api/v1/turns", ["Cookie: \(page.cookie)"]).status == 403
        }
        let browser = try await Browser(in: scratch)
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        let isHidden = try await browser.value("document.querySelector('nav a[href=\"#timeline\"]').closest('[hidden]') !== null")
        #expect(isHidden as? Bool == true)
        for hash in ["state/1", "turn/2", "timeline"] {
            try await browser.visit("http://\(page.host)/#\(hash)")
            try await browser.shows("the past is for operators alone", in: "main")
            #expect(try await !browser.text(of: "main").contains("goal"), "\(hash)")
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `No page breaks the policy that it is served with, and one that did would be seen to`() async throws {
        let page = try await ServedPage()
        _ = try await page.command("send", add("<img src=x onerror=stop()>"))
        let browser = try await Browser(in: page.scratch)
        let listener =
            "window.broken = []; addEventListener('securitypolicyviolation', e => window.broken.push(e.violatedDirective + ' ' + e.blockedURI))"
        try await browser.ask("Page.addScriptToEvaluateOnNewDocument", ["source": listener])
        try await browser.visit(page.address)
        try await browser.shows("Change", in: "main")
        for (hash, text) in [
            ("overview", "fdatasync"), ("timeline", "add"), ("turn/2", "state.counts"), ("state/2", "goal"), ("effects", "0 open"),
            ("effects/2/0", "Effect 2/0"), ("workers", "queues"), ("live", "Change"),
        ] {
            _ = try await browser.value("location.hash = '#\(hash)'")
            try await browser.shows(text, in: "main")
            #expect(try await browser.value("window.broken.join()") as? String == "", "\(hash)")
        }
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        _ = try await browser.value("document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:1/' }))")
        try await eventually("what is forbidden is seen") {
            (try await browser.value("window.broken.join()") as? String ?? "").contains("img-src")
        }
        try await eventually("it is told on the console") { try await browser.value("1") != nil && !browser.complaints.isEmpty }
    }
}
