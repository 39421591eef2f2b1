import SamovarStore
import SamovarWire
import ZeroMQ

/// The sockets of a store's doors, all of them files or all of them ports. Made and used on the loop's thread.
final class DoorSockets {
    private var front: BoundSocket
    private var work: BoundSocket
    /// Nil for ports without keys: operators come over `ipc` then.
    private var admin: BoundSocket?
    private var view: BoundSocket
    /// The topics that subscribers have asked for here since the view socket was opened.
    private(set) var topics: Set<[UInt8]> = []
    private var takenBack: Set<[UInt8]> = []
    private var strange = 0
    private let authenticators: [Door: Authenticator]
    /// Where they are, by the doors that there are.
    let doors: [(door: Door, address: String)]

    /// - Parameters:
    ///   - address: where a door is, as ZeroMQ spells it.
    ///   - hasAdmin: whether operators come in here.
    ///   - secret: the key of the store; nil for sockets without keys.
    init(
        _ context: Context, at address: (Door) -> String, hasAdmin: Bool = true, secret: CurveSecretKey?, poller: inout Poller,
        authenticator: (Door) throws(ZeroMQError) -> Authenticator
    ) throws(ZeroMQError) {
        var authenticators: [Door: Authenticator] = [:]
        var doors: [(door: Door, address: String)] = []
        func bound(_ door: Door, _ kind: Socket.Kind, _ options: SocketOptions) throws(ZeroMQError) -> BoundSocket {
            let authenticator = try authenticator(door)
            authenticators[door] = authenticator
            var options = options
            options.security = Self.security(secret, authenticator)
            doors.append((door, address(door)))
            return try BoundSocket(context, kind, options, at: address(door))
        }
        var front = try bound(.front, .router, .front)
        var work = try bound(.work, .router, .work)
        let view = try bound(.view, .extendedPublisher, .view)
        front.register(&poller)
        work.register(&poller)
        var admin: BoundSocket?
        if hasAdmin {
            admin = try bound(.admin, .router, .admin)
            admin?.register(&poller)
        }
        self.front = front
        self.work = work
        self.admin = admin
        self.view = view
        self.authenticators = authenticators
        self.doors = doors
    }

    private static func security(_ secret: CurveSecretKey?, _ authenticator: Authenticator) -> SocketOptions.Security {
        secret.map { .curveServer($0, authenticator) } ?? .authenticated(authenticator)
    }

    /// How many were not let in.
    var refusals: Int { authenticators.values.reduce(0) { $0 + $1.counts.refused } }

    /// Nobody has been reported yet.
    func forgetReports() { for authenticator in authenticators.values { authenticator.forgetReports() } }

    // MARK: Connections

    /// Takes connections at these listeners only.
    func open(_ listeners: DescriptorPolicy.Listeners) throws(ZeroMQError) {
        try front.listen(listeners == .open)
        try view.listen(listeners == .open)
        try work.listen(listeners != .closed)
    }

    /// Ends all connections, and has another key from then on.
    func close(for secret: CurveSecretKey) throws(ZeroMQError) {
        for (door, authenticator) in authenticators {
            let security = Self.security(secret, authenticator)
            switch door {
            case .front: front.secure(security)
            case .work: work.secure(security)
            case .view: view.secure(security)
            case .admin: admin?.secure(security)
            }
        }
        try front.close()
        try work.close()
        try admin?.close()
        try closeView()
    }

    /// Ends the connections of subscribers.
    func closeView() throws(ZeroMQError) {
        (topics, takenBack, strange) = ([], [], 0)
        try view.close()
    }

    /// Some sockets are closed, and ``reopen(_:)`` has to be called every now and then.
    var isIncomplete: Bool { front.isClosed || work.isClosed || view.isClosed || isAdminClosed }

    private var isAdminClosed: Bool {
        switch admin {
        case .some(let admin): admin.isClosed
        case .none: false
        }
    }

    /// Opens what is closed, as far as its address is free.
    func reopen(_ poller: inout Poller) throws(ZeroMQError) {
        if try front.reopen() { front.register(&poller) }
        if try work.reopen() { work.register(&poller) }
        if try admin?.reopen() ?? false { admin?.register(&poller) }
        _ = try view.reopen()
    }

    // MARK: Messages

    /// - Returns: whether there may be more.
    func receive(
        _ poller: borrowing Poller, _ body: (Listener, MultipartMessage, Identity?) -> Void
    ) throws(ZeroMQError) -> Bool {
        var hasMore = false
        if try work.receive(poller, { body(.work, $0, $1) }) { hasMore = true }
        if try admin?.receive(poller, { body(.admin, $0, $1) }) ?? false { hasMore = true }
        if try front.receive(poller, { body(.front, $0, $1) }) { hasMore = true }
        return hasMore
    }

    func send(_ frames: [[UInt8]], at listener: Listener) throws(ZeroMQError) -> SendResult {
        switch listener {
        case .front: try front.send(frames)
        case .work: try work.send(frames)
        case .admin: try admin?.send(frames) ?? .unreachable
        }
    }

    func publish(_ frames: [[UInt8]]) throws(ZeroMQError) { _ = try view.send(frames) }

    /// What a subscriber asks for: 1 and a topic, or 0 and one that is taken back; or anything else.
    func hearTopic() throws(ZeroMQError) -> [UInt8]? {
        guard let report = try view.receive()?.frames[0] else { return nil }
        let topic = Array(report.dropFirst())
        switch report.first {
        case 1:
            topics.insert(topic)
            takenBack.remove(topic)
        case 0 where topics.contains(topic): takenBack.insert(topic)
        default: strange += 1
        }
        return report
    }

    /// How much subscribers have sent since the view socket was opened.
    var reports: Int { topics.count + strange }

    /// Whether somebody listens. Not to be relied on where a peer means harm: it may take back what another one wants.
    var hasSubscribers: Bool { takenBack.count < topics.count }
}
