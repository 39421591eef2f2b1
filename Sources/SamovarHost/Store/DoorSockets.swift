import SamovarStore
import SamovarWire
import ZeroMQ

/// The sockets of a store's doors, all of them files or all of them ports. Made and used on the loop's thread.
final class DoorSockets {
    private let front: BoundSocket
    private let work: BoundSocket
    private let view: BoundSocket
    /// Nil for ports without keys: operators come over `ipc` then.
    private let admin: BoundSocket?
    /// Those that there are.
    let all: [BoundSocket]
    /// The topics that subscribers have asked for here since the view socket was opened.
    private(set) var topics: Set<[UInt8]> = []
    private var takenBack: Set<[UInt8]> = []
    private var strange = 0

    /// - Parameters:
    ///   - address: where a door is, as ZeroMQ spells it.
    ///   - hasAdmin: whether operators come in here.
    ///   - secret: the key of the store; nil for sockets without keys.
    init(
        _ context: Context, at address: (Door) -> String, hasAdmin: Bool = true, secret: CurveSecretKey?, poller: inout Poller,
        authenticator: (Door) throws(ZeroMQError) -> Authenticator
    ) throws(ZeroMQError) {
        func bound(_ door: Door) throws(ZeroMQError) -> BoundSocket {
            try BoundSocket(context, door, at: address(door), secret, authenticator(door))
        }
        front = try bound(.front)
        work = try bound(.work)
        view = try bound(.view)
        admin = try hasAdmin ? bound(.admin) : nil
        all = [front, work, view, admin].compactMap(\.self)
        for socket in all { socket.register(&poller) }
    }

    /// How many were not let in.
    var refusals: Int { all.reduce(0) { $0 + $1.authenticator.counts.refused } }

    /// Nobody has been reported yet.
    func forgetReports() { for socket in all { socket.authenticator.forgetReports() } }

    // MARK: Connections

    /// Takes connections at these listeners only.
    func open(_ listeners: DescriptorPolicy.Listeners) throws(ZeroMQError) {
        try front.listen(listeners == .open)
        try view.listen(listeners == .open)
        try work.listen(listeners != .closed)
    }

    /// Ends all connections, and has another key from then on.
    func close(for secret: CurveSecretKey) throws(ZeroMQError) {
        for socket in all {
            socket.secure(secret)
            try socket.close()
        }
        try closeView()
    }

    func closeView() throws(ZeroMQError) {
        (topics, takenBack, strange) = ([], [], 0)
        try view.close()
    }

    /// Some sockets are closed, and ``reopen(_:)`` has to be called every now and then.
    var isIncomplete: Bool { front.isClosed || work.isClosed || view.isClosed || admin?.isClosed ?? false }

    /// Opens what is closed, as far as its address is free.
    func reopen(_ poller: inout Poller) throws(ZeroMQError) {
        for socket in all where try socket.reopen() { socket.register(&poller) }
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
