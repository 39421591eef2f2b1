import Foundation
import ProcessSupport
import Testing

/// The page's server as a process, asked by bytes.
@Suite struct PageServerTests {
    @Test func `It tells who has the token how the store is, and nobody else`() async throws {
        let page = try await ServedPage()
        #expect(try page.ask("/api/v1/status").status == 401)
        let status = try page.ask("/api/v1/status", ["Cookie: \(page.cookie)"])
        #expect(status.status == 200 && status.text.contains(#""program":"Tally""#), "\(status.text)")
        #expect(try page.ask("/api/v1/effects", ["Cookie: \(page.cookie)"]).text.contains(#""openCount":0"#))
        #expect(try page.ask("/", ["Host: evil.test"]).status == 421)
        #expect(
            try page.ask("/api/v1/press", ["Cookie: \(page.cookie)", "Origin: http://evil.test"], method: "POST", body: "{}").status
                == 403)
        #expect(try page.ask("/../../etc/passwd", ["Cookie: \(page.cookie)"]).status == 400)
        #expect(try page.ask("/%61pi/v1/status", ["Cookie: \(page.cookie)"]).status == 400)
        #expect(try page.ask("/nothing", ["Cookie: \(page.cookie)"]).status == 404)
        #expect(try page.ask("/?from=elsewhere").status == 200)
    }

    @Test func `Metrics are what the command prints, for who has their token, which is kept for its owner`() async throws {
        let page = try await ServedPage()
        let file = page.data + "/metrics.token"
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let token = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(token != page.token)
        #expect(try page.ask("/metrics").status == 401)
        #expect(try page.ask("/metrics", ["Authorization: Bearer \(page.token)"]).status == 401)
        #expect(try page.ask("/metrics", ["Cookie: \(page.cookie)"]).status == 401)
        let answer = try page.ask("/metrics", ["Authorization: Bearer \(token)"])
        #expect(
            answer.status == 200 && answer.text.contains("Content-Type: text/plain; version=0.0.4"), "\(answer.text.prefix(400))")
        let body = try #require(answer.text.components(separatedBy: "\r\n\r\n").last)
        let printed = try await page.command("metrics")
        func names(_ text: String) -> [Substring] { text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") } }
        #expect(names(body) == names(printed) && names(body).count > 30 && body.hasSuffix("\n"))
        #expect(try page.ask("/api/v1/status", ["Authorization: Bearer \(token)"]).status == 401)
        // Some clients offer HTTP/2 with each request.
        #expect(try page.ask("/metrics", ["Authorization: Bearer \(token)", "Upgrade: h2c"]).status == 200)
        #expect(try page.ask("/metrics", ["Authorization: Bearer \(token)", "Upgrade: websocket"]).status == 403)
    }

    @Test func `A data folder that is not there is told, and not made`() async throws {
        let scratch = try Scratch()
        let folder = scratch.folder("none")
        let page = try Child(Executable.tally, ["web", "--data", folder + "/data", "--port", "0"], in: scratch)
        try await eventually("the page is there: \(page.errors)") { page.output.contains("the page is at http://") }
        let words = "there is no data folder \(folder)/data: its store is waited for, and the token is one for this start alone"
        #expect(page.errors.contains(words), "\(page.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `Each answer forbids what the page does not need`() async throws {
        let page = try await ServedPage()
        for (path, status) in [("/", 200), ("/page.js", 200), ("/nothing", 401)] {
            let answer = try page.ask(path)
            #expect(answer.status == status)
            for header in [
                "Content-Security-Policy: default-src 'none';", "frame-ancestors 'none'", "Cache-Control: no-store",
                "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
            ] {
                #expect(answer.text.contains(header), "\(path): \(answer.text)")
            }
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `The body of what is refused is no request`(method: String) async throws {
        let page = try await ServedPage()
        let request = "GET /page.css HTTP/1.1\r\nHost: \(page.host)\r\n"
        let hidden = String(repeating: "\(request)\r\n", count: 40_000)
        let answers = try page.raw(
            "\(method) / HTTP/1.1\r\nHost: \(page.host)\r\nContent-Length: \(hidden.utf8.count)\r\n\r\n\(hidden)"
                + "\(request)Connection: close\r\n\r\n")
        // The connection ends behind the answer, which may be lost with it.
        #expect(Self.codes(of: answers).allSatisfy { $0 == (method == "GET" ? "400" : "403") }, "\(answers.prefix(2_000))")
    }

    @Test func `A short body of what is refused is read, and the next request answered`() async throws {
        let page = try await ServedPage()
        let request = "GET /page.css HTTP/1.1\r\nHost: \(page.host)\r\n"
        let answers = try page.raw(
            "GET / HTTP/1.1\r\nHost: \(page.host)\r\nContent-Length: \(request.utf8.count)\r\n\r\n\(request)"
                + "\(request)Connection: close\r\n\r\n")
        #expect(Self.codes(of: answers) == ["400", "200"], "\(answers.prefix(2_000))")
    }

    @Test(arguments: ["Content-Length: 2000000", "Transfer-Encoding: chunked"])
    func `What is refused is answered though its body never comes`(header: String) async throws {
        let page = try await ServedPage()
        let answers = try page.raw("GET / HTTP/1.1\r\nHost: \(page.host)\r\n\(header)\r\n\r\n")
        #expect(Self.codes(of: answers) == ["400"], "\(answers.prefix(2_000))")
    }

    @Test func `A body in pieces that are none is no request either`() async throws {
        let page = try await ServedPage()
        let hidden = "GET /page.css HTTP/1.1\r\nHost: \(page.host)\r\n\r\n"
        let answers = try page.raw("POST / HTTP/1.1\r\nHost: \(page.host)\r\nTransfer-Encoding: chunked\r\n\r\nX\r\n\(hidden)")
        #expect(Self.codes(of: answers) == ["403"], "\(answers.prefix(2_000))")
    }

    private static func codes(of answers: String) -> [String] {
        answers.matches(of: #/HTTP/1\.1 ([0-9]+) /#).map { String($0.1) }
    }

    @Test func `The token is exchanged for a cookie that scripts do not see`() async throws {
        let page = try await ServedPage()
        let headers = ["Origin: http://\(page.host)", "X-Samovar: 1"]
        let answer = try page.ask("/api/v1/token", headers, method: "POST", body: #"{"token":"\#(page.token)"}"#)
        #expect(answer.status == 200)
        #expect(answer.text.contains("Set-Cookie: \(page.cookie); Path=/; HttpOnly; SameSite=Strict"), "\(answer.text)")
        #expect(!page.cookie.contains(page.token), "whoever listens at a port of this machine may be sent the cookie")
        let other = String(page.token.reversed())
        #expect(try page.ask("/api/v1/token", headers, method: "POST", body: #"{"token":"\#(other)"}"#).status == 401)
        #expect(!page.page.errors.contains(page.token), "no log has it")
    }

    @Test func `A press is applied, and a refusal comes with its reason`() async throws {
        let page = try await ServedPage()
        let view = try await page.command("view")
        let turn = try #require(view.firstMatch(of: /"turn":([0-9]+)/).flatMap { Int($0.1) })
        let pressed = try await eventually("the view has come") {
            let answer = try page.post("/api/v1/press", #"{"turn":\#(turn),"control":0,"text":"pears"}"#)
            return answer.contains("older view") ? nil : answer
        }
        #expect(pressed == #"{"applied":\#(turn + 1)}"#)
        let sent = try page.post("/api/v1/send", #"{"input":"{\"add\":{\"name\":\"figs\"}}"}"#)
        #expect(sent == #"{"applied":\#(turn + 2)}"#)
        #expect(try page.post("/api/v1/send", #"{"input":"{\"add\":"}"#).contains("problem"))
        let noise = try page.ask(
            "/api/v1/press", ["Origin: http://\(page.host)", "X-Samovar: 1", "Cookie: \(page.cookie)"], method: "POST",
            body: "no JSON")
        #expect(noise.status == 400 && noise.text.contains("column 1"), "\(noise.text)")
        #expect(try page.post("/api/v1/requeue", #"{"effect":"17/0"}"#).contains("problem"))
    }

    @Test func `An input has its receipt however long its store was away`() async throws {
        let page = try await ServedPage()
        let process = try #require(ProcessTable.entry(page.store.id))
        process.send(SIGSTOP)
        try await eventually("the store is stopped") { process.isStopped }
        let body = #"{"input":"{\"add\":{\"name\":\"figs\"}}"}"#
        let headers = [
            "POST /api/v1/send HTTP/1.1", "Host: \(page.host)", "Origin: http://\(page.host)", "X-Samovar: 1", "Connection: close",
            "Cookie: \(page.cookie)", "Content-Length: \(body.utf8.count)",
        ]
        let connection = try ServedPage.connection(page.port)
        defer { close(connection) }
        let request = Array((headers.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        #expect(send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
        // Longer than a server of HTTP waits for an answer.
        try await Task.sleep(for: .seconds(31))
        process.send(SIGCONT)
        var answer: [UInt8] = []
        try await eventually("it is applied") {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count > 0 { answer += bytes.prefix(count) }
            return String(decoding: answer, as: UTF8.self).contains(#"{"applied":2}"#)
        }
    }

    @Test func `A store that is away is said to be, and comes back by itself`() async throws {
        let page = try await ServedPage()
        page.store.send(SIGKILL)
        try await page.store.wait()
        let away = try page.ask("/api/v1/status", ["Cookie: \(page.cookie)"])
        #expect(away.text.contains("no store answers at"), "\(away.text)")
        let store = try Child(Executable.tally, ["store", "--data", page.data], in: page.scratch)
        try await eventually("it is there again: \(store.errors)") {
            try page.ask("/api/v1/status", ["Cookie: \(page.cookie)"]).text.contains(#""program":"Tally""#)
        }
        page.page.send(SIGTERM)
        #expect(try await page.page.wait() == .exited(0), "\(page.page.errors)")
    }

    @Test func `A page whose session has expired begins another one, and takes inputs as before`() async throws {
        let page = try await ServedPage(
            storeVariables: ["SAMOVAR_STORE_SILENCE_SECONDS": "3", "SAMOVAR_STORE_SESSION_IDLE_SECONDS": "3"])
        func add(_ name: String) throws -> String {
            try page.post("/api/v1/send", #"{"input":"{\"add\":{\"name\":\"\#(name)\"}}"}"#)
        }
        #expect(try add("pears").contains("applied"))
        let process = try #require(ProcessTable.entry(page.page.id))
        process.send(SIGSTOP)
        try await eventually("the session expires") { try await page.command("journal", "list").contains("sessionExpired") }
        process.send(SIGCONT)
        try await eventually("it is told: \(page.page.errors)") {
            page.page.errors.contains("another session is begun, for the store has ended this one: ")
        }
        #expect(try add("figs").contains("applied"))
        #expect(page.page.end == nil, "\(page.page.errors)")
    }

    @Test(arguments: ["viewer", "operator"])
    func `A press with a key that may not send is answered in the store's words, and the page goes on`(role: String) async throws {
        let scratch = try Scratch()
        let keys = scratch.folder("keys")
        for role in [role, "client"] {
            let made = try Child(
                Executable.tally, ["keys", "new", role, "--role", role, "--out", scratch.folder("\(role).key"), "--keys", keys],
                in: scratch)
            #expect(try await made.wait() == .exited(0), "\(made.errors)")
        }
        let address = "tcp://127.0.0.1:\(try Ports.free())"
        let page = try await ServedPage(
            in: scratch,
            doors: (["--endpoint", address, "--keys", keys], ["--endpoint", address, "--key", scratch.folder("\(role).key")]))
        let words = "sending inputs is not for the key \(role), which is for \(role)s"
        func press(_ turn: Int) throws -> String {
            try page.post("/api/v1/press", #"{"turn":\#(turn),"control":0,"text":"pears"}"#)
        }
        let pressed = try await eventually("the first view has come: \(page.page.errors)") {
            let answer = try press(1)
            return answer.contains("older view") ? nil : answer
        }
        #expect(pressed.contains(words))
        try await eventually("the next one is not sent: \(page.page.errors)") { try press(1) == #"{"problem":"\#(words)"}"# }

        let sent = try await page.command(
            "send", #"{"setGoal":{"to":20}}"#, "--endpoint", address, "--key", scratch.folder("client.key"))
        let turn = try #require(sent.firstMatch(of: /"turn":([0-9]+)/).flatMap { Int($0.1) }, "\(sent)")
        try await eventually("the view of another's input has come: \(page.page.errors)") {
            try press(turn) == #"{"problem":"\#(words)"}"#
        }
        #expect(page.page.end == nil, "\(page.page.errors)")
    }

    @Test func `Browsers that are gone leave their places soon, also where the store is quiet and tells no status`() async throws {
        let scratch = try Scratch()
        let keys = scratch.folder("keys")
        let made = try Child(
            Executable.tally, ["keys", "new", "viewer", "--role", "viewer", "--out", scratch.folder("viewer.key"), "--keys", keys],
            in: scratch)
        #expect(try await made.wait() == .exited(0), "\(made.errors)")
        let address = "tcp://127.0.0.1:\(try Ports.free())"
        let page = try await ServedPage(
            in: scratch,
            doors: (
                ["--endpoint", address, "--keys", keys], ["--endpoint", address, "--key", scratch.folder("viewer.key")]
            ))
        try await eventually("it is known what the key is for: \(page.page.errors)") {
            try page.ask("/api/v1/turns", ["Cookie: \(page.cookie)"]).status == 403
        }
        func isFull() throws -> Bool {
            try page.ask("/api/v1/about", ["Cookie: \(page.cookie)"]).text.contains(#""isFull":true"#)
        }
        var browsers: [Int32] = []
        defer { for browser in browsers { close(browser) } }
        for _ in 0..<64 { browsers.append(try page.openBrowser()) }
        #expect(try isFull())
        for browser in browsers { close(browser) }
        browsers = []
        // Sooner than such a store is asked for its status.
        try await eventually("a place is free", within: .seconds(30)) { try !isFull() }
        #expect(page.page.end == nil, "\(page.page.errors)")
    }

    @Test func `Whoever takes all its descriptors ends no server`() async throws {
        let page = try await ServedPage(descriptors: 100)
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<120 {
            // The one that is too much may find nobody for a moment.
            guard let connection = try? ServedPage.connection(page.port) else { break }
            taken.append(connection)
        }
        try await eventually("it has run out of descriptors: \(page.page.errors)") { page.page.errors.contains("begins anew") }
        try await eventually("it answers again: \(page.page.errors)") { (try? page.ask("/").status) == 200 }
        #expect(page.page.end == nil)
    }

    @Test func `A page that is asked to end does not say that it begins anew`() async throws {
        let page = try await ServedPage()
        // Whether the socket's end is heard before that of the page is chance.
        for _ in 1...8 {
            let other = try Child(Executable.tally, ["web", "--data", page.data, "--port", "0"], in: page.scratch)
            try await eventually("the page is there: \(other.errors)") { other.output.contains("the page is at http://") }
            other.send(SIGTERM)
            #expect(try await other.wait() == .exited(0), "\(other.errors)")
            #expect(!other.errors.contains("begins anew"), "\(other.errors)")
        }
    }

    @Test(arguments: [
        "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\0\u{1}\u{2}", "GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        "POST /api/v1/press HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /api/v1/press HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 1 << 20))\r\n\r\n",
    ])
    func `Bytes that are no request of ours end their connection alone`(text: String) async throws {
        let page = try await ServedPage()
        let answer = try page.raw(text.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"))
        #expect(!answer.hasPrefix("HTTP/1.1 200"), "\(answer.prefix(200))")
        #expect(try page.ask("/").status == 200)
    }

    @Test func `A port that is taken is named with exit code 69, a program without a page with 64`() async throws {
        let page = try await ServedPage()
        let second = try Child(Executable.tally, ["web", "--data", page.data, "--port", "\(page.port)"], in: page.scratch)
        #expect(try await second.wait() == .exited(69))
        #expect(second.errors.contains("cannot serve the page on port \(page.port)"), "\(second.errors)")
        let without = try await Child.run(Executable.counter, ["web"])
        #expect(without.end == .exited(64))
        #expect(without.errors.contains("counter is built without a page"), "\(without.errors)")
        let tool = try await ServedPage(Executable.counter, tool: Executable.samovar)
        #expect(try tool.ask("/api/v1/status", ["Cookie: \(tool.cookie)"]).text.contains(#""program":"Counter""#))
    }

    @Test func `A port that is taken is told once by up, which goes on without a page`() async throws {
        let page = try await ServedPage()
        let data = page.scratch.folder("other")
        let up = try Child(
            Executable.tally, ["up", "--web", "--web-port", "\(page.port)", "--data", data], in: page.scratch)
        try await eventually("it is told: \(up.errors)") {
            up.errors.contains("the page cannot run; see its message above. The store goes on")
        }
        try await eventually("the store serves: \(up.errors)") {
            try await Child(Executable.tally, ["status", "--data", data], in: page.scratch).wait() == .exited(0)
        }
        up.send(SIGTERM)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
        #expect(up.errors.ranges(of: "cannot serve the page on port").count == 1, "\(up.errors)")
    }

    @Test func `It is served beside a store that up starts, and one that dies is served again at its place`() async throws {
        let scratch = try Scratch()
        let port = try Ports.free()
        let up = try Child(
            Executable.tally, ["up", "--web", "--web-port", "\(port)", "--data", scratch.folder("data")], in: scratch)
        let line = try await eventually("the page is told of: \(up.errors)") {
            up.errors.firstMatch(
                of: /page: the page is at http:\/\/127\.0\.0\.1:([0-9]+)\/#t=…, with the token that is in (.*web\.token)\n/)
        }
        #expect(line.1 == "\(port)")
        let token = try String(contentsOfFile: String(line.2), encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(token.count == 64 && !up.errors.contains(token), "no log has it")
        let page = try #require(ProcessTable.all(naming: scratch.path).first { $0.command == "web" && $0.parent == up.id })
        page.send(SIGKILL)
        try await eventually("it is served again: \(up.errors)") { up.errors.ranges(of: line.0).count == 2 }
        up.send(SIGTERM)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
        let without = try await Child.run(Executable.counter, ["up", "--web", "--data", scratch.folder("other")])
        #expect(without.end == .exited(64) && without.errors.contains("counter is built without a page"), "\(without.errors)")
    }
}
