import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire
import Synchronization
import Testing
import ZeroMQ

@testable import SamovarHost

/// What a peer is told of its key, and how it comes with another one.
struct PeerKeyTests {
    /// The keys that a store of a test takes.
    private final class Guests: Sendable {
        private let keys = Mutex<Set<CurvePublicKey>>([])

        func admit(_ key: CurvePublicKey) { keys.withLock { _ = $0.insert(key) } }

        func verdict(_ request: ZAPRequest) -> ZAPVerdict {
            guard case .key(let key) = request.credentials, keys.withLock({ $0.contains(key) }) else { return .refuse }
            return .accept(userID: "guest")
        }
    }

    private let context: Context
    private let server: CurveKeyPair
    private let guests = Guests()
    private let authenticator: Authenticator
    private let hello = Envelope(.pong(0), timeline: .zero)

    init() throws {
        let context = try Context()
        server = try CurveKeyPair()
        authenticator = try Authenticator(context, named: "front", decide: guests.verdict)
        self.context = context
    }

    private func listener() throws -> Listener {
        try Listener(context, security: .curveServer(server.secretKey, authenticator))
    }

    @discardableResult
    private func write(_ file: String, servers: [CurvePublicKey]? = nil) throws -> CurvePublicKey {
        let pair = try CurveKeyPair()
        let name = try #require(KeyName("guest"))
        try KeyFile(name, pair, servers: servers ?? [server.publicKey]).write(to: file, mayReplace: true)
        return pair.publicKey
    }

    private func socket(_ port: String, _ file: String?) throws -> PeerSocket {
        // Of the four ports only one is listened at, and the system has chosen that.
        PeerSocket(context, .dealer, .client, ConnectionPlan([.address("tcp://127.0.0.1:\(port)")]), keyFile: file, nil, .shared) {
            $0.address
        }
    }

    /// What becomes of an attempt; nil if the store has answered.
    private func attempt(
        _ socket: inout PeerSocket, _ listener: inout Listener, _ poller: inout Poller
    ) throws -> Disconnection? {
        try socket.connect(&poller)
        try socket.send(hello.parts)
        return try socket.turn(&poller) { try listener.answer(.pong(0)) && false }
    }

    private func reason(_ end: Disconnection?) -> String {
        switch end {
        case .keyRefused(let reason): reason
        case .impossible(let reason): "impossible: \(reason)"
        case .broken: "broken"
        case nil: "served"
        }
    }

    @Test func `A key that a store does not know is refused, and one that it has learned since is served`() throws {
        let folder = try PrivateFolder()
        let file = folder.path + "/guest.key"
        let key = try write(file)
        var listener = try listener()
        var poller = Poller()
        var socket = try socket(listener.port, file)
        let first = reason(try attempt(&socket, &listener, &poller))
        #expect(first.contains("does not take the key of \(file): it is unknown there, revoked, expired, or"), "\(first)")
        guests.admit(key)
        #expect(reason(try attempt(&socket, &listener, &poller)) == "served")
    }

    @Test func `A key file is read again at each attempt, and one that is not there fails the attempt alone`() throws {
        let folder = try PrivateFolder()
        let file = folder.path + "/guest.key"
        var listener = try listener()
        var poller = Poller()
        var socket = try socket(listener.port, file)
        let missing = reason(try attempt(&socket, &listener, &poller))
        #expect(missing.hasPrefix("impossible: \(file) cannot be opened: "), "\(missing)")
        guests.admit(try write(file))
        #expect(reason(try attempt(&socket, &listener, &poller)) == "served")
        try write(file)
        #expect(reason(try attempt(&socket, &listener, &poller)).contains("does not take the key"))
    }

    @Test func `Of several keys that the store may have each is tried, and the right one is served`() throws {
        let folder = try PrivateFolder()
        let file = folder.path + "/guest.key"
        guests.admit(try write(file, servers: [try CurveKeyPair().publicKey, server.publicKey]))
        var listener = try listener()
        var poller = Poller()
        var socket = try socket(listener.port, file)
        #expect(reason(try attempt(&socket, &listener, &poller)) == "broken", "one such end means nothing yet")
        let places = socket.places
        #expect(places == 2)
        for _ in 0..<2 { #expect(reason(try attempt(&socket, &listener, &poller)) == "served") }
    }

    @Test func `A store of another key is known by ending each connection, and no single end is taken for that`() throws {
        let folder = try PrivateFolder()
        let file = folder.path + "/guest.key"
        try write(file, servers: [try CurveKeyPair().publicKey])
        var listener = try listener()
        var poller = Poller()
        var socket = try socket(listener.port, file)
        for _ in 0..<4 { #expect(reason(try attempt(&socket, &listener, &poller)) == "broken") }
        let last = reason(try attempt(&socket, &listener, &poller))
        #expect(last.contains("is no store, or has none of the keys that \(file) names for it"), "\(last)")
    }

    @Test func `A key is not shown to a store without keys, and who has none is told that one is wanted`() throws {
        let folder = try PrivateFolder()
        let file = folder.path + "/guest.key"
        try write(file)
        var open = try Listener(context)
        var poller = Poller()
        var bearer = try socket(open.port, file)
        let refused = reason(try attempt(&bearer, &open, &poller))
        #expect(refused.contains("is no store, or has none of the keys that \(file) names"), "\(refused)")
        var locked = try listener()
        var stranger = try socket(locked.port, nil)
        let asked = reason(try attempt(&stranger, &locked, &poller))
        #expect(asked.contains("lets nobody in without a key: name its file with --key"), "\(asked)")
    }
}
