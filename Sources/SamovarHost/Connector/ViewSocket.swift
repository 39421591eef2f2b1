import SamovarCore
import SamovarProtocol
import ZeroMQ

/// The subscribing socket of a client: replaced by a new one whenever the machine says so.
struct ViewSocket: ~Copyable {
    private let context: Context
    private let address: String
    private let instance: Instance
    private var socket: Socket?
    private var monitor: ConnectionMonitor?
    private var slot: Poller.Slot?
    private var monitorSlot: Poller.Slot?

    init(_ context: Context, address: String, instance: Instance) {
        self.context = context
        self.address = address
        self.instance = instance
    }

    mutating func connect(_ poller: inout Poller) throws {
        disconnect(&poller)
        var socket = try Socket(context, .subscriber, options: .subscriber)
        try socket.subscribe(viewTopic(of: instance))
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
    }

    mutating func connectionBroke() throws(ZeroMQError) -> Bool {
        try monitor?.connectionBroke() ?? false
    }

    mutating func receive(_ body: (Envelope) -> Void) throws(ZeroMQError) {
        while let message = try socket?.receive() {
            // The first frame is the topic. Noise is dropped: a missing view shows in the next tick.
            guard !message.isTruncated, let envelope = try? Envelope(parts: Array(message.frames.dropFirst())) else { continue }
            body(envelope)
        }
    }
}
