import DequeModule
import SamovarCore
import SamovarProtocol
import ZeroMQ

/// The connecting socket of a worker, a client, a subscriber or an agent: one connection, replaced by a new socket after every break.
///
/// Messages that the socket cannot take yet wait in order, until it can or until it is closed.
struct PeerSocket: ~Copyable {
    private let context: Context
    private let kind: Socket.Kind
    private let options: SocketOptions
    private let address: String
    private let topic: [UInt8]?
    private var socket: Socket?
    private var monitor: ConnectionMonitor?
    private var slot: Poller.Slot?
    private var monitorSlot: Poller.Slot?
    private var waiting: Deque<[[UInt8]]> = []
    private(set) var sentBytes = 0
    private(set) var receivedBytes = 0

    private static let messagesPerTurn = 256

    /// A subscriber of the views of an instance.
    init(_ context: Context, views instance: Instance, address: String) {
        self.init(context, .subscriber, options: .subscriber, address: address, topic: viewTopic(of: instance))
    }

    init(
        _ context: Context, _ kind: Socket.Kind = .dealer, options: SocketOptions, address: String, topic: [UInt8]? = nil
    ) {
        self.context = context
        self.kind = kind
        self.options = options
        self.address = address
        self.topic = topic
    }

    // MARK: The connection

    /// Opens another socket in place of the one there is.
    mutating func connect(_ poller: inout Poller) throws {
        disconnect(&poller)
        var socket = try Socket(context, kind, options: options)
        if let topic { try socket.subscribe(topic) }
        let monitor = try ConnectionMonitor(socket, in: context)
        try socket.connect(SocketFolder.checked(address))
        slot = poller.add(socket)
        monitorSlot = poller.add(monitor)
        self.socket = consume socket
        self.monitor = consume monitor
    }

    mutating func disconnect(_ poller: inout Poller) {
        if let slot = slot.take() { poller.remove(slot) }
        if let slot = monitorSlot.take() { poller.remove(slot) }
        monitor = nil
        socket = nil
        waiting.removeAll()
    }

    // MARK: Messages

    /// Nothing waits to be sent.
    var isEmpty: Bool { waiting.isEmpty }

    mutating func send(_ frames: [[UInt8]]) throws(ZeroMQError) {
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
    func prepare(_ poller: inout Poller) {
        guard let slot else { return }
        poller.setInterest(waiting.isEmpty ? .readable : [.readable, .writable], for: slot)
    }

    /// Sends what waits, and hands over what has arrived, if the last wait found something: to look costs a call of the system. Messages
    /// with too many frames are dropped. What is left is found by the next wait.
    ///
    /// - Returns: whether the last wait has found word of the end of the connection. What the other side has said last may have come since
    ///   that wait, and its end with it, so it has been handed over, too.
    mutating func receive(_ poller: borrowing Poller, _ body: ([[UInt8]]) throws -> Void) throws -> Bool {
        try sendWaiting()
        guard let slot, let monitorSlot else { return false }
        let isBroken = poller.isReadable(monitorSlot) ? try monitor?.connectionBroke() ?? false : false
        guard isBroken || poller.isReadable(slot) else { return false }
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try socket?.receive() else { break }
            guard !message.isTruncated else { continue }
            receivedBytes += message.frames.reduce(0) { $0 + $1.count }
            try body(message.frames)
        }
        return isBroken
    }

    /// Likewise as envelopes. What is none is dropped: noise from what claims to be a store is silence, and silence ends the connection; a
    /// missing view shows in the next tick.
    mutating func receiveEnvelopes(_ poller: borrowing Poller, _ body: (Envelope) throws -> Void) throws -> Bool {
        // A published message begins with its topic.
        let first = topic == nil ? 0 : 1
        return try receive(poller) { frames in
            if let envelope = try? Envelope(parts: first == 0 ? frames : Array(frames.dropFirst())) { try body(envelope) }
        }
    }
}
