import CZeroMQ

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

    /// Opens a socket and sets all its options, reading each back.
    ///
    /// - Throws: ``ZeroMQError`` with ``ZeroMQError/Code/optionMismatch`` if libzmq did not take an option over,
    ///   ``ZeroMQError/Code/tooManyDescriptors`` at the limit, or ``ZeroMQError/Code/terminated`` for a closed context.
    public init(_ context: Context, _ kind: Kind, options: SocketOptions) throws(ZeroMQError) {
        self.kind = kind
        self.options = options
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
        try SocketSetting(name: "ZMQ_IPV6", option: ZMQ_IPV6, value: Int32(1)).apply(to: handle.pointer)
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
