import CZeroMQ

/// Tells a connecting socket's owner at once that its connection broke, where silence would tell only after seconds.
///
/// A hint and no more: libzmq may lose events, so correctness never depends on it. Make it before the connect, and use it on the
/// socket's thread. It ends with the socket, and may be dropped before or after.
public struct ConnectionMonitor: ~Copyable {
    private let monitored: SocketHandle
    let events: SocketHandle
    /// Whether both sides have agreed to talk, as far as the calls below have heard.
    public private(set) var wasConnected = false

    /// - Throws: ``ZeroMQError`` if libzmq cannot watch the socket.
    public init(_ socket: borrowing Socket, in context: Context) throws(ZeroMQError) {
        let pointer = socket.handle.pointer
        let endpoint = "inproc://monitor-\(String(UInt(bitPattern: pointer), radix: 16))-\(UInt64.random(in: .min ... .max))"
        let mask = ConnectionEnd.events.reduce(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, |)
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

    /// How the connection ended, or why it could not be made, if it did since the last call.
    public mutating func connectionEnd() throws(ZeroMQError) -> ConnectionEnd? {
        var end: ConnectionEnd?
        // Two frames: the event, and the address.
        var frame = ReceivedFrame()
        while try frame.receive(from: events.pointer) {
            // Behind the reason comes that it is lost, which says no more.
            guard frame.hasMore, let event = ConnectionEnd.event(frame.bytes) else { continue }
            if event.kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED {
                wasConnected = true
            } else if end == nil || end == .lost {
                end = ConnectionEnd(event.kind, event.value)
            }
        }
        return end
    }
}

/// How a connection ended, or why it could not be made, as far as libzmq knows.
public enum ConnectionEnd: Hashable, Sendable {
    /// It was there and is no more, or nobody listens.
    case lost
    /// The other side does not let this key in, or anybody without one.
    case refused
    /// The other side ended it while it was being made, without a word: the key of the server may be another one, or there is trouble.
    case unanswered
    /// The other side speaks something else: it wants keys and this one has none, or the other way round.
    case misunderstood

    static let events = [
        ZMQ_EVENT_DISCONNECTED, ZMQ_EVENT_CLOSED, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
    ]

    /// 16 bits for what happened, and 32 for a number.
    static func event(_ bytes: [UInt8]) -> (kind: Int32, value: UInt32)? {
        guard bytes.count == 6 else { return nil }
        return bytes.withUnsafeBytes {
            (Int32($0.loadUnaligned(as: UInt16.self)), $0.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        }
    }

    /// - Parameter value: for a refusal, the number of ZAP.
    init(_ event: Int32, _ value: UInt32) {
        self =
            switch event {
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: value == 300 ? .unanswered : .refused
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: .unanswered
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: .misunderstood
            default: .lost
            }
    }
}
