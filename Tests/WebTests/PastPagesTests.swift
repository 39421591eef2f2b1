import Foundation
import ProcessSupport
import Testing

/// The pages of the past as their server answers them.
@Suite struct PastPagesTests {
    private func body(_ page: ServedPage, _ path: String) throws -> [String: Any] {
        let (status, text) = try page.ask("/api/v1/" + path, ["Cookie: \(page.cookie)"])
        #expect(status == 200, "\(text)")
        return try Self.body(of: text)
    }

    /// Asks until it is answered: an explorer that is to be started first may take longer than a connection waits.
    private func bodyInTime(_ page: ServedPage, _ path: String) async throws -> [String: Any] {
        try await eventually("\(path) is answered: \(page.page.errors)") {
            let (status, text) = try page.ask("/api/v1/" + path, ["Cookie: \(page.cookie)"])
            return status == 200 ? try Self.body(of: text) : nil
        }
    }

    private static func body(of text: String) throws -> [String: Any] {
        let body = text.components(separatedBy: "\r\n\r\n").dropFirst().joined()
        return try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] ?? [:]
    }

    @Test func `The past of a store that is down is shown by a page that never saw it serve`() async throws {
        let page = try await ServedPage(storeIsDown: true)
        #expect(try body(page, "about")["hasPast"] as? Bool == true)
        #expect(try page.ask("/api/v1/turns/1", ["Cookie: \(page.cookie)"]).status == 200)
    }

    @Test func `Who may only see views is shown no past, and told so with 403`() async throws {
        let scratch = try Scratch()
        let keys = scratch.folder("keys")
        for role in ["viewer", "operator"] {
            let made = try Child(
                Executable.tally, ["keys", "new", role, "--role", role, "--out", scratch.folder("\(role).key"), "--keys", keys],
                in: scratch)
            #expect(try await made.wait() == .exited(0), "\(made.errors)")
        }
        for (role, status) in [("viewer", 403), ("operator", 200)] {
            let address = "tcp://127.0.0.1:\(try Ports.free())"
            let inner = try Scratch()
            let page = try await ServedPage(
                in: inner,
                doors: (
                    ["--endpoint", address, "--keys", keys], ["--endpoint", address, "--key", scratch.folder("\(role).key")]
                ))
            let about = try await eventually("it is known what the key is for") {
                let about = try body(page, "about")
                return try page.ask("/api/v1/turns", ["Cookie: \(page.cookie)"]).status == status ? about : nil
            }
            #expect(about["hasPast"] as? Bool == (status == 200))
            for path in ["turns/1", "turns/1/causes", "state?turn=1", "density"] {
                let answer = try page.ask("/api/v1/\(path)", ["Cookie: \(page.cookie)"])
                #expect(answer.status == status, "\(role) \(path): \(answer.text)")
                #expect(try page.ask("/api/v1/\(path)").status == 401, "without the cookie nobody is asked for a role")
            }
        }
    }

    @Test func `Each answer says of which timeline it is, and up to which turn that is known`() async throws {
        let page = try await ServedPage()
        _ = try await page.command("send", #"{"add":{"name":"pears"}}"#)
        try await eventually("it is known who asks") {
            try page.ask("/api/v1/turns", ["Cookie: \(page.cookie)"]).status == 200
        }
        let turns = try body(page, "turns?count=1")
        let timeline = try #require(turns["timeline"] as? String)
        for path in [
            "turns/2", "turns/2/diff", "turns/2/causes", "state?turn=2&path=state.counts", "density", "turns/99", "state?turn=99",
        ] {
            let answer = try body(page, path)
            #expect(answer["timeline"] as? String == timeline, "\(path): \(answer)")
            #expect(answer["durable"] as? Int ?? 0 >= 2)
            #expect((answer["problem"] != nil) == path.hasSuffix("99"))
        }
        #expect(try body(page, "turns/x")["problem"] as? String == "`turn` is the number of a turn, from 1")
        #expect(try page.ask("/api/v1/turns/1/2", ["Cookie: \(page.cookie)"]).status == 404)
        for turn in ["-9223372036854775808", "0", "9223372036854775808"] {
            #expect(try page.ask("/api/v1/turns/\(turn)/diff", ["Cookie: \(page.cookie)"]).status == 404, "\(turn)")
        }
        #expect(try body(page, "turns/9223372036854775807/diff")["problem"] != nil)
    }

    @Test func `Where no explorer can be started whoever asks is told why, and has an answer when one can`() async throws {
        let scratch = try Scratch()
        let (program, copy) = (scratch.folder("tally"), scratch.folder("copy"))
        // A process copies: what this one had open for writing, a child that another test starts could hold a moment longer,
        // and a program that is open for writing cannot be started.
        #expect(try await Child("cp", [Executable.tally, copy], in: scratch).wait() == .exited(0))
        try FileManager.default.linkItem(atPath: copy, toPath: program)
        let page = try await ServedPage(program, in: scratch)
        _ = try await page.command("send", #"{"add":{"name":"pears"}}"#)
        try FileManager.default.removeItem(atPath: program)
        try await eventually("it is known who asks, and it has an answer") {
            try page.ask("/api/v1/turns/2", ["Cookie: \(page.cookie)"]).status == 200
        }
        let refused = try body(page, "turns/2")
        let problem = try #require(refused["problem"] as? String)
        #expect(problem.hasPrefix("the explorer cannot be started: ") && problem.contains(program), "\(problem)")
        try FileManager.default.linkItem(atPath: copy, toPath: program)
        let answer = try await bodyInTime(page, "turns/2")
        #expect(answer["problem"] == nil, "\(answer)")
    }

    @Test func `A program that was built anew computes the past from the next question on`() async throws {
        let scratch = try Scratch()
        let (program, build) = (scratch.folder("tally"), scratch.folder("build"))
        for file in [program, build] {
            // A process copies, as above.
            #expect(try await Child("cp", [Executable.tally, file], in: scratch).wait() == .exited(0))
        }
        let page = try await ServedPage(program, in: scratch)
        _ = try await page.command("send", #"{"add":{"name":"pears"}}"#)
        try await eventually("it is known who asks, and it has an answer") {
            try page.ask("/api/v1/turns/2", ["Cookie: \(page.cookie)"]).status == 200
        }
        #expect(try await bodyInTime(page, "state?turn=2")["problem"] == nil)
        #expect(!page.page.errors.contains("built anew"), "\(page.page.errors)")
        #expect(rename(build, program) == 0)
        let answer = try await bodyInTime(page, "state?turn=2")
        #expect(answer["problem"] == nil, "\(answer)")
        #expect(page.page.errors.contains("the program was built anew, and that build goes on"), "\(page.page.errors)")
    }

    @Test func `A turn at which a former build trapped is computed by one that does not trap there`() async throws {
        let scratch = try Scratch()
        let (program, build) = (scratch.folder("trapdoor"), scratch.folder("build"))
        let mended = try scratch.write("#!/bin/sh\nunset TRAP_AT_13\nexec '\(Executable.trapProgram)' \"$@\"\n", to: "mended")
        for (from, to) in [(Executable.trapProgram, program), (mended, build)] {
            // A process copies, as above.
            #expect(try await Child("install", ["-m", "755", from, to], in: scratch).wait() == .exited(0))
        }
        let page = try await ServedPage(program, in: scratch, variables: ["TRAP_AT_13": "1"])
        let sent = try await page.command("send", #"{"add":{"amount":13}}"#)
        let turn = try #require(sent.firstMatch(of: /"turn":(\d+)/)?.1, "\(sent)")
        try await eventually("the trap is named: \(page.page.errors)") {
            let problem = try await bodyInTime(page, "state?turn=\(turn)")["problem"] as? String
            return problem?.hasPrefix("turn \(turn): its replay trapped") == true
        }
        #expect(rename(build, program) == 0)
        let answer = try await bodyInTime(page, "state?turn=\(turn)")
        #expect(answer["problem"] == nil, "\(answer)")
    }

    @Test func `The generic tool knows no program, and has no past`() async throws {
        let page = try await ServedPage(Executable.counter, tool: Executable.samovar)
        #expect(try body(page, "about")["hasPast"] as? Bool == false)
        #expect(try page.ask("/api/v1/turns", ["Cookie: \(page.cookie)"]).status == 404)
    }
}
