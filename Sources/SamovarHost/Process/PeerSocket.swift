import DequeModule
import SamovarProtocol
import ZeroMQ

/// The connecting socket of a worker or a client: one connection, replaced by a new socket after every break.
///
/// Frames that the socket cannot take yet wait in order, until it can or until it is closed.
struct PeerSocket: ~Copyable {
    private let context: Context
    private let options: SocketOptions
    private let address: String
    private var socket: Socket?
    private var monitor: ConnectionMonitor?
    private var slot: Poller.Slot?
    private var monitorSlot: Poller.Slot?
    private var waiting: Deque<Envelope> = []

    private static let messagesPerTurn = 256

    init(_ context: Context, options: SocketOptions, address: String) {
        self.context = context
        self.options = options
        self.address = address
    }

    mutating func connect(_ poller: inout Poller) throws {
        disconnect(&poller)
        var socket = try Socket(context, .dealer, options: options)
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

    mutating func send(_ envelope: Envelope) throws(ZeroMQError) {
        waiting.append(envelope)
        try sendWaiting()
    }

    mutating func sendWaiting() throws(ZeroMQError) {
        while let envelope = waiting.first {
            guard try socket?.send(envelope.parts) == .sent else { return }
            waiting.removeFirst()
        }
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// Asks the poller for what is needed now; call it before each wait.
    func prepare(_ poller: inout Poller) {
        guard let slot, socket != nil else { return }
        poller.setInterest(waiting.isEmpty ? .readable : [.readable, .writable], for: slot)
    }

    /// Whether the last wait has found messages; to look for them costs a call of the system.
    func hasMessages(_ poller: borrowing Poller) -> Bool { slot.map { poller.isReadable($0) } ?? false }

    /// Whether the last wait has found word of the connection.
    func hasNews(_ poller: borrowing Poller) -> Bool { monitorSlot.map { poller.isReadable($0) } ?? false }

    mutating func connectionBroke() throws(ZeroMQError) -> Bool {
        try monitor?.connectionBroke() ?? false
    }

    /// Hands over what has arrived; true if there may be more. Messages that are no frames of ours are dropped.
    mutating func receive(_ body: (Envelope) -> Void) throws(ZeroMQError) -> Bool {
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try socket?.receive() else { return false }
            // Noise from what claims to be a store is silence, and silence ends the connection.
            guard !message.isTruncated, let envelope = try? Envelope(parts: message.frames) else { continue }
            body(envelope)
        }
        return true
    }
}
