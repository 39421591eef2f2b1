import CZeroMQ

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Tells a connecting socket's owner at once that its connection broke, where silence would tell only after seconds.
///
/// A hint and no more: libzmq may lose events, so correctness never depends on it. Make it before the connect, use it on the
/// socket's thread, and drop it before the socket.
public struct ConnectionMonitor: ~Copyable {
    private let monitored: SocketHandle
    private let events: SocketHandle

    /// - Throws: ``ZeroMQError`` if libzmq cannot watch the socket.
    public init(_ socket: borrowing Socket, in context: Context) throws(ZeroMQError) {
        let address = UInt(bitPattern: socket.handle.pointer)
        let endpoint = "inproc://monitor-\(String(address, radix: 16))-\(UInt64.random(in: .min ... .max))"
        let pointer = socket.handle.pointer
        let mask = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED
        guard retryingInterrupts({ zmq_socket_monitor(pointer, endpoint, mask) }) == 0 else { throw .last("monitor") }
        let reader = try Self.reader(of: endpoint, in: context)
        monitored = socket.handle
        events = reader
    }

    private static func reader(of endpoint: String, in context: Context) throws(ZeroMQError) -> SocketHandle {
        let reader = try SocketHandle(context, .pair, settings: [])
        let pointer = reader.pointer
        guard retryingInterrupts({ zmq_connect(pointer, endpoint) }) == 0 else {
            let error = ZeroMQError.last("connect", endpoint: endpoint)
            reader.close()
            throw error
        }
        return reader
    }

    deinit {
        if !monitored.isClosed { zmq_socket_monitor(monitored.pointer, nil, 0) }
        events.close()
    }

    var handle: SocketHandle { events }

    /// Whether the connection broke, or could not be made, since the last call.
    public mutating func connectionBroke() throws(ZeroMQError) -> Bool {
        var broke = false
        while let message = try Message(receivingFrom: events.pointer) {
            // Two frames: the event, and the address. Both events that we ask for mean the same to us.
            if message.hasMore { broke = true }
        }
        return broke
    }
}

extension Poller {
    /// Adds a monitor, which becomes readable.
    public mutating func add(_ monitor: borrowing ConnectionMonitor) -> Slot {
        add(monitor.handle)
    }

    /// Puts the monitor of another socket in the place of one that was dropped.
    public mutating func replace(_ slot: Slot, with monitor: borrowing ConnectionMonitor) {
        replace(slot, with: monitor.handle)
    }
}
