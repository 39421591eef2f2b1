import DequeModule
package import SamovarCore
package import SamovarPeers
package import SamovarWire
package import ZeroMQ

/// The connecting socket of a worker, a client, a subscriber or an agent: one connection at one place, replaced by a new socket at the
/// next place after every break.
///
/// Messages that the socket cannot take yet wait in order, until it can or until it is closed.
package struct PeerSocket: ~Copyable {
    private let context: Context
    private let kind: Socket.Kind
    private let options: SocketOptions
    private let topic: [UInt8]?
    private let keyFile: String?
    private let address: @Sendable (ConnectionPlan.Place) -> String
    private var plan: ConnectionPlan
    private var names: NameDesk
    /// As it was read for this attempt.
    private var key: KeyFile?
    /// Which that was; nil without a key.
    package private(set) var shownKey: Fingerprint?
    private var place = ""
    /// Why the attempt has failed before there was a socket.
    private var failure: Disconnection?
    /// How many attempts in a row have ended before the connection stood, without a word.
    private var unanswered = 0
    private var socket: Socket?
    private var monitor: ConnectionMonitor?
    private var slot: Poller.Slot?
    private var monitorSlot: Poller.Slot?
    private var waiting: Deque<[[UInt8]]> = []
    package private(set) var sentBytes = 0
    package private(set) var receivedBytes = 0

    private static let messagesPerTurn = 256
    /// A store that ends at such a moment does so once; one that has another key does so each time.
    private static let maximumUnanswered = 5

    /// A subscriber of the views of an instance.
    package init(_ context: Context, views instance: Instance, of store: StoreAccess) {
        self.init(context, .subscriber, options: .subscriber, to: store, at: .view, topic: viewTopic(of: instance))
    }

    package init(
        _ context: Context, _ kind: Socket.Kind = .dealer, options: SocketOptions, to store: StoreAccess, at door: Door,
        topic: [UInt8]? = nil
    ) {
        self.init(context, kind, options, store.plan(for: door), keyFile: store.keyFile(for: door), topic, .shared) {
            store.address(of: $0, for: door)
        }
    }

    /// One that connects to nobody's store, and always to this address.
    package init(_ context: Context, options: SocketOptions, address: String) {
        self.init(context, .dealer, options, ConnectionPlan([.address(address)]), nil, .shared) { $0.address }
    }

    init(
        _ context: Context, _ kind: Socket.Kind, _ options: SocketOptions, _ plan: ConnectionPlan, keyFile: String? = nil,
        _ topic: [UInt8]?, _ resolver: Resolver, address: @escaping @Sendable (ConnectionPlan.Place) -> String
    ) {
        self.keyFile = keyFile
        self.context = context
        self.kind = kind
        self.options = options
        self.plan = plan
        self.topic = topic
        self.address = address
        names = NameDesk(resolver)
    }

    // MARK: The connection

    /// The other, which is for another door of the same store, stands: the next attempt of this one is where that is.
    ///
    /// - Returns: whether this one is elsewhere.
    package mutating func follow(_ other: borrowing PeerSocket) -> Bool { plan.follow(other.plan) }

    /// At how many places there may be somebody, as far as is known.
    package var places: Int { plan.places }

    /// Opens another socket in place of the one there is, at the next place. If its host has to be looked up, that is done before, and
    /// nobody waits.
    package mutating func connect(_ poller: inout Poller) throws {
        disconnect(&poller)
        do throws(KeyFileError) {
            key = try keyFile.map { path throws(KeyFileError) in try KeyFile.ofPeer(path) }
        } catch {
            // Whoever renews it may just be about to.
            failure = .impossible("\(error)")
            return names.wake(&poller)
        }
        shownKey = key?.fingerprint
        try take(plan.next(keys: key?.servers.count ?? 1), &poller)
    }

    /// The key that the file has now; nil if there is none to be read, and a new one may just be about to be.
    package func readKey() -> Fingerprint? { keyFile.flatMap { try? KeyFile.ofPeer($0).fingerprint } }

    private mutating func take(_ step: ConnectionPlan.Step, _ poller: inout Poller) throws {
        do {
            switch step {
            case .open(let place): try open(place, &poller)
            case .resolve(let name): try names.ask(name, &poller)
            }
        } catch let error as ZeroMQError where error.code.isShortage {
            // Whoever has taken it all may give some back. It is told by the next look: for a wake-up there may be no descriptor left.
            failure = .impossible("\(error)")
        }
    }

    private mutating func open(_ place: ConnectionPlan.Place, _ poller: inout Poller) throws {
        self.place = address(place)
        var options = options
        if self.place.hasPrefix("tcp://"), let key = key.take() {
            options.security = .curveClient(key.pair, server: key.servers[place.key])
        }
        var socket = try Socket(context, kind, options: options)
        if let topic { try socket.subscribe(topic) }
        let monitor = try ConnectionMonitor(socket, in: context)
        try socket.connect(SocketFolder.checked(self.place))
        slot = poller.add(socket)
        monitorSlot = poller.add(monitor)
        self.socket = consume socket
        self.monitor = consume monitor
    }

    package mutating func disconnect(_ poller: inout Poller) {
        names.forget()
        (key, shownKey, failure) = (nil, nil, nil)
        if let slot = slot.take() { poller.remove(slot) }
        if let slot = monitorSlot.take() { poller.remove(slot) }
        monitor = nil
        socket = nil
        waiting.removeAll()
    }

    /// Goes on with what has been looked up.
    ///
    /// - Returns: why there is no socket and will be none, if that is so.
    private mutating func resolve(_ poller: inout Poller) throws -> Disconnection? {
        if let failure = failure.take() { return failure }
        while let answer = names.take(poller) {
            guard let step = plan.resolved(answer.addresses) else { return .impossible(answer.failure) }
            try take(step, &poller)
        }
        return nil
    }

    // MARK: Messages

    var isEmpty: Bool { waiting.isEmpty }

    package mutating func send(_ frames: [[UInt8]]) throws(ZeroMQError) {
        waiting.append(frames)
        try sendWaiting()
    }

    private mutating func sendWaiting() throws(ZeroMQError) {
        while let frames = waiting.first {
            guard try socket?.send(frames) == .sent else { return }
            sentBytes += frames.reduce(0) { $0 + $1.count }
            waiting.removeFirst()
        }
    }

    /// Asks the poller for what is needed now; call it before each wait.
    package func prepare(_ poller: inout Poller) {
        guard let slot else { return }
        poller.setInterest(waiting.isEmpty ? .readable : [.readable, .writable], for: slot)
    }

    /// Sends what waits, and hands over what has arrived, if the last wait found something: to look costs a call of the system. Messages
    /// with too many frames are dropped. What is left is found by the next wait.
    ///
    /// - Returns: the end of the connection, if the last wait has found word of it. What the other side has said last may have come since
    ///   that wait, and its end with it, so it has been handed over, too.
    package mutating func receive(_ poller: inout Poller, _ body: ([[UInt8]]) throws -> Void) throws -> Disconnection? {
        if let failure = try resolve(&poller) { return failure }
        try sendWaiting()
        guard let slot, let monitorSlot else { return nil }
        let end = poller.isReadable(monitorSlot) ? try monitor?.connectionEnd() : nil
        guard end != nil || poller.isReadable(slot) else { return nil }
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try socket?.receive() else { break }
            guard !message.isTruncated else { continue }
            receivedBytes += message.frames.reduce(0) { $0 + $1.count }
            unanswered = 0
            try body(message.frames)
        }
        guard let end else { return nil }
        unanswered = end == .unanswered ? unanswered + 1 : 0
        let file = place.hasPrefix("tcp://") ? keyFile : nil
        return Disconnection(end, at: place, keyFile: file, isUsual: unanswered >= Self.maximumUnanswered)
    }

    /// Likewise as envelopes. What is none is dropped: noise from what claims to be a store is silence, and silence ends the connection; a
    /// missing view shows in the next tick.
    ///
    /// - Parameter body: takes one, and says whether who has sent it is believed to be the store. Its place is then tried again first.
    package mutating func receiveEnvelopes(_ poller: inout Poller, _ body: (Envelope) throws -> Bool) throws -> Disconnection? {
        // A published message begins with its topic.
        let first = topic == nil ? 0 : 1
        var isServed = false
        defer { if isServed { plan.served() } }
        return try receive(&poller) { frames in
            guard let envelope = try? Envelope(parts: first == 0 ? frames : Array(frames.dropFirst())) else { return }
            // A store that sends a peer away may do so for ever.
            if try body(envelope), envelope.kind != .error { isServed = true }
        }
    }
}
