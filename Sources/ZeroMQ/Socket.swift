import CZeroMQ
import Foundation

/// A socket of libzmq with the options that Samovar needs, closed when its value ends.
///
/// Make, use and drop a socket on one thread; it is not `Sendable`. No call waits: the thread that owns the sockets
/// waits in a ``Poller``.
///
/// ```swift
/// var dealer = try Socket(context, .dealer, options: .client)
/// try dealer.connect("tcp://127.0.0.1:5555")
/// ```
public struct Socket: ~Copyable {
    /// The kinds of sockets that Samovar uses.
    public enum Kind: Sendable {
        case router, dealer, publisher, subscriber, pair
        /// A publisher that can be received from: each topic that is new to it comes as 1 and the topic, each that nobody wants any more as
        /// 0 and the topic. It drops as a publisher does.
        case extendedPublisher

        var number: Int32 {
            switch self {
            case .router: ZMQ_ROUTER
            case .dealer: ZMQ_DEALER
            case .publisher: ZMQ_PUB
            case .subscriber: ZMQ_SUB
            case .pair: ZMQ_PAIR
            case .extendedPublisher: ZMQ_XPUB
            }
        }
    }

    /// What the socket is.
    public let kind: Kind
    /// How it behaves.
    public let options: SocketOptions
    let handle: SocketHandle
    private let isAuthenticated: Bool
    private var lastUserID = ""

    /// Opens a socket and sets all its options, reading each back.
    ///
    /// - Throws: ``ZeroMQError`` with ``ZeroMQError/Code/optionMismatch`` if libzmq did not take an option over,
    ///   or ``ZeroMQError/Code/tooManyDescriptors`` at the limit.
    public init(_ context: Context, _ kind: Kind, options: SocketOptions) throws(ZeroMQError) {
        self.kind = kind
        self.options = options
        isAuthenticated = options.security.authenticator != nil
        handle = try SocketHandle(context, kind, options: options)
    }

    deinit { handle.close() }

    /// Closes the socket now; dropping the value does the same.
    public consuming func close() {}

    /// Accepts connections at `endpoint`, such as `tcp://127.0.0.1:5555`, `tcp://[::1]:5555` or `ipc:///run/user/1000/samovar/front`.
    ///
    /// A port `*` lets the system choose; see ``lastEndpoint``. For an `ipc` endpoint only the same user gets access.
    /// An existing file at its path is replaced, and the file stays behind: make sure beforehand that it is yours,
    /// and remove it afterwards.
    ///
    /// - Throws: ``ZeroMQError`` that names the endpoint, for example with ``ZeroMQError/Code/addressInUse``, or
    ///   ``ZeroMQError/Code/invalidEndpoint`` for an `ipc` path that is too long (107 bytes on Linux) or abstract.
    public mutating func bind(_ endpoint: String) throws(ZeroMQError) {
        try allowIPv6(at: endpoint)
        let socket = handle.pointer
        func bind() throws(ZeroMQError) {
            try checked("bind", endpoint: endpoint) { zmq_bind(socket, endpoint) }
        }
        if let path = ipcPath(of: endpoint) { try bindIPC(path, endpoint: endpoint, bind) } else { try bind() }
    }

    /// Stops accepting connections at `endpoint`, spelled as ``lastEndpoint`` did after the bind.
    ///
    /// - Throws: ``ZeroMQError`` if the socket is not bound there.
    public mutating func unbind(_ endpoint: String) throws(ZeroMQError) {
        let socket = handle.pointer
        try checked("unbind", endpoint: endpoint) { zmq_unbind(socket, endpoint) }
    }

    /// Starts to connect to `endpoint`; the connection is there when the socket becomes writable.
    ///
    /// Connect a socket once: a dealer with two endpoints would deal its messages out among them. Give an address by
    /// number, because a name is looked up on the I/O thread and stops all sockets meanwhile.
    ///
    /// - Throws: ``ZeroMQError`` that names the endpoint if it makes no sense; that nobody listens there is no error.
    public mutating func connect(_ endpoint: String) throws(ZeroMQError) {
        if let path = ipcPath(of: endpoint) { try checkIPC(path, operation: "connect", endpoint: endpoint) }
        try allowIPv6(at: endpoint)
        let socket = handle.pointer
        try checked("connect", endpoint: endpoint) { zmq_connect(socket, endpoint) }
    }

