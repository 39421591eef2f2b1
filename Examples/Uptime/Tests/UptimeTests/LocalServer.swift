import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A web server on loopback that does what the test says, and remembers the alerts that it got.
final class LocalServer: Sendable {
    struct Alert: Sendable, Equatable {
        let key: String?
        let text: String
    }

    struct Answers: Sendable {
        /// What is said to a probe.
        var status = HTTPResponseStatus.ok
        var probes = 0
        /// How many alerts to come are turned away.
        var alertsRefused = 0
        var alerts: [Alert] = []

        mutating func answer(_ head: HTTPRequestHead, _ body: String) -> HTTPResponseStatus {
            guard head.method == .POST else {
                probes += 1
                return status
            }
            alerts.append(Alert(key: head.headers.first(name: "Idempotency-Key"), text: body))
            guard alertsRefused > 0 else { return .ok }
            alertsRefused -= 1
            return .serviceUnavailable
        }
    }

    private final class Shared: Sendable {
        let answers = Mutex(Answers())
    }

    private let shared: Shared
    private let channel: any Channel
    let url: String

    init() async throws {
        let shared = Shared()
        self.shared = shared
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Conversation { head, body in shared.answers.withLock { $0.answer(head, body) } })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    func with<Result: Sendable>(_ body: (inout sending Answers) -> sending Result) -> Result { shared.answers.withLock(body) }

    func close() async throws { try await channel.close() }
}

private final class Conversation: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: (HTTPRequestHead, String) -> HTTPResponseStatus
    private var head: HTTPRequestHead?
    private var body = ""

    init(_ answer: @escaping (HTTPRequestHead, String) -> HTTPResponseStatus) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let bytes): body += String(buffer: bytes)
        case .end:
            guard let head else { return }
            let response = HTTPResponseHead(
                version: .http1_1, status: answer(head, body), headers: ["Content-Length": "0"])
            (self.head, body) = (nil, "")
            context.write(wrapOutboundOut(.head(response)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
