import Foundation
import NIOHTTP1
import ProcessSupport
import Testing

/// The program as processes, with sites on loopback.
@Suite struct UptimeProcessTests {
    private static let program = Executable.path("uptime")

    private let scratch: Scratch
    private let server: LocalServer
    private let up: Child

    init() async throws {
        let scratch = try Scratch()
        self.scratch = scratch
        server = try await LocalServer()
        let sites = try scratch.write(#"{"everySeconds": 1, "sites": ["\#(server.url)/"]}"#, to: "sites.json")
        let up = try Child(
            Self.program, ["up", "--seed", "@\(sites)", "--data", scratch.folder("data")], in: scratch,
            variables: ["UPTIME_ALERT_URL": "\(server.url)/alerts"])
        self.up = up
        try await eventually("the store serves", within: .seconds(30)) { up.errors.contains("serving") }
    }

    private func run(_ arguments: String...) async throws -> Child {
        let child = try Child(Self.program, arguments + ["--data", scratch.folder("data")], in: scratch)
        try await child.wait(within: .seconds(45))
        return child
    }

    private func see(_ text: String, in terminal: PseudoTerminal) async throws {
        do {
            try await eventually("the page shows \(text)", within: .seconds(30)) { terminal.text.contains(text) }
        } catch let error as TimedOut {
            throw TimedOut("\(error)\n\(terminal.text)\n\(up.errors)")
        }
    }

    @Test func `A site goes down and comes back: the page shows it, and an alert has one key in all its attempts`() async throws {
        let page = try PseudoTerminal(
            Self.program, ["monitor", "--data", scratch.folder("data")], columns: 120, rows: 24, in: scratch)
        try await see("200 in ", in: page)
        try await see("no site is down", in: page)
        #expect(server.with { $0.alerts } == [])
        server.with {
            $0.alertsRefused = 1
            $0.status = .serviceUnavailable
        }
        try await see("failed after 3 attempts: answered 503", in: page)
        try await see("1 of 1 down", in: page)
        let alerts =
            try await eventually("the alert is sent again") {
                let alerts = server.with { $0.alerts }
                return alerts.count == 2 ? alerts : nil
            } as [LocalServer.Alert]
        #expect(alerts[0].text == "\(server.url)/ is down")
        #expect(alerts[0].key != nil && alerts[0] == alerts[1])
        server.with { $0.status = .ok }
        try await see("no site is down", in: page)
        try await eventually("it is told that the site is back") { server.with { $0.alerts.last?.text } == "\(server.url)/ is up" }
        #expect(server.with { Set($0.alerts.compactMap(\.key)).count } == 2)
    }

    @Test func `Nobody is asked while it is paused, or more often than it says`() async throws {
        #expect(try await run("send", #"{"pause":{"on":true}}"#, "--wait", "settled").end == .exited(0))
        try await eventually("the probe that was under way is back") {
            try await run("status", "--json").output.contains(#""openEffects":0"#)
        }
        let asked = server.with { $0.probes }
        try await Task.sleep(for: .milliseconds(1_500))
        #expect(server.with { $0.probes } == asked)
        #expect(try await run("send", "check", "--wait", "settled").end == .exited(0))
        #expect(server.with { $0.probes } == asked + 1)
        #expect(try await run("send", #"{"pause":{"on":false}}"#).end == .exited(0))
        try await eventually("it asks again") { server.with { $0.probes } > asked + 1 }
    }

    @Test func `A site that nobody serves is down`() async throws {
        let other = try await LocalServer()
        try await other.close()
        #expect(try await run("send", #"{"add":{"url":"\#(other.url)/"}}"#, "--wait", "settled").end == .exited(0))
        let view = try await run("view", "--format", "text")
        #expect(view.output.contains("1 of 2 down") && view.output.contains("failed after 3 attempts"), "\(view.output)")
        #expect(server.with { $0.alerts.map(\.text) } == ["\(other.url)/ is down"])
    }

    @Test func `What the README says to type prints what it says`() async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: folder.appending(path: "README.md"), encoding: .utf8)
        // A port of its own, and none that the system might give to somebody else meanwhile.
        let port = Int.random(in: 20_000..<30_000)
        let transcript = try #require(
            ShellTranscript(below: "## Without the internet", of: readme.replacing("8099", with: "\(port)")))
        let differences = try await transcript.differences(in: Scratch())
        #expect(differences == [])
    }
}