    /// libzmq takes no address of IPv6 unless it is told to.
    private func allowIPv6(at endpoint: String) throws(ZeroMQError) {
        guard endpoint.hasPrefix("tcp://[") else { return }
        try set("ZMQ_IPV6", ZMQ_IPV6, to: Int32(1), of: handle.pointer)
    }

    /// The endpoint of the last bind or connect, with the port that the system chose; empty before.
    public var lastEndpoint: String {
        get throws(ZeroMQError) {
            var size = 1024
            var buffer = [UInt8](repeating: 0, count: size)
            let socket = handle.pointer
            try checked("read ZMQ_LAST_ENDPOINT") { zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, &buffer, &size) }
            // libzmq counts the terminating zero.
            return String(decoding: buffer.prefix(max(0, size - 1)), as: UTF8.self)
        }
    }
}

/// The pointer of a socket, which knows whether the socket is closed.
///
/// A ``Poller`` holds the handle, so a socket that is closed while in a poll set is never touched again.
final class SocketHandle {
    /// Valid until ``close()``.
    let pointer: UnsafeMutableRawPointer
    private(set) var isClosed = false
    // Lives as long as its sockets.
    private let context: Context

    init(_ context: Context, _ kind: Socket.Kind, options: SocketOptions? = nil) throws(ZeroMQError) {
        self.context = context
        pointer = try context.openSocket(kind)
        do throws(ZeroMQError) {
            try options?.apply(to: pointer, of: kind)
        } catch {
            close()
            throw error
        }
    }

    func close() {
        isClosed = true
        // What a closed socket still does is told to its monitor, and the I/O thread waits for ever if nobody reads there any more.
        zmq_socket_monitor(pointer, nil, 0)
        // Both fail only for what is not a socket.
        zmq_close(pointer)
    }
}

/// What became of a message given to ``Socket/send(_:)``.
public enum SendResult: Sendable {
    /// libzmq has the whole message. Whether it arrives only an answer can tell.
    case sent
    /// Nobody is connected or the peer's queue is full; nothing was sent.
    case wouldBlock
    /// A router knows no peer with this routing id; nothing was sent.
    case unreachable
}

extension Socket {
    /// Sends one message of several frames without waiting; a router's message begins with the routing id of the peer.
    ///
    /// ```swift
    /// if try router.send([routingID, header, body]) == .unreachable { forget(routingID) }
    /// ```
    ///
    /// The bytes are copied once, into libzmq. Peers see all frames of a message or none. A publisher never blocks: it
    /// drops the message for each subscriber whose queue is full.
    ///
    /// - Parameter frames: at least one; frames may be empty.
    /// - Throws: ``ZeroMQError`` if the socket cannot send.
    public mutating func send(_ frames: [[UInt8]]) throws(ZeroMQError) -> SendResult {
        precondition(!frames.isEmpty, "a message has at least one frame")
        let socket = handle.pointer
        for (index, frame) in frames.enumerated() {
            let flags = ZMQ_DONTWAIT | (index == frames.count - 1 ? 0 : ZMQ_SNDMORE)
            let sent = retryingInterrupts { zmq_send(socket, frame, frame.count, flags) }
            guard sent == -1 else { continue }
            // If the peer goes away between two frames, libzmq discards the message and expects a new one: the
            // frames that are left must not be sent.
            switch zmq_errno() {
            case EAGAIN: return .wouldBlock
            case EHOSTUNREACH: return .unreachable
            default: throw .last("send")
            }
        }
        return .sent
    }

    /// Sends one message of the given frames; see ``send(_:)-([[UInt8]])``.
    public mutating func send(_ frames: [UInt8]...) throws(ZeroMQError) -> SendResult {
        try send(frames)
    }
}

/// One received message: its frames, the first of which is the peer's routing id if a router received it.
///
/// ```swift
/// while let message = try router.receive() {
///     guard !message.isTruncated, message.frames.count == 3 else { continue }
///     handle(peer: message.frames[0], header: message.frames[1], body: message.frames[2])
/// }
/// ```
public struct MultipartMessage: Sendable {
    /// Those that were kept, at most ``SocketOptions/maximumFrames``.
    public private(set) var frames: [[UInt8]] = []
    /// Whether the message had more frames than its socket accepts. It is not one of ours: count it and let it go.
    public private(set) var isTruncated = false
    /// How the ``Authenticator`` of the socket has named its sender; nil if the socket has none.
    public fileprivate(set) var userID: String?

