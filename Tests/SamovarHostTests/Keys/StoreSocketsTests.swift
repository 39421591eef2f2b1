import Foundation
import SamovarCore
import SamovarStore
import SamovarWire
import Testing
import ZeroMQ

@testable import SamovarHost

/// Who comes in at the doors of a store, over real sockets.
struct StoreSocketsTests {
    // MARK: Both sides

    /// A store's sockets, and no more of it.
    fileprivate final class Store {
        let context: Context
        let endpoint: Endpoint
        let port: Int
        let reports = Lines()
        var poller = Poller()
        var sockets: StoreSockets
        var topics = ViewTopics(limit: 4)

        /// - Parameter keys: nil for ports without keys.
        init(_ keys: StoreKeys?, _ clock: HostClock = HostClock()) throws {
            context = try Context.shared()
            port = try freePorts()
            endpoint = try Endpoint("tcp://127.0.0.1:\(port)", dataFolder: "/nowhere/\(port)")
            let reports = reports
            sockets = try StoreSockets(context, at: endpoint, keys: keys, clock: clock, poller: &poller) { reports.add($0) }
        }

        deinit { endpoint.removeFiles() }

        var refusals: Int { sockets.refusals }
        var isIncomplete: Bool { sockets.isIncomplete }

        func address(_ door: Door, isRemote: Bool = true) -> String {
            let offset = [Door.front, .work, .view, .admin].firstIndex(of: door) ?? 0
            return isRemote ? "tcp://127.0.0.1:\(port + offset)" : "ipc://\(endpoint.folder)/\(door)"
        }

        /// The next message, and who has sent it.
        func next() throws -> (route: Route, identity: Identity, frames: [[UInt8]]) {
            var heard: [(Route, Identity, [[UInt8]])] = []
            try eventually {
                try poller.wait(timeoutMilliseconds: 10)
                _ = try sockets.receive(poller) { route, identity, frames, _ in heard.append((route, identity, frames)) }
                return !heard.isEmpty
            }
            #expect(heard.count == 1)
            return try #require(heard.first)
        }

        /// Goes round, and so do the peers, until something is so.
        func goRound(with peers: [Peer] = [], until condition: () throws -> Bool) throws {
            try eventually {
                try poller.wait(timeoutMilliseconds: 5)
                try sockets.publish(Envelope(.ping(1), timeline: .zero), of: .main)
                _ = try sockets.count(&topics)
                if sockets.isIncomplete { try sockets.reopen(&poller) }
                for peer in peers { try peer.goRound() }
                return try condition()
            }
        }
    }

