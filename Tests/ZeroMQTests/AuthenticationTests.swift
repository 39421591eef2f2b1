import CZeroMQ
import Foundation
import ProcessSupport
import Synchronization
import Testing

@testable import ZeroMQ

/// Who gets in, over real sockets.
@Suite struct AuthenticationTests {
    /// A router with keys, which lets one in.
    struct Server: ~Copyable {
        let context: Context
        let pair: CurveKeyPair
        let authenticator: Authenticator
        let refusals: Refusals
        var router: Socket
        let address: String

        final class Refusals: Sendable {
            let all = Mutex<[Authenticator.Refusal]>([])
        }

        init(in context: Context? = nil, _ decide: @escaping @Sendable (ZAPRequest) -> ZAPVerdict) throws {
            let context = try context ?? Context.shared()
            let pair = try CurveKeyPair()
            let refusals = Refusals()
            let authenticator = try Authenticator(context, named: "front", decide: decide) { refusal in
                refusals.all.withLock { $0.append(refusal) }
            }
            var options = SocketOptions.front
            options.security = .curveServer(pair.secretKey, authenticator)
            // Who hears nothing is cut off after this time.
            options.handshakeTimeout = 1000
            var router = try Socket(context, .router, options: options)
            try router.bind("tcp://127.0.0.1:*")
            address = try router.lastEndpoint
            self.router = router
            self.context = context
            self.pair = pair
            self.authenticator = authenticator
            self.refusals = refusals
        }

        init(admitting key: CurvePublicKey, in context: Context? = nil) throws {
            try self.init(in: context) { $0.credentials == .key(key) ? .accept(userID: "me") : .refuse }
        }

        /// How the connection of a peer ends that is not let in.
        mutating func end(_ security: SocketOptions.Security) throws -> ConnectionEnd? {
            var options = SocketOptions.client
            options.security = security
            var dealer = try Socket(context, .dealer, options: options)
            var monitor = try ConnectionMonitor(dealer, in: context)
            try dealer.connect(address)
            var end: ConnectionEnd?
            try eventually {
                end = try monitor.connectionEnd()
                return end != nil
            }
            #expect(try dealer.send([1]) == .wouldBlock)
            #expect(try router.receive() == nil)
            return end
        }
    }

    private func connected(_ server: borrowing Server, _ own: CurveKeyPair) throws -> Socket {
        var options = SocketOptions.client
        options.security = .curveClient(own, server: server.pair.publicKey)
        var dealer = try Socket(server.context, .dealer, options: options)
        try dealer.connect(server.address)
        try dealer.becomesWritable()
        return dealer
    }

    @Test func `A known key gets in, and its messages say whose they are`() throws {
        let own = try CurveKeyPair()
        var server = try Server(admitting: own.publicKey)
        var dealer = try connected(server, own)
        #expect(try dealer.send([1], [2], [3]) == .sent)
        var poller = Poller()
        _ = poller.add(server.router)
        try poller.wait(timeoutMilliseconds: patience)
        let message = try #require(try server.router.receive())
        #expect(message.frames[1...] == [[1], [2], [3]])
        #expect(message.userID == "me")
        #expect(try server.router.send(message.frames[0], [4]) == .sent)
        #expect(try dealer.next() == [[4]])
        #expect(server.authenticator.counts == Authenticator.Counts(accepted: 1, refused: 0))
    }

    @Test func `Two peers at one socket are told apart, also when their messages are mixed`() throws {
        let pairs = [try CurveKeyPair(), try CurveKeyPair()]
        let keys = pairs.map(\.publicKey)
        var server = try Server { request in
            guard case .key(let key) = request.credentials, let index = keys.firstIndex(of: key) else { return .refuse }
            return .accept(userID: "peer \(index)")
        }
        var first = try connected(server, pairs[0])
        var second = try connected(server, pairs[1])
        for _ in 0..<10 {
            #expect(try first.send([0]) == .sent)
            #expect(try second.send([1]) == .sent)
        }
        var poller = Poller()
        _ = poller.add(server.router)
        for _ in 0..<20 {
            try poller.wait(timeoutMilliseconds: patience)
            let message = try #require(try server.router.receive())
            #expect(message.userID == "peer \(message.frames[1][0])")
        }
    }

    @Test func `An unknown key is refused, and told so`() throws {
        var server = try Server(admitting: try CurveKeyPair().publicKey)
        let own = try CurveKeyPair()
        #expect(try server.end(.curveClient(own, server: server.pair.publicKey)) == .refused)
        #expect(try server.end(.curveClient(own, server: server.pair.publicKey)) == .refused)
        #expect(server.authenticator.counts.refused == 2)
        // Of the second one nobody is told within ten seconds.
        let refusal = Authenticator.Refusal(
            address: "127.0.0.1", credentials: .key(own.publicKey), unreported: 0)
        #expect(server.refusals.all.withLock { $0 } == [refusal])
    }

    @Test func `Nobody gets in without a name`() throws {
        var server = try Server { _ in .accept(userID: "") }
        #expect(try server.end(.curveClient(CurveKeyPair(), server: server.pair.publicKey)) == .unanswered)
        #expect(server.authenticator.counts.accepted == 0 && server.authenticator.counts.refused >= 1)
    }

    @Test func `A server with another key is none`() throws {
        let own = try CurveKeyPair()
        var server = try Server(admitting: own.publicKey)
        #expect(try server.end(.curveClient(own, server: try CurveKeyPair().publicKey)) == .unanswered)
    }

    @Test func `Without a key nobody gets in`() throws {
        var server = try Server { _ in .accept(userID: "anybody") }
        #expect(try server.end(.none) == .misunderstood)
        #expect(server.authenticator.counts == Authenticator.Counts())
    }

