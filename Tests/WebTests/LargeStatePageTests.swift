import Foundation
import ProcessSupport
import Testing

/// A state of 100 MB, in a browser.
@Suite(.serialized, .enabled("there is no Chromium: no browser shows the page") { Browser.program != nil })
struct LargeStatePageTests {
    /// Of the state, as it is encoded.
    private static let megabytes = 100
    /// The explorer may have 150 MiB, and two states.
    private static let kibibytes = 150 << 10 + 2 * megabytes * 1_000_000 >> 10

    /// The most memory that a process has had.
    private func peak(_ process: ProcessTable.Entry) throws -> Int {
        let status = try #require(FileManager.default.contents(atPath: "/proc/\(process.id)/status"))
        let line = String(decoding: status, as: UTF8.self).firstMatch(of: /VmHWM:\s+([0-9]+) kB/)
        return try #require(line.flatMap { Int($0.1) })
    }

    @Test(.timeLimit(.minutes(5)))
    func `A state of 100 MB is opened part by part, compared with the one before, and its explorer stays small`() async throws {
        let page = try await ServedPage(Executable.trapProgram, storeVariables: ["SAMOVAR_STORE_SNAPSHOT_TURNS": "5"])
        let inputs = [
            #"{"add":{"amount":7}}"#, #"{"grow":{"name":"part","parts":10000,"bytes":5000}}"#,
            #"{"grow":{"name":"long","parts":1,"bytes":50000000}}"#, #"{"grow":{"name":"small","parts":1,"bytes":3}}"#,
        ]
        for input in inputs { _ = try await page.command("send", input) }
        let browser = try await Browser(in: page.scratch)
        try await browser.visit(page.address)
        try await browser.click("document.querySelector('nav a[href=\"#timeline\"]:not([hidden])')")
        try await browser.shows("small", in: "main .turns")
        let turn = try #require(
            try await browser.value(
                "[...document.querySelectorAll('main .turns tr')].find(r => r.textContent.includes('small')).querySelector('a').textContent"
            ) as? String)
        // What one turn adds to it is all that is told.
        try await browser.visit("http://\(page.host)/#turn/\(turn)")
        try await browser.shows("state.parts.small0", in: "main .changes")
        try await browser.shows("→ xxx", in: "main .changes")
        #expect(try await browser.text(of: "main .changes").count < 200)
        // What made it large is told, and cut.
        try await browser.visit("http://\(page.host)/#turn/\(try #require(Int(turn)) - 1)")
        try await browser.shows("(cut: it has 50000005 bytes)", in: "main .changes")
        #expect(try await browser.text(of: "main .changes").count < 100_000)
        // A level of it has so many parts and no more, and none is longer than a line.
        try await browser.visit("http://\(page.host)/#state/\(turn)")
        try await browser.click("[...document.querySelectorAll('main summary')].find(s => s.textContent.startsWith('parts'))")
        try await browser.shows("long0: \"xxx", in: "main .tree")
        try await browser.shows("part0: \"xxx", in: "main .tree")
        #expect(try await browser.text(of: "main .tree").count < 500 * 300)
        let explorer = try #require(ProcessTable.all(naming: page.scratch.path).first { $0.command == "explore" })
        let peak = try peak(explorer)
        #expect(peak <= Self.kibibytes, "\(peak) KiB are more than \(Self.kibibytes)")
        // The page of now is as quick as ever.
        try await browser.visit("http://\(page.host)/#live")
        try await browser.shows("7", in: "main")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
        // And its snapshot is one like any other. It is waited for: one that a stop makes is given up after two seconds.
        _ = try await page.command("send", #"{"add":{"amount":1}}"#)
        try await eventually("there is a snapshot: \(page.store.errors)", within: .seconds(120)) {
            try self.snapshots(in: page.data).contains { $0 > Self.megabytes * 1_000_000 }
        }
        page.store.send(SIGTERM)
        #expect(try await page.store.wait() == .exited(0), "\(page.store.errors)")
        #expect(!page.store.errors.contains("no snapshot"), "\(page.store.errors)")
    }

    /// Their sizes; a draft is none.
    private func snapshots(in data: String) throws -> [Int] {
        let folder = data + "/snapshots"
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasSuffix(".new") }.map {
            try FileManager.default.attributesOfItem(atPath: "\(folder)/\($0)")[.size] as? Int ?? 0
        }
    }
}
