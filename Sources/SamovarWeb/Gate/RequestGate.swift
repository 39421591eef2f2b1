/// Who may ask the page's server for what.
///
/// The idea: a port of this machine is open to each of its users, and to each page that a browser shows. So whoever asks has to know the token;
/// the name in `Host` has to be one of ours, or a foreign name that was made to point here (DNS rebinding) would do; and what changes something, or
/// opens a socket, has to come from our own page.
///
/// | request | Host | Origin | header of ours | token |
/// |---|---|---|---|---|
/// | GET of a file of the page | ours | – | – | – |
/// | GET of anything else | ours | – | – | cookie |
/// | GET of `/metrics` | ours | – | – | its own, as `Authorization: Bearer` |
/// | upgrade to a socket | ours | ours | – | cookie |
/// | POST of the token | ours | ours | yes | in the body |
/// | POST of anything else | ours | ours | yes | cookie |
///
/// The cookie is not the token, but a secret of this server process: a browser sends it to each port of this machine, also to another user's who
/// listens in the place of a server that has ended.
struct RequestGate: Sendable {
    /// What is looked at of a request.
    struct Request: Sendable {
        var method = "GET"
        /// Without a query, as the server understands it.
        var path = "/"
        /// As it was written; another one than `path` may mean something else to whoever is between.
        var rawPath: String?
        var host: String?
        var origin: String?
        var cookie: String?
        var authorization: String?
        var isUpgrade = false
        /// Whether it has the header that no foreign page can add without asking first.
        var isOurs = false
        /// Bytes of the body as the request says; nil if it does not.
        var length: Int?
        /// Whether the body comes in pieces, whose number is not known before.
        var isChunked = false
    }

    enum Answer: Equatable, Sendable {
        case pass
        /// The status, and what to say.
        case refuse(Int, String)
    }

    /// What our page sends with each POST.
    static let header = "X-Samovar"
    static let tokenPath = "/api/v1/token"
    /// Served to anybody: they tell nothing of the store.
    static let files: [String: (bytes: [UInt8], type: String)] = [
        "/": (PackageResources.index_html, "text/html; charset=utf-8"),
        "/page.css": (PackageResources.page_css, "text/css; charset=utf-8"),
        "/page.js": (PackageResources.page_js, "text/javascript; charset=utf-8"),
        "/past.js": (PackageResources.past_js, "text/javascript; charset=utf-8"),
        "/overview.js": (PackageResources.overview_js, "text/javascript; charset=utf-8"),
        "/effect.js": (PackageResources.effect_js, "text/javascript; charset=utf-8"),
        "/charts.css": (PackageResources.charts_css, "text/css; charset=utf-8"),
        "/icon.svg": (PackageResources.icon_svg, "image/svg+xml"),
    ]
    /// For a monitoring system, which has no cookie.
    static let metricsPath = "/metrics"
    static let pathBytes = 2_048
    static let bodyBytes = 1 << 20

    let port: UInt16
    let token: String
    /// Of this process; what the token is exchanged for.
    let session: String
    /// Reads metrics and nothing else; nil if nobody can know it.
    var metricsToken: String?

    /// Carries the port, since cookies of a host are those of all its ports.
    var cookieName: String { "samovar-\(port)" }

    /// A browser leaves the port of HTTP out.
    private var names: [String] {
        let hosts = ["127.0.0.1", "localhost", "[::1]"]
        return hosts.map { "\($0):\(port)" } + (port == 80 ? hosts : [])
    }

    func answer(to request: Request) -> Answer {
        let raw = request.rawPath ?? request.path
        guard raw.utf8.count <= Self.pathBytes else { return .refuse(414, "the path has more than \(Self.pathBytes) bytes") }
        guard let host = request.host, names.contains(host) else {
            return .refuse(421, "open the page as http://127.0.0.1:\(port) or http://localhost:\(port)")
        }
        guard raw == request.path else { return .refuse(400, "the path is not written as it is meant") }
        guard request.method == "GET" || request.method == "POST" else { return .refuse(405, "only GET and POST are answered") }
        let isPost = request.method == "POST"
        if isPost || request.isUpgrade {
            guard request.origin == "http://\(host)" else { return .refuse(403, "only the page itself may do this") }
        }
        if isPost {
            guard request.isOurs else { return .refuse(403, "the header \(Self.header) is missing") }
            guard let length = request.length else { return .refuse(411, "Content-Length is missing, or no number") }
            guard (0...Self.bodyBytes).contains(length) else {
                return .refuse(413, "a request has \(Self.bodyBytes) bytes at most")
            }
            if request.path == Self.tokenPath { return .pass }
        } else if request.isChunked || (request.length ?? 0) != 0 {
            return .refuse(400, "a GET has no body")
        } else if !request.isUpgrade, Self.files[request.path] != nil {
            return .pass
        }
        if request.path == Self.metricsPath, !isPost, !request.isUpgrade {
            guard let metricsToken, isEqual(request.authorization ?? "", to: "Bearer \(metricsToken)") else {
                return .refuse(401, "the token for metrics is in metrics.token of the data folder: Authorization: Bearer …")
            }
            return .pass
        }
        guard let shown = shownSession(in: request.cookie), isEqual(shown, to: session) else {
            return .refuse(401, "open the page by the address that was printed, which has the token")
        }
        return .pass
    }

    /// Whether the header `Upgrade` asks for a socket. Of another protocol it only says that the client would speak it, too.
    static func isSocket(upgrade: String?) -> Bool {
        (upgrade ?? "").split { $0 == "," || $0.isWhitespace }.contains { $0.lowercased() == "websocket" }
    }

    func isToken(_ text: String) -> Bool { isEqual(text, to: token) }

    /// Compares in a time that does not tell how much of it is right.
    private func isEqual(_ text: some StringProtocol, to secret: String) -> Bool {
        let (shown, own) = (Array(text.utf8), Array(secret.utf8))
        guard shown.count == own.count else { return false }
        return zip(shown, own).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private func shownSession(in cookie: String?) -> Substring? {
        for part in (cookie ?? "").split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0].drop(while: { $0 == " " }) == cookieName { return pair[1] }
        }
        return nil
    }

    /// What the token is exchanged for. Scripts do not see it, and no other site has it sent.
    var setCookie: String { "\(cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict" }

    /// What each answer has, whatever it is: nothing from elsewhere, no frame around it, nothing kept.
    static let answerHeaders: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
}
