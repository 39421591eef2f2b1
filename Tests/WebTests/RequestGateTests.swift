import Testing

@testable import SamovarWeb

/// Who may ask for what, without a socket.
@Suite struct RequestGateTests {
    private static let token = String(repeating: "0123456789abcdef", count: 4)
    private static let gate = RequestGate(port: 7_480, token: String(token.reversed()), session: token)
    private static let cookie = "theme=dark; samovar-7480=\(token)"

    private func get(_ path: String, host: String? = "127.0.0.1:7480", cookie: String? = nil) -> RequestGate.Request {
        RequestGate.Request(path: path, host: host, cookie: cookie)
    }

    private func post(_ path: String, _ change: (inout RequestGate.Request) -> Void = { _ in }) -> RequestGate.Request {
        var request = RequestGate.Request(
            method: "POST", path: path, host: "localhost:7480", origin: "http://localhost:7480", cookie: Self.cookie, isOurs: true,
            length: 2)
        change(&request)
        return request
    }

    private func status(_ request: RequestGate.Request) -> Int? {
        guard case .refuse(let status, let text) = Self.gate.answer(to: request) else { return nil }
        #expect(!text.isEmpty)
        return status
    }

    @Test func `The files of the page are for everybody on this machine, and all else is for who has the token`() {
        for path in ["/", "/page.js", "/page.css"] { #expect(status(get(path)) == nil) }
        for path in ["/api/v1/status", "/api/v1/effects", "/elsewhere", "/page.js/"] {
            #expect(status(get(path)) == 401)
            #expect(status(get(path, cookie: Self.cookie)) == nil)
        }
    }

    @Test func `What asks and has a body is refused, whatever is asked for`() {
        for path in ["/", "/api/v1/status", RequestGate.metricsPath] {
            var request = get(path, cookie: Self.cookie)
            request.length = 1
            #expect(status(request) == 400)
            (request.length, request.isChunked) = (nil, true)
            #expect(status(request) == 400)
        }
        var empty = get("/")
        empty.length = 0
        #expect(status(empty) == nil)
    }

    @Test(arguments: [nil, "", "127.0.0.1", "127.0.0.1:80", "evil.test:7480", "localhost:7480.evil.test", "LOCALHOST:7480"])
    func `Another name than our own is refused, whatever is asked for`(host: String?) {
        #expect(status(get("/", host: host)) == 421)
        #expect(status(post("/api/v1/press") { $0.host = host }) == 421)
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"])
    func `At the port of HTTP a browser leaves the port out`(host: String) {
        let gate = RequestGate(port: 80, token: String(Self.token.reversed()), session: Self.token)
        guard case .pass = gate.answer(to: get("/", host: host)) else {
            Issue.record("\(host) is refused")
            return
        }
    }

    @Test(arguments: [nil, "null", "http://evil.test", "https://localhost:7480", "http://127.0.0.1:7480", "http://localhost:7480/"])
    func `What changes something, and a socket, is for our own origin alone`(origin: String?) {
        #expect(status(post("/api/v1/press") { $0.origin = origin }) == 403)
        #expect(status(post(RequestGate.tokenPath) { $0.origin = origin }) == 403)
        var socket = get("/api/v1/live", cookie: Self.cookie)
        socket.host = "localhost:7480"
        (socket.isUpgrade, socket.origin) = (true, origin)
        #expect(status(socket) == 403)
        socket.origin = "http://localhost:7480"
        #expect(status(socket) == nil)
        socket.path = "/"
        socket.cookie = nil
        #expect(status(socket) == 401, "an upgrade is no file")
    }

    @Test func `Of the protocols that a client offers only that of sockets makes its request one for a socket`() {
        for upgrade in ["websocket", "WebSocket", "h2c, websocket", "h2c,WEBSOCKET", " websocket "] {
            #expect(RequestGate.isSocket(upgrade: upgrade), "\(upgrade)")
        }
        for upgrade in [nil, "", "h2c", "TLS/1.0, h2c", "websockets", "xwebsocket"] {
            #expect(!RequestGate.isSocket(upgrade: upgrade), "\(upgrade ?? "none")")
        }
    }

    @Test func `A post has our header, a length within the limit and the token`() {
        #expect(status(post("/api/v1/press")) == nil)
        #expect(status(post("/api/v1/press") { $0.isOurs = false }) == 403)
        #expect(status(post("/api/v1/press") { $0.length = nil }) == 411)
        #expect(status(post("/api/v1/press") { $0.length = -1 }) == 413)
        #expect(status(post("/api/v1/press") { $0.length = RequestGate.bodyBytes + 1 }) == 413)
        #expect(status(post("/api/v1/press") { $0.cookie = nil }) == 401)
        #expect(status(post(RequestGate.tokenPath) { $0.cookie = nil }) == nil)
        #expect(status(post("/page.js") { $0.cookie = nil }) == 401)
    }

    @Test func `Metrics are for who shows their own token, and that is good for nothing else`() {
        var gate = Self.gate
        let token = String(repeating: "00ff11ee22dd33cc", count: 4)
        gate.metricsToken = token
        func status(_ authorization: String?, _ path: String = "/metrics", _ method: String = "GET", cookie: String? = nil) -> Int?
        {
            var request = get(path, cookie: cookie)
            (request.authorization, request.method) = (authorization, method)
            guard case .refuse(let status, _) = gate.answer(to: request) else { return nil }
            return status
        }
        #expect(status("Bearer \(token)") == nil)
        for other in [
            nil, "", "Bearer", token, "bearer \(token)", "Bearer \(token)0", "Bearer \(Self.token)", "Bearer \(gate.token)",
        ] {
            #expect(status(other) == 401, "\(other ?? "none")")
            #expect(status(other, cookie: Self.cookie) == 401, "the cookie of the page is not asked for")
        }
        for path in ["/api/v1/status", "/metrics/", "/api/v1/metrics"] { #expect(status("Bearer \(token)", path) == 401) }
        #expect(status("Bearer \(token)", "/metrics", "POST") == 403)
        gate.metricsToken = nil
        #expect(status("Bearer \(token)") == 401 && status("Bearer ") == 401)
    }

    @Test func `The token of the address is no cookie`() {
        #expect(status(get("/api/v1/status", cookie: "samovar-7480=\(Self.gate.token)")) == 401)
        #expect(Self.gate.isToken(String(Self.token.reversed())) && !Self.gate.isToken(Self.token))
    }

    @Test func `A path that is written in another way than it is meant is refused`() {
        for raw in ["/%61pi/v1/status", "/page.js/../api/v1/status", "http://localhost:7480/api/v1/status", "//api/v1/status"] {
            var request = get("/api/v1/status", cookie: Self.cookie)
            request.rawPath = raw
            #expect(status(request) == 400)
        }
    }

    @Test func `Other methods and paths that are too long are refused`() {
        var request = get("/", cookie: Self.cookie)
        for method in ["HEAD", "PUT", "DELETE", "OPTIONS", "get", ""] {
            request.method = method
            #expect(status(request) == 405)
        }
        #expect(status(get("/" + String(repeating: "a", count: RequestGate.pathBytes))) == 414)
    }

    @Test(arguments: [
        "samovar-7480=", "samovar-7480", "samovar-7481=\(token)", "samovar-7480=\(token)0", "samovar-7480=\(token.dropLast())",
        "samovar-7480=\(token.dropLast())0", "xsamovar-7480=\(token)", "samovar-7480=\"\(token)\"",
    ])
    func `Only the whole token under its name is the token`(cookie: String) {
        #expect(status(get("/api/v1/status", cookie: cookie)) == 401)
    }
}