    fileprivate init(upTo limit: Int) { frames.reserveCapacity(limit) }

    /// What is thrown away is not copied.
    fileprivate mutating func append(_ frame: inout ReceivedFrame, limit: Int) {
        if frames.count < limit { frames.append(frame.bytes) } else { isTruncated = true }
    }
}

extension Socket {
    /// Takes the next message without waiting, `nil` if there is none.
    ///
    /// Frames beyond ``SocketOptions/maximumFrames`` are read and thrown away one by one; see
    /// ``MultipartMessage/isTruncated``. A message comes complete or not at all.
    ///
    /// - Throws: ``ZeroMQError`` if the socket cannot receive.
    public mutating func receive() throws(ZeroMQError) -> MultipartMessage? {
        let socket = handle.pointer
        let limit = options.maximumFrames
        var frame = ReceivedFrame()
        guard try frame.receive(from: socket) else { return nil }
        var message = MultipartMessage(upTo: limit)
        message.append(&frame, limit: limit)
        while frame.hasMore {
            // libzmq hands messages over whole.
            guard try frame.receive(from: socket) else { throw ZeroMQError(errno: EPROTO, operation: "receive") }
            // The routing id, which comes first, does not always tell who it is.
            if isAuthenticated, message.frames.count == 1 { message.userID = userID(of: &frame) }
            message.append(&frame, limit: limit)
        }
        return message
    }

    /// Most messages come from whom the one before came from, and their text is at hand.
    private mutating func userID(of frame: inout ReceivedFrame) -> String? {
        guard let name = frame.userID else { return nil }
        let isSame = lastUserID.utf8.withContiguousStorageIfAvailable { last in
            last.withMemoryRebound(to: CChar.self) { strncmp($0.baseAddress ?? name, name, $0.count) == 0 && name[$0.count] == 0 }
        }
        if isSame != true { lastUserID = String(cString: name) }
        return lastUserID
    }
}

/// A frame of libzmq, and place for the next one.
struct ReceivedFrame: ~Copyable {
    // libzmq moves messages by copying these bytes, and so may Swift.
    private var raw = zmq_msg_t()

    init() {
        // Cannot fail: it only clears the structure.
        zmq_msg_init(&raw)
    }

    deinit {
        var raw = raw
        zmq_msg_close(&raw)
    }

    /// Takes the next frame of a socket; false if there is none yet.
    mutating func receive(from socket: UnsafeMutableRawPointer) throws(ZeroMQError) -> Bool {
        if retryingInterrupts({ zmq_msg_recv(&raw, socket, ZMQ_DONTWAIT) }) != -1 { return true }
        guard zmq_errno() == EAGAIN else { throw .last("receive") }
        return false
    }

    var bytes: [UInt8] {
        mutating get {
            // Short messages lie inside the structure.
            withUnsafeMutablePointer(to: &raw) { raw in
                [UInt8](UnsafeRawBufferPointer(start: zmq_msg_data(raw), count: zmq_msg_size(raw)))
            }
        }
    }

    /// Whether another one of the same message follows.
    var hasMore: Bool {
        mutating get { zmq_msg_more(&raw) != 0 }
    }

    /// Valid until the next frame; nil if nobody has given the sender a name.
    var userID: UnsafePointer<CChar>? {
        mutating get { zmq_msg_gets(&raw, "User-Id") }
    }
}

extension Socket {
    /// The longest topic: libzmq 4.3.4 loses subscriptions of 246 to 255 bytes.
    public static let maximumTopicBytes = 200

    /// Lets a subscriber receive the messages whose first frame begins with `topic`.
    ///
    /// - Parameter topic: at most ``maximumTopicBytes`` and ending in `0x00`, so that no topic is the beginning of another.
    /// - Throws: ``ZeroMQError/Code/invalidTopic``, or an error of libzmq if the socket is no subscriber.
    public mutating func subscribe(_ topic: [UInt8]) throws(ZeroMQError) {
        guard topic.count <= Self.maximumTopicBytes else {
            throw ZeroMQError(
                .invalidTopic, operation: "subscribe",
                reason: "the topic has \(topic.count) bytes, the limit is \(Self.maximumTopicBytes)")
        }
        guard topic.last == 0 else {
            throw ZeroMQError(.invalidTopic, operation: "subscribe", reason: "the topic does not end in 0x00")
        }
        let socket = handle.pointer
        try checked("subscribe") { zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, topic.count) }
    }
}
