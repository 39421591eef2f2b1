import SamovarCore
import SamovarStore
import SamovarWire
import ZeroMQ

/// The bound sockets of a store: those in its folder, and beside them those at its ports if it has any. Made and used on the loop's thread.
struct StoreSockets: ~Copyable {
    private let local: DoorSockets
    private let remote: DoorSockets?
    private let gate: KeyGate
    private let context: Context
    /// The public half of the key at the ports; nil without keys.
    private var server: CurvePublicKey?
    /// Subscribers may have asked for something that was not heard yet.
    private(set) var mayHaveReports = false
    /// To whom GOODBYE was said, as far as they may still be there.
    private var goodbyes: [(Envelope, Route)] = []
    /// What is said to those who come later.
    private var farewell: Envelope?
    private var refusalsOfTrial = 0

    /// Topics heard before the store goes on.
    private static let reportsPerTurn = 256

    /// - Parameters:
    ///   - keys: of whoever comes over TCP; nil takes everybody there, and operators in the folder alone.
    ///   - clock: the store's own time, by which keys expire.
    ///   - report: hears, on another thread, of those that were not let in: a line for a log.
    init(
        _ context: Context, at endpoint: Endpoint, keys: StoreKeys? = nil, clock: HostClock = HostClock(),
        poller: inout Poller, report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        try SocketFolder.make(endpoint.folder)
        let gate = KeyGate(keys?.table ?? .none, clock, report: report)
        let local = try DoorSockets(
            context, at: { endpoint.file(of: $0) }, secret: nil, poller: &poller
        ) { _ throws(ZeroMQError) in try gate.local(context) }
        var remote: DoorSockets?
        if case .tcp = endpoint {
            let secret = keys?.server.secretKey
            remote = try DoorSockets(
                context, at: { endpoint.address(of: $0) }, hasAdmin: secret != nil, secret: secret, poller: &poller
            ) { door throws(ZeroMQError) in try secret == nil ? gate.open(context) : gate.door(door, context) }
        }
        self.local = local
        self.remote = remote
        self.gate = gate
        self.context = context
        server = keys?.server.publicKey
    }

    // MARK: Keys

    /// Has strangers and a key of its own try the doors that need keys.
    ///
    /// - Throws: `StoreError` if one of them lets the wrong ones in.
    mutating func tryDoors() throws {
        guard let server, let remote else { return }
        let before = remote.refusals
        try DoorTrial.run(context, at: remote.all.map { ($0.door, $0.address) }, of: server, gate)
        refusalsOfTrial += remote.refusals - before
        // Or strangers of loopback would not be reported either, for a while.
        remote.forgetReports()
    }

    /// Takes other keys. If the store's own is another one, all connections over the network end, and ``reopen(_:)`` takes new ones.
    ///
    /// - Returns: whether it is.
    mutating func take(_ keys: StoreKeys, _ topics: inout ViewTopics) throws(ZeroMQError) -> Bool {
        gate.replace(keys.table)
        guard let former = server, former != keys.server.publicKey else { return false }
        server = keys.server.publicKey
        try closeRemoteViews(&topics)
        try remote?.close(for: keys.server.secretKey)
        return true
    }

    /// Ends the connections of all who hear views over the network: some may not any more, and libzmq ends none alone.
    mutating func closeRemoteViews(_ topics: inout ViewTopics) throws(ZeroMQError) {
        try remote?.closeView()
        topics.restart(with: local.topics)
    }

    /// How many were not let in, without those of the trial.
    var refusals: Int { local.refusals + (remote?.refusals ?? 0) - refusalsOfTrial }

    // MARK: Connections

    /// Takes connections at these listeners only. libzmq ends those that came in at an address that is given up.
    ///
    /// - Throws: as ``reopen(_:)``.
    mutating func open(_ listeners: DescriptorPolicy.Listeners) throws(StoreError) {
        do throws(ZeroMQError) {
            try local.open(listeners)
            try remote?.open(listeners)
        } catch {
            throw Self.closed(by: error)
        }
    }

    /// Some sockets are closed: what is sent there goes nowhere, and ``reopen(_:)`` has to be called every now and then.
    var isIncomplete: Bool { local.isIncomplete || remote?.isIncomplete ?? false }