    /// Somebody at a door.
    fileprivate final class Peer {
        private(set) var heard: [[[UInt8]]] = []
        private var monitor: ConnectionMonitor
        private var socket: Socket

        init(_ store: Store, _ door: Door, _ security: SocketOptions.Security = .none, isRemote: Bool = true, topics: [String] = [])
            throws
        {
            var options = door == .view ? SocketOptions.subscriber : .client
            options.security = security
            var socket = try Socket(store.context, door == .view ? .subscriber : .dealer, options: options)
            for topic in topics { try socket.subscribe(Array("view/\(topic)\0".utf8)) }
            monitor = try ConnectionMonitor(socket, in: store.context)
            try socket.connect(store.address(door, isRemote: isRemote))
            self.socket = socket
        }

        convenience init(_ store: Store, _ door: Door, _ key: KeyFile, topics: [String] = []) throws {
            try self.init(store, door, .curveClient(key.pair, server: key.servers[0]), topics: topics)
        }

        func send(_ frames: [UInt8]...) throws { #expect(try socket.send(frames) == .sent) }

        func isIn() throws -> Bool {
            try eventually { try monitor.connectionEnd() != nil || monitor.wasConnected }
            return monitor.wasConnected
        }

        func end() throws -> ConnectionEnd {
            var end: ConnectionEnd?
            try eventually {
                end = try monitor.connectionEnd()
                return end != nil
            }
            return try #require(end)
        }

        /// Whether it is there still.
        func isThere() throws -> Bool { try monitor.connectionEnd() == nil }

        /// A subscriber says what it wants in one of its calls, once it is connected.
        func goRound() throws { while let message = try socket.receive() { heard.append(message.frames) } }

        func next() throws -> [[UInt8]] {
            var frames: [[UInt8]]?
            try eventually {
                frames = try socket.receive()?.frames
                return frames != nil
            }
            return try #require(frames)
        }
    }

    // MARK: Keys

    private final class Keys {
        let folder: PrivateFolder
        private var keys: KeysFolder

        init() throws {
            let folder = try PrivateFolder()
            keys = try KeysFolder(folder.path + "/keys", mayMake: true)
            self.folder = folder
        }

        func issue(_ name: String, _ roles: Set<Role>, notAfter: Timestamp? = nil) throws -> KeyFile {
            let name = try #require(KeyName(name))
            let file = "\(folder.path)/\(name).key"
            _ = try keys.issue(name, to: file) { Key(name, $0, roles: roles, notAfter: notAfter) }
            return try KeyFile.ofPeer(file)
        }

        func change(_ body: (inout KeysFolder) throws -> Void) throws { try body(&keys) }

        func read() throws -> StoreKeys { try StoreKeys(folder: folder.path + "/keys") }
    }

    // MARK: In and out

    @Test func `Over ipc comes the user of the store, also beside ports`() throws {
        let store = try Store(try Keys().read())
        for door in [Door.front, .work, .admin] {
            let peer = try Peer(store, door, isRemote: false)
            #expect(try peer.isIn())
            try peer.send([1], [2])
            let (route, identity, frames) = try store.next()
            #expect(identity == .local && !route.isRemote && frames == [[1], [2]])
            try store.sockets.send(Envelope(.pong(7), timeline: .zero), to: route)
            #expect(try !peer.next().isEmpty)
        }
        #expect(try Peer(store, .view, isRemote: false).isIn())
    }

    @Test func `At a port comes whoever has a key for it, and each message says which`() throws {
        let keys = try Keys()
        let files: [Door: KeyFile] = [
            .front: try keys.issue("c", [.client]), .work: try keys.issue("w", [.worker]), .view: try keys.issue("v", [.viewer]),
            .admin: try keys.issue("o", [.operator]),
        ]
        let store = try Store(try keys.read())
        for (door, file) in files {
            let peer = try Peer(store, door, file)
            #expect(try peer.isIn(), "\(door)")
            guard door != .view else { continue }
            try peer.send([1])
            let (route, identity, frames) = try store.next()
            #expect(identity == .key(file.fingerprint) && route.isRemote && frames == [[1]])
            try store.sockets.send(Envelope(.pong(7), timeline: .zero), to: route)
            #expect(try !peer.next().isEmpty)
        }
        // Those of another door are refused, and of somebody who has none.
        #expect(try Peer(store, .work, try #require(files[.front])).end() == .refused)
        #expect(try Peer(store, .admin, try #require(files[.work])).end() == .refused)
        #expect(try Peer(store, .front).end() == .misunderstood)
        #expect(store.refusals == 2)
        #expect(store.reports.all.count == 2)
        #expect(store.reports.all.first?.hasPrefix("127.0.0.1 is not let in at work: the key c (") == true)
    }

    @Test func `A key that has expired or that nobody knows is refused`() throws {
        let keys = try Keys()
        let expired = try keys.issue("a", [.client], notAfter: Timestamp(microseconds: 1_600_000_000_000_000))
        let store = try Store(try keys.read())
        #expect(try Peer(store, .front, expired).end() == .refused)
        let unknown = KeyFile(expired.name, try CurveKeyPair(), servers: expired.servers)
        #expect(try Peer(store, .view, unknown).end() == .refused)
        let reports = store.reports.all
        #expect(reports.contains { $0.contains("has expired") })
        #expect(reports.contains { $0.contains("nobody has the key \(unknown.fingerprint)") })
    }

    @Test func `Keys expire by the time of the store, whatever the clock of its machine says`() throws {
        let keys = try Keys()
        let clock = HostClock()
        let now = Timestamp(microseconds: clock.now().microseconds / 1_000_000 * 1_000_000)
        let expired = try keys.issue("a", [.viewer], notAfter: now + .seconds(3_600))
        let valid = try keys.issue("b", [.viewer], notAfter: now + .seconds(3 * 3_600))
        let store = try Store(try keys.read(), clock.ahead(by: .seconds(2 * 3_600)))
        #expect(try Peer(store, .view, expired).end() == .refused)
        #expect(store.reports.all.first?.contains("has expired") == true)
        #expect(try Peer(store, .view, valid).isIn())
    }

    @Test func `Without keys everybody comes in at ports, but not as an operator`() throws {
        let store = try Store(nil)
        for door in [Door.front, .work] {
            let peer = try Peer(store, door)
            #expect(try peer.isIn())
            try peer.send([1])
            let (route, identity, _) = try store.next()
            #expect(identity == .local && route.isRemote)
        }
        #expect(try Peer(store, .view).isIn())
        #expect(try Peer(store, .admin).end() == .lost)
        #expect(try Peer(store, .admin, isRemote: false).isIn())
        try store.sockets.tryDoors()
    }

    // MARK: Changes

    @Test func `Another table is that of those who come next`() throws {
        let keys = try Keys()
        let former = try keys.issue("a", [.client])
        let store = try Store(try keys.read())
        let peer = try Peer(store, .front, former)
        #expect(try peer.isIn())
        let new = try keys.issue("b", [.client])
        #expect(try Peer(store, .front, new).end() == .refused)
        try keys.change { _ = try $0.revoke("a") }
        #expect(try !store.sockets.take(try keys.read(), &store.topics))
        #expect(try Peer(store, .front, new).isIn())
        #expect(try Peer(store, .front, former).end() == .refused)
        // Who is in stays: the store looks at each of its frames.
        try peer.send([1])
        #expect(try store.next().identity == .key(former.fingerprint))
    }

    @Test func `With another key of the store all come again over the network, and nobody else`() throws {
        let keys = try Keys()
        try keys.change { _ = try $0.makeServerKey() }
        let file = try keys.issue("a", [.client])
        let store = try Store(try keys.read())
        let (remote, local) = (try Peer(store, .front, file), try Peer(store, .front, isRemote: false))
        #expect(try remote.isIn() && local.isIn())

        try keys.change { _ = try $0.switchServerKey() }
        #expect(try store.sockets.take(try keys.read(), &store.topics))
        #expect(store.isIncomplete)
        #expect(try remote.end() == .lost)
        try store.goRound { !store.sockets.isIncomplete }
        #expect(try Peer(store, .front, file).end() == .unanswered)
        for door in [Door.front, .view] {
            #expect(try Peer(store, door, .curveClient(file.pair, server: file.servers[1])).isIn())
        }
        let again = try Peer(store, .front, .curveClient(file.pair, server: file.servers[1]))
        #expect(try again.isIn())
        try again.send([1])
        #expect(try store.next().identity == .key(file.fingerprint))
        #expect(try local.isThere())
        try store.sockets.tryDoors()
    }

    @Test func `Views over the network can be closed alone, and their topics are forgotten`() throws {
        let keys = try Keys()
        let file = try keys.issue("v", [.viewer, .client])
        let store = try Store(try keys.read())
        let front = try Peer(store, .front, file)
        let remote = try Peer(store, .view, file, topics: ["a", "b"])
        let local = try Peer(store, .view, isRemote: false, topics: ["b", "c"])
        #expect(try front.isIn() && remote.isIn() && local.isIn())
        try store.goRound(with: [remote, local]) { store.topics.count == 3 }

        try store.sockets.closeRemoteViews(&store.topics)
        #expect(store.topics.count == 2)
        #expect(try remote.end() == .lost)
        try store.goRound(with: [local]) { !store.sockets.isIncomplete }
        #expect(try front.isThere() && local.isThere())
        let again = try Peer(store, .view, file, topics: ["a", "b"])
        #expect(try again.isIn())
        try store.goRound(with: [again, local]) { store.topics.count == 3 }
    }

    @Test func `A topic that nobody wants any more is counted until its socket is closed`() throws {
        let keys = try Keys()
        let file = try keys.issue("v", [.viewer])
        let store = try Store(try keys.read())
        var remote: Peer? = try Peer(store, .view, file, topics: ["a", "b"])
        let local = try Peer(store, .view, isRemote: false, topics: ["b"])
        #expect(try remote?.isIn() == true && local.isIn())
        try store.goRound(with: [remote, local].compactMap(\.self)) { store.topics.count == 2 }
        remote = nil
        let next = try Peer(store, .view, file, topics: ["a", "c"])
        try store.goRound(with: [next, local]) { store.topics.count == 3 }
        #expect(remote == nil)
        try store.sockets.closeRemoteViews(&store.topics)
        #expect(store.topics.count == 1)
        #expect(try local.isThere())
    }

    @Test func `Of too many topics those lose their connection where more were asked for`() throws {
        let keys = try Keys()
        let file = try keys.issue("v", [.viewer])
        let store = try Store(try keys.read())
        let local = try Peer(store, .view, isRemote: false, topics: ["main", "b"])
        #expect(try local.isIn())
        try store.goRound(with: [local]) { store.topics.count == 2 }
        let greedy = try Peer(store, .view, file, topics: ["1", "2", "3"])
        try store.goRound(with: [local, greedy]) { store.topics.overruns == 1 }
        #expect(try greedy.end() == .lost)
        #expect(store.topics.count == 2)
        #expect(try local.isThere())
        let before = local.heard.count
        try store.goRound(with: [local]) { local.heard.count > before }
    }

    @Test(arguments: [true, false])
    func `A door whose port is taken while it is closed ends the store with what another start may mend`(
        _ hasFewDescriptors: Bool
    ) throws {
        let store = try Store(try Keys().read())
        if hasFewDescriptors { try store.sockets.open(.workersOnly) } else { try store.sockets.closeRemoteViews(&store.topics) }
        var thief = try Socket(store.context, .router, options: .front)
        try eventually {
            do throws(ZeroMQError) {
                try thief.bind(store.address(.view))
                return true
            } catch {
                guard error.code == .addressInUse else { throw error }
                return false
            }
        }
        var failure: StoreError?
        try eventually {
            do throws(StoreError) {
                if hasFewDescriptors { try store.sockets.open(.open) } else { try store.sockets.reopen(&store.poller) }
            } catch {
                failure = error
            }
            return failure != nil
        }
        let taken = try thief.lastEndpoint
        #expect(failure?.code == .inputOutput)
        #expect(failure?.description == "cannot listen again: bind \(taken): Address already in use")
    }

    // MARK: The trial

    @Test func `A store finds its doors as they should be`() throws {
        let keys = try Keys()
        let file = try keys.issue("a", [.client])
        let store = try Store(try keys.read())
        try store.sockets.tryDoors()
        // What it tried them with is refused by now, and nobody was told of strangers.
        #expect(store.reports.all.isEmpty)
        #expect(store.refusals == 0)
        #expect(try Peer(store, .front, file).isIn())
        // The first of them is, from here on.
        #expect(try Peer(store, .front, KeyFile(file.name, try CurveKeyPair(), servers: file.servers)).end() == .refused)
        #expect(store.reports.all.count == 1)
    }

    /// A door that is not as it should be.
    private func trial(
        _ security: (CurveKeyPair, Context) throws -> SocketOptions.Security
    ) throws -> (code: StoreError.Code, text: String)? {
        let context = try Context.shared()
        let server = try CurveKeyPair()
        var options = SocketOptions.front
        options.security = try security(server, context)
        var router = try Socket(context, .router, options: options)
        try router.bind("tcp://127.0.0.1:*")
        let address = try router.lastEndpoint
        let gate = KeyGate(.none, HostClock()) { _ in }
        do {
            try DoorTrial.run(context, at: [(.front, address)], of: server.publicKey, gate)
            return nil
        } catch let error as StoreError {
            return (error.code, error.description)
        }
    }

    @Test func `A door that lets the wrong ones in is found`() throws {
        let everyKey = try trial { server, context in
            .curveServer(server.secretKey, try Authenticator(context, named: "x") { _ in .accept(userID: "x") })
        }
        #expect(everyKey?.code == .configuration)
        #expect(everyKey?.text.contains("lets every key in") == true)
        for security in [
            SocketOptions.Security.none, .authenticated(try Authenticator(.shared(), named: "x") { _ in .accept(userID: "x") }),
        ] {
            let open = try trial { _, _ in security }
            // Whoever has a key does not understand such a door, and may be the first to say so.
            #expect(open?.text.contains("lets anybody in") == true || open?.text.contains("does not let a key in") == true)
        }
        let nobody = try trial { server, context in
            .curveServer(server.secretKey, try Authenticator(context, named: "x") { _ in .refuse })
        }
        #expect(nobody?.code == .inputOutput)
        #expect(nobody?.text.contains("does not let a key in that it knows") == true)
    }

    @Test func `A door with another key is found`() throws {
        let another = try trial { _, context in
            .curveServer(try CurveKeyPair().secretKey, try Authenticator(context, named: "x") { _ in .refuse })
        }
        #expect(another?.text.contains("does not let a key in that it knows") == true)
    }
}

/// The first of four ports in a row that were free a moment ago.
private func freePorts() throws -> Int {
    for _ in 0..<100 {
        let first = Int.random(in: 10_000..<30_000)
        let sockets = (0..<4).map { offset -> Int32 in
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(first + offset).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            let result = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 { return descriptor }
            close(descriptor)
            return -1
        }
        for descriptor in sockets where descriptor >= 0 { close(descriptor) }
        if sockets.allSatisfy({ $0 >= 0 }) { return first }
    }
    throw TimedOut()
}

private struct TimedOut: Error {}

/// Tries again until `condition` holds.
private func eventually(_ condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(60)
    while try !condition() {
        guard ContinuousClock.now < end else { throw TimedOut() }
        usleep(1_000)
    }
}
