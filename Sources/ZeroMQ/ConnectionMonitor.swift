import CZeroMQ

/// Tells a connecting socket's owner at once that its connection broke, where silence would tell only after seconds.
///
/// A hint and no more: libzmq may lose events, so correctness never depends on it. Make it before the connect, use it on the
/// socket's thread, and drop it before the socket.
public struct ConnectionMonitor: ~Copyable {
    private let monitored: SocketHandle
    let events: SocketHandle

    /// - Throws: ``ZeroMQError`` if libzmq cannot watch the socket.
    public init(_ socket: borrowing Socket, in context: Context) throws(ZeroMQError) {
        let pointer = socket.handle.pointer
        let endpoint = "inproc://monitor-\(String(UInt(bitPattern: pointer), radix: 16))-\(UInt64.random(in: .min ... .max))"
        let mask = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED
        try checked("monitor") { zmq_socket_monitor(pointer, endpoint, mask) }
        let reader = try SocketHandle(context, .pair)
        do throws(ZeroMQError) {
            try checked("connect", endpoint: endpoint) { zmq_connect(reader.pointer, endpoint) }
        } catch {
            reader.close()
            throw error
        }
        monitored = socket.handle
        events = reader
    }

    deinit {
        if !monitored.isClosed { zmq_socket_monitor(monitored.pointer, nil, 0) }
        events.close()
    }

    /// Whether the connection broke, or could not be made, since the last call.
    public mutating func connectionBroke() throws(ZeroMQError) -> Bool {
        var broke = false
        // Two frames: the event, and the address. Both events that we ask for mean the same to us.
        while let frame = try receiveFrame(from: events.pointer) {
            if frame.hasMore { broke = true }
        }
        return broke
    }
}