    @Test func `A password is no key`() throws {
        var server = try Server { _ in .accept(userID: "anybody") }
        var dealer = try Socket(server.context, .dealer, options: .client)
        let pointer = dealer.handle.pointer
        for (option, text) in [(ZMQ_PLAIN_USERNAME, "root"), (ZMQ_PLAIN_PASSWORD, "secret")] {
            #expect(zmq_setsockopt(pointer, option, text, text.utf8.count) == 0)
        }
        var monitor = try ConnectionMonitor(dealer, in: server.context)
        try dealer.connect(server.address)
        try eventually { try monitor.connectionEnd() == .misunderstood }
        #expect(try server.router.receive() == nil)
    }

    @Test(arguments: [false, true]) func `When nobody answers for its domain, nobody gets in`(_ othersAreAnswered: Bool) throws {
        let own = try CurveKeyPair()
        // Of its own, so that no other test has it answered.
        var server = try Server(admitting: own.publicKey, in: Context())
        let other = othersAreAnswered ? try Authenticator(server.context, named: "other") { _ in .accept(userID: "other") } : nil
        // What no user can do while there is a socket.
        server.authenticator.leave()
        let end = try server.end(.curveClient(own, server: server.pair.publicKey))
        #expect(end == (othersAreAnswered ? .refused : .unanswered))
        #expect(other?.counts.accepted ?? 0 == 0)
    }

    @Test func `The thread ends with the last authenticator, and begins again`() throws {
        let own = try CurveKeyPair()
        let context = try Context()
        for _ in 0..<20 {
            let server = try Server(admitting: own.publicKey, in: context)
            _ = try connected(server, own)
        }
    }

    @Test func `An authenticator lives as long as its sockets`() throws {
        let context = try Context.shared()
        weak var weakly: Authenticator?
        var router: Socket? = try {
            let authenticator = try Authenticator(context, named: "front") { _ in .accept(userID: "anybody") }
            weakly = authenticator
            var options = SocketOptions.front
            options.security = .authenticated(authenticator)
            return try Socket(context, .router, options: options)
        }()
        #expect(weakly != nil)
        router = nil
        #expect(weakly == nil)
        let isClosed = router == nil
        #expect(isClosed)
    }

    // MARK: Without keys

    @Test func `Over ipc the kernel says whose process it is`() throws {
        let folder = try RuntimeDirectory()
        var options = SocketOptions.front
        let context = try Context.shared()
        let authenticator = try Authenticator(context, named: "local") {
            $0.credentials == .user(geteuid()) && $0.address == "localhost:\(geteuid())" ? .accept(userID: "local") : .refuse
        }
        options.security = .authenticated(authenticator)
        var router = try Socket(context, .router, options: options)
        try router.bind("ipc://\(folder.path)/front")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect("ipc://\(folder.path)/front")
        try dealer.becomesWritable()
        #expect(try dealer.send([1]) == .sent)
        var poller = Poller()
        _ = poller.add(router)
        try poller.wait(timeoutMilliseconds: patience)
        #expect(try router.receive()?.userID == "local")
    }

    @Test func `Over TCP without keys nobody is anybody`() throws {
        let context = try Context.shared()
        let authenticator = try Authenticator(context, named: "loopback") {
            $0.credentials == .none && $0.address == "127.0.0.1" ? .accept(userID: "local") : .refuse
        }
        var options = SocketOptions.front
        options.security = .authenticated(authenticator)
        var router = try Socket(context, .router, options: options)
        try router.bind("tcp://127.0.0.1:*")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect(router.lastEndpoint)
        try dealer.becomesWritable()
        #expect(authenticator.counts.accepted == 1)
    }

    static let canBeNobody = geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0 && access("/usr/bin/python3", X_OK) == 0

    @Test(.enabled(if: canBeNobody, "another user is needed, which only root can be; setpriv and python3"))
    func `Over ipc another user is refused, also if the files let him through`() async throws {
        let folder = try RuntimeDirectory()
        let context = try Context.shared()
        let authenticator = try Authenticator(context, named: "local") {
            $0.credentials == .user(geteuid()) ? .accept(userID: "local") : .refuse
        }
        var options = SocketOptions.front
        options.security = .authenticated(authenticator)
        var router = try Socket(context, .router, options: options)
        try router.bind("ipc://\(folder.path)/front")
        chmod(folder.path, 0o711)
        chmod(folder.path + "/front", 0o777)
        #expect(try await answer(to: nil, at: folder.path + "/front").contains("READY"))
        let refused = try await answer(to: 65_534, at: folder.path + "/front")
        #expect(refused.contains("ERROR") && refused.contains("400") && !refused.contains("READY"))
        #expect(authenticator.counts == Authenticator.Counts(accepted: 1, refused: 1))
    }

    /// What a peer of another user hears that greets as ZMTP 3.0 has it and says what it is.
    private func answer(to user: uid_t?, at path: String) async throws -> String {
        let peer = """
            import socket, sys
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(5)
            peer.connect(sys.argv[1])
            peer.sendall(b"\\xff" + bytes(8) + b"\\x7f\\x03\\x00NULL" + bytes(16 + 1 + 31))
            ready = b"\\x05READY\\x0bSocket-Type\\x00\\x00\\x00\\x06DEALER"
            peer.sendall(bytes([4, len(ready)]) + ready)
            heard = b""
            while b"READY" not in heard and b"ERROR" not in heard:
                some = peer.recv(1000)
                if not some: break
                heard += some
            sys.stdout.write("".join(chr(byte) if 32 <= byte < 127 else "." for byte in heard))
            """
        let become = user.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--clear-groups"] } ?? []
        return try await Child.run("/usr/bin/env", become + ["/usr/bin/python3", "-c", peer, path]).output
    }
}
