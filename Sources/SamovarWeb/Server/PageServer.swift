import FlyingFox
import FlyingSocks
import Foundation
import Logging
import MessagePack
import SamovarCommands
import SamovarHost
import SamovarText

/// The page's server: lets requests through the gate and answers them. It decides nothing else.
struct PageServer: Sendable {
    let request: PageRequest

    /// Serves until the client ends, or the task is cancelled.
    ///
    /// - Throws: `CommandFailure` if it cannot listen, or no token can be kept; what ends the client.
    func run() async throws {
        let token = try PageToken.kept(in: request.tokenFile)
        let hub = LiveHub(request.client, request.admin)
        let metricsToken = try request.tokenFile.map { try PageToken.kept(in: PageToken.metricsFile(beside: $0)) }
        let gate = RequestGate(
            port: try Self.port(request.port), token: token, session: PageToken.new(), metricsToken: metricsToken)
        let explorer = try request.explorer.map { arguments throws(CommandFailure) in
            try ExplorerProcess(arguments, logger: request.logger)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await hub.run() }
            if let explorer { group.addTask { await explorer.run() } }
            group.addTask { try await serve(PageHandler(gate: gate, hub: hub, explorer: explorer, request: request), gate) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// How long an answer may take, in seconds. An input waits for its store, and what FlyingFox gives up is lost: the person would send it again.
    private static let answerTime: TimeInterval = 86_400

    /// FlyingFox ends with the first connection for which there is no descriptor. Whoever has taken them all loses them, and all goes on.
    private func serve(_ handler: PageHandler, _ gate: RequestGate) async throws {
        var hasBegun = false
        while !Task.isCancelled {
            let server = HTTPServer(
                config: .init(
                    address: try sockaddr_in.inet(ip4: "127.0.0.1", port: gate.port), timeout: Self.answerTime,
                    sharedRequestReplaySize: RequestGate.bodyBytes, logger: .disabled), handler: handler)
            do {
                // A task tells whether the server listens.
                try await withThrowingTaskGroup(of: Bool.self) { [isFirst = !hasBegun] group in
                    group.addTask {
                        try await server.run()
                        return false
                    }
                    if isFirst {
                        group.addTask {
                            try await server.waitUntilListening(timeout: 5)
                            return true
                        }
                    }
                    for try await isListening in group where isListening {
                        hasBegun = true
                        request.isReady("http://127.0.0.1:\(gate.port)/#t=\(gate.token)")
                    }
                }
            } catch let error as SocketError {
                // A server that is cancelled ends with an error of its socket.
                guard !Task.isCancelled else { return }
                // Somebody else has taken the port since it was found free.
                guard hasBegun else { throw Self.failure(gate.port, error) }
                request.logger.warning("the page's server begins anew: \(error.localizedDescription)")
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// The one that is wanted, or a free one, at which nobody listens.
    private static func port(_ wanted: UInt16) throws -> UInt16 {
        do {
            let socket = try Socket(domain: AF_INET)
            defer { try? socket.close() }  // It was to find out alone.
            try socket.setValue(true, for: .localAddressReuse)
            try socket.bind(to: try sockaddr_in.inet(ip4: "127.0.0.1", port: wanted))
            guard case .ip4(_, let port) = try socket.sockname() else { throw CommandFailure(.unavailable, "no port is free") }
            return port
        } catch let error as SocketError {
            throw failure(wanted, error)
        }
    }

    private static func failure(_ port: UInt16, _ error: SocketError) -> CommandFailure {
        CommandFailure(.unavailable, "cannot serve the page on port \(port): \(error.localizedDescription)")
    }
}

/// Answers one request.
private struct PageHandler: HTTPHandler {
    let gate: RequestGate
    let hub: LiveHub
    /// Nil where nothing computes the past.
    let explorer: ExplorerProcess?
    let request: PageRequest

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let isUpgrade = RequestGate.isSocket(upgrade: request.headers[.upgrade])
        let asked = RequestGate.Request(
            method: request.method.rawValue, path: request.path, rawPath: request.target.path(), host: request.headers[.host],
            origin: request.headers[HTTPHeader("Origin")], cookie: request.headers[.cookie],
            authorization: request.headers[.authorization], isUpgrade: isUpgrade,
            isOurs: request.headers[HTTPHeader(RequestGate.header)] != nil,
            length: request.headers[.contentLength].flatMap { Int($0) },
            isChunked: request.headers[HTTPHeader("Transfer-Encoding")] != nil)
        var response: HTTPResponse
        switch gate.answer(to: asked) {
        case .refuse(let status, let reason):
            // A shorter body is read before the answer is sent.
            let hasRest = asked.isChunked || asked.length ?? 0 > RequestGate.bodyBytes
            response = Self.text(reason, status: HTTPStatusCode(status, phrase: "Refused"), endsConnection: hasRest)
            response.headers[.connection] = "close"
        case .pass:
            if request.method == .POST {
                response = await post(request.path, try await request.bodyData)
            } else if isUpgrade {
                response = try await socket(request)
            } else {
                response = await get(request)
            }
        }
        for (name, value) in RequestGate.answerHeaders { response.headers[HTTPHeader(name)] = value }
        return response
    }

    // MARK: GET

    private func get(_ request: HTTPRequest) async -> HTTPResponse {
        if let file = RequestGate.files[request.path] {
            return HTTPResponse(statusCode: .ok, headers: [.contentType: file.type], body: Data(file.bytes))
        }
        switch request.path {
        case "/api/v1/about":
            return Self.json(
                ["title": .string(self.request.title), "hasPast": await hasPast, "isFull": .bool(hub.isFull)])
        case "/api/v1/status": return await asked("status")
        case RequestGate.metricsPath: return await metrics()
        case "/api/v1/attempts":
            let effect = request.query.first { $0.name == "effect" }?.value ?? ""
            return await asked("attempts", ["effect": .string(effect)])
        case "/api/v1/effects":
            var filter: MessagePackValue = ["limit": 200]
            if let queue = request.query.first(where: { $0.name == "queue" })?.value { filter["queue"] = .string(queue) }
            return await asked("effects", filter)
        default: return await past(request)
        }
    }

    /// Nil while it is not known.
    private var hasPast: MessagePackValue {
        get async {
            guard explorer != nil else { return .bool(false) }
            return await hub.isOperator.map { .bool($0) } ?? .nil
        }
    }

    /// States are for operators, since views are all that others may see.
    private func past(_ request: HTTPRequest) async -> HTTPResponse {
        let query = Dictionary(request.query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        var asked: MessagePackValue = [
            "path": .string(request.path), "query": .map(query.map { MessagePackPair(.string($0.key), .string($0.value)) }),
        ]
        guard let explorer, Self.isKnown(asked) else { return Self.text("there is nothing at this path", status: .notFound) }
        switch await hub.isOperator {
        case nil: return Self.text("the store has not answered yet", status: .serviceUnavailable)
        case false?: return Self.text("the past is for operators alone", status: .forbidden)
        case true?: break
        }
        let newest = hub.newest
        if let newest {
            asked["timeline"] = .string(newest.timeline)
            asked["durable"] = .int(Int64(newest.turn))
        }
        return Self.json(text: await explorer.ask(asked, timeline: newest?.timeline))
    }

    /// What is wrong with a question, the explorer says.
    private static func isKnown(_ asked: MessagePackValue) -> Bool {
        do { return try ExplorerRequest(asked) != nil } catch { return true }
    }

    /// As the command `metrics` prints them.
    private func metrics() async -> HTTPResponse {
        do {
            guard let text = MetricsText.text(of: try await request.admin.ask("metrics"), .prometheus) else {
                return Self.text("the store's answer cannot be read", status: .internalServerError)
            }
            return HTTPResponse(
                statusCode: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"], body: Data("\(text)\n".utf8))
        } catch {
            return Self.text("\(error)", status: .serviceUnavailable)
        }
    }

    private func socket(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.path == "/api/v1/live" else { return Self.text("there is no socket at this path", status: .notFound) }
        guard let tab = hub.join() else { return Self.text("too many pages are open", status: .tooManyRequests) }
        return try await WebSocketHTTPHandler(handler: LiveSocket(tab: tab)).handleRequest(request)
    }

    // MARK: POST

    private func post(_ path: String, _ body: Data) async -> HTTPResponse {
        let value: MessagePackValue
        do {
            value = try JSONTranscoder.parse(utf8: body)
        } catch {
            return Self.text("\(error)", status: .badRequest)
        }
        switch path {
        case RequestGate.tokenPath:
            guard case .string(let token) = value["token"], gate.isToken(token) else {
                return Self.text("that is not the token of this page", status: .unauthorized)
            }
            var response = Self.json([:])
            response.headers[.setCookie] = gate.setCookie
            return response
        case "/api/v1/press":
            guard case .int(let turn) = value["turn"], case .int(let control) = value["control"] else {
                return Self.text("a press names a turn and a control", status: .badRequest)
            }
            var press = ShownPanels.Press(turn: Int(turn), control: Int(control))
            if case .string(let text) = value["text"] { press.text = text }
            return Self.json(await hub.press(press))
        case "/api/v1/send":
            guard case .string(let text) = value["input"] else {
                return Self.text("an input is JSON in a text", status: .badRequest)
            }
            do {
                let input = try JSONTranscoder.parseArgument(text)
                return Self.json(await hub.send(input))
            } catch {
                return Self.json(["problem": .string("\(error)")])
            }
        case "/api/v1/requeue", "/api/v1/drop":
            guard case .string(let effect) = value["effect"] else { return Self.text("which effect?", status: .badRequest) }
            return await asked(String(path.dropFirst("/api/v1/".count)), ["effects": .array([.string(effect)])])
        default: return Self.text("there is nothing at this path", status: .notFound)
        }
    }

    /// The store's answer, or why there is none.
    private func asked(_ verb: String, _ arguments: MessagePackValue = .nil) async -> HTTPResponse {
        do {
            return Self.json(PageValues.bounded(try await request.admin.ask(verb, arguments)))
        } catch {
            return Self.json(["problem": .string("\(error)")])
        }
    }

    // MARK: Answers

    private static func json(_ value: MessagePackValue) -> HTTPResponse { json(text: JSONTranscoder.text(of: value)) }

    private static func json(text: String) -> HTTPResponse {
        HTTPResponse(statusCode: .ok, headers: [.contentType: "application/json"], body: Data(text.utf8))
    }

    private static func text(_ text: String, status: HTTPStatusCode, endsConnection: Bool = false) -> HTTPResponse {
        let bytes = Array(text.utf8)
        let body =
            endsConnection
            ? HTTPBodySequence(from: LastAnswer(bytes: bytes), count: bytes.count) : HTTPBodySequence(data: Data(bytes))
        return HTTPResponse(statusCode: status, headers: [.contentType: "text/plain; charset=utf-8"], body: body)
    }
}

/// What a browser is told, one message after the other: the next one is made when the former one has left, so nothing gathers for one that is slow.
/// What it says is not read.
private struct LiveSocket: WSHandler {
    let tab: LiveHub.Tab

    func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
        AsyncStream { [tab] in
            guard let message = await tab.next() else { return nil }
            return WSFrame(fin: true, opcode: .text, mask: nil, payload: Data(message.utf8))
        }
    }
}
