import Foundation
import ProcessSupport
import Testing

/// Where pictures are wanted.
private let screenshotFolder = ProcessInfo.processInfo.environment["SCREENSHOTS"]

/// Writes the pictures of docs/web.md; `make screenshots` names the folder.
@Suite(.enabled("no folder for pictures is named") { screenshotFolder != nil && Browser.program != nil })
struct ScreenshotTests {
    /// As docs may have.
    private static let largest = 60_000

    @Test(.timeLimit(.minutes(3)))
    func `Each page is a small picture`() async throws {
        let folder = try #require(screenshotFolder)
        let page = try await ServedPage()
        for name in ["tea", "milk", "sugar"] { _ = try await page.command("send", #"{"add":{"name":"\#(name)"}}"#) }
        for (name, step) in [("tea", 3), ("milk", 1), ("tea", -1), ("salt", 1), ("sugar", 2)] {
            _ = try await page.command("send", #"{"count":{"name":"\#(name)","by":\#(step)}}"#)
        }
        let browser = try await Browser(width: 800, in: page.scratch)
        try await browser.ask(
            "Emulation.setDeviceMetricsOverride", ["width": 800, "height": 480, "deviceScaleFactor": 1, "mobile": false])
        try await browser.ask(
            "Emulation.setEmulatedMedia", ["features": [["name": "prefers-color-scheme", "value": "light"]]])
        try await browser.visit(page.address)
        try await browser.shows("tea", in: "main")
        for (name, hash, text) in [
            ("live", "#live", "tea"), ("overview", "#overview", "fdatasync"), ("timeline", "#timeline", "refused"),
            ("turn", "#turn/5", "state.counts.tea"), ("state", "#state/7", "goal"), ("effects", "#effects", "0 open"),
            ("workers", "#workers", "queues"),
        ] {
            try await browser.visit("http://\(page.host)/\(hash)")
            try await browser.shows(text, in: "main")
            if name == "timeline" { try await browser.shows("turn", in: "main .when") }
            if name == "state" { try await browser.click("document.querySelector('main summary')") }
            try await Task.sleep(for: .milliseconds(500))
            let picture = try await browser.screenshot()
            #expect(picture.count <= Self.largest, "\(name) has \(picture.count) bytes")
            try picture.write(to: URL(filePath: folder).appending(path: "web-\(name).png"))
        }
    }
}
