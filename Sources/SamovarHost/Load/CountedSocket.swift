import DequeModule
import ZeroMQ

/// A connecting socket of a load test, whose bytes are counted and which is read only if the poller says so: an agent has hundreds.
///
/// Messages that the socket cannot take yet wait in order, until it can or until it is closed.
struct CountedSocket: ~Copyable {
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

    /// - Parameter topic: of a subscriber.
    init(_ context: Context, _ kind: Socket.Kind, options: SocketOptions, address: String, topic: [UInt8]? = nil) {
        self.context = context
        self.kind = kind
        self.options = options
        self.address = address
        self.topic = topic
    }

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

    mutating func connectionBroke(_ poller: borrowing Poller) throws(ZeroMQError) -> Bool {
        guard let monitorSlot, poller.isReadable(monitorSlot) else { return false }
        return try monitor?.connectionBroke() ?? false
    }

    /// Hands over what has arrived, if the last wait found something. Messages with too many frames are dropped.
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
}