    /// Opens what is closed, as far as its address is free.
    ///
    /// - Throws: `StoreError` if one stays taken: a store that is started again waits for it.
    mutating func reopen(_ poller: inout Poller) throws(StoreError) {
        do throws(ZeroMQError) {
            try local.reopen(&poller)
            try remote?.reopen(&poller)
        } catch {
            throw Self.closed(by: error)
        }
    }

    private static func closed(by error: ZeroMQError) -> StoreError {
        StoreError(.inputOutput, "cannot listen again: \(error)")
    }

    // MARK: Messages

    /// Hands over what has arrived, if the last wait found something, with who has sent it. True if there may be more.
    mutating func receive(
        _ poller: borrowing Poller, _ body: (Route, Identity, [[UInt8]], _ isTruncated: Bool) -> Void
    ) throws(ZeroMQError) -> Bool {
        func hand(_ isRemote: Bool, _ listener: Listener, _ message: MultipartMessage, _ identity: Identity?) {
            // All have a name unless libzmq lets somebody in without asking.
            guard let identity else { return }
            let frames = message.frames
            let route = Route(listener: listener, id: frames[0], isRemote: isRemote)
            body(route, identity, Array(frames.dropFirst()), message.isTruncated)
        }
        var hasMore = try local.receive(poller) { hand(false, $0, $1, $2) }
        if try remote?.receive(poller, { hand(true, $0, $1, $2) }) ?? false { hasMore = true }
        return hasMore
    }

    /// A peer that is gone or too slow loses the frame; its own resending or the next view repairs that.
    mutating func send(_ envelope: Envelope, to route: Route) throws(ZeroMQError) {
        if envelope.kind == .goodbye {
            goodbyes.append((envelope, route))
            farewell = envelope
        }
        _ = try deliver(envelope, to: route)
    }

    private mutating func deliver(_ envelope: Envelope, to route: Route) throws(ZeroMQError) -> SendResult {
        let frames = [route.id] + envelope.parts
        guard route.isRemote else { return try local.send(frames, at: route.listener) }
        return try remote?.send(frames, at: route.listener) ?? .unreachable
    }

    /// Says GOODBYE again to those who were told it and are still there; there is no other way to see whether they are. Who comes now is told
    /// it, too, and looks for another store; nothing of what arrives is taken.
    ///
    /// - Parameter poller: has just waited.
    /// - Returns: whether nobody is there any more, subscribers included.
    mutating func part(_ poller: borrowing Poller, _ topics: inout ViewTopics) throws(ZeroMQError) -> Bool {
        var arrived: Set<Route> = []
        _ = try receive(poller) { route, _, _, _ in if route.listener != .admin { arrived.insert(route) } }
        if let farewell { goodbyes += arrived.subtracting(goodbyes.map(\.1)).sorted().map { (farewell, $0) } }
        var left: [(Envelope, Route)] = []
        for (goodbye, route) in goodbyes where try deliver(goodbye, to: route) != .unreachable { left.append((goodbye, route)) }
        goodbyes = left
        mayHaveReports = true
        _ = try count(&topics)
        return goodbyes.isEmpty && !local.hasSubscribers && !(remote?.hasSubscribers ?? false)
    }

    mutating func publish(_ envelope: Envelope, of instance: Instance) throws(ZeroMQError) {
        let frames = [viewTopic(of: instance)] + envelope.parts
        try local.publish(frames)
        try remote?.publish(frames)
        mayHaveReports = true
    }

    // MARK: Topics

    /// Hears what subscribers ask for, as often as something is published, and closes a view socket if that is too much.
    ///
    /// - Returns: whether one was closed.
    mutating func count(_ topics: inout ViewTopics) throws(ZeroMQError) -> Bool {
        guard mayHaveReports else { return false }
        mayHaveReports = false
        for sockets in [local, remote] {
            guard let sockets else { continue }
            for number in 1...Self.reportsPerTurn {
                guard let report = try sockets.hearTopic() else { break }
                if topics.received(report) {
                    // Where more was sent, all lose their connection; what the others want stays.
                    if let remote, remote.reports > local.reports {
                        try remote.closeView()
                    } else {
                        try local.closeView()
                    }
                    topics.restart(with: local.topics.union(remote?.topics ?? []))
                    return true
                }
                if number == Self.reportsPerTurn { mayHaveReports = true }
            }
        }
        return false
    }
}
