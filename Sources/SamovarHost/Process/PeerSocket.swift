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
        if let slot { poller.replace(slot, with: socket) } else { slot = poller.add(socket) }
        if let monitorSlot { poller.replace(monitorSlot, with: monitor) } else { monitorSlot = poller.add(monitor) }
        self.socket = consume socket
        self.monitor = consume monitor
    }

    mutating func disconnect(_ poller: inout Poller) {
        if let slot { poller.remove(slot) }
        if let monitorSlot { poller.remove(monitorSlot) }
        monitor = nil
        socket = nil
        waiting.removeAll()
    }

    /// Whether the last wait has found word of the end of the connection.
    mutating func connectionBroke(_ poller: borrowing Poller) throws(ZeroMQError) -> Bool {
        guard let monitorSlot, poller.isReadable(monitorSlot) else { return false }
        return try monitor?.connectionBroke() ?? false
    }

    // MARK: Messages

    /// Nothing waits to be sent.
    var isEmpty: Bool { waiting.isEmpty }

    mutating func send(_ frames: [[UInt8]]) throws(ZeroMQError) {
        waiting.append(frames)
        try sendWaiting()
    }

    mutating func sendWaiting() throws(ZeroMQError) {
        while let frames = waiting.first {
            guard try socket?.send(frames) == .sent else { return }
            sentBytes += frames.reduce(0) { $0 + $1.count }
            waiting.removeFirst()
        }
    }

    /// Asks the poller for what is needed now; call it before each wait.
    func prepare(_ poller: inout Poller) {
        guard let slot, socket != nil else { return }
        poller.setInterest(waiting.isEmpty ? .readable : [.readable, .writable], for: slot)
    }

    /// Hands over what has arrived, if the last wait found something: to look costs a call of the system. Messages with too many frames
    /// are dropped. What is left is found by the next wait.
    ///
    /// - Parameter evenUnannounced: also what has come since that wait.
    mutating func receive(
        _ poller: borrowing Poller, evenUnannounced: Bool = false, _ body: ([[UInt8]]) throws -> Void
    ) throws {
        guard let slot, evenUnannounced || poller.isReadable(slot) else { return }
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try socket?.receive() else { return }
            guard !message.isTruncated else { continue }
            let frames = message.frames
            receivedBytes += frames.reduce(0) { $0 + $1.count }
            try body(frames)
        }
    }

    /// Hands over what has arrived as envelopes. What is none is dropped: noise from what claims to be a store is silence, and silence
    /// ends the connection; a missing view shows in the next tick.
    mutating func receiveEnvelopes(
        _ poller: borrowing Poller, evenUnannounced: Bool = false, _ body: (Envelope) throws -> Void
    ) throws {
        // A published message begins with its topic.
        let first = topic == nil ? 0 : 1
        try receive(poller, evenUnannounced: evenUnannounced) { frames in
            if let envelope = try? Envelope(parts: first == 0 ? frames : Array(frames.dropFirst())) { try body(envelope) }
        }
    }
}
