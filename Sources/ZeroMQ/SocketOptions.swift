/// How a socket behaves, decided before it binds or connects and never changed afterwards.
///
/// Take the preset of the socket's role and change what must differ:
///
/// ```swift
/// var options = SocketOptions.front
/// options.maximumFrameBytes = 64 << 10
/// ```
///
/// The heartbeats of ZMTP are always off: with a slow receiver and a reconnect they make libzmq abort. Liveness is a
/// matter of our own frames. `ROUTER_MANDATORY` is on and `ROUTER_HANDOVER` off for every router.
public struct SocketOptions: Hashable, Sendable {
    /// The largest frame accepted from a peer. Who announces a larger one is disconnected.
    ///
    /// libzmq allocates the announced length before the bytes arrive, so this is also what one peer can make it reserve.
    public var maximumFrameBytes: Int64
    /// How many frames of a message are kept, including the routing id of a router's message; further ones are dropped.
    public var maximumFrames = 4
    /// How many messages wait for one peer before a send gives ``SendResult/wouldBlock``, or a publisher drops.
    ///
    /// Approximate: the buffers of TCP and both ends add to it.
    public var sendHighWaterMark: Int32 = 1000
    /// How many messages of one peer wait to be received.
    public var receiveHighWaterMark: Int32 = 1000
    /// How long unsent messages outlive their socket, in milliseconds.
    public var linger: Int32 = 0
    /// How many connections may wait to be accepted.
    public var backlog: Int32 = 1024
    /// How long a peer may take for the ZMTP handshake, in milliseconds.
    public var handshakeTimeout: Int32 = 5000
    /// What the connecting side needs; `nil` for sockets that bind.
    public var connecting: Connecting?
    /// How a dead TCP connection is noticed.
    public var keepAlive = KeepAlive()

    /// The options of a socket that binds.
    public init(maximumFrameBytes: Int64) {
        self.maximumFrameBytes = maximumFrameBytes
    }

    /// The options of a socket with one connection that never comes back by itself.
    ///
    /// `IMMEDIATE` is on, so nothing is queued for a peer that is away, and `RECONNECT_IVL` is -1: when the connection
    /// is lost, or could not be made, the socket stays silent. Close it and connect a new one.
    public struct Connecting: Hashable, Sendable {
        /// How long TCP may take to connect, in milliseconds.
        public var timeout: Int32 = 5000

        public init() {}
    }

    /// TCP keep-alive: the first probe after `idle` seconds of silence, then each `interval` seconds.
    public struct KeepAlive: Hashable, Sendable {
        public var idle: Int32 = 15
        public var interval: Int32 = 5
        /// How many unanswered probes end the connection.
        public var count: Int32 = 3
        /// How long sent bytes may stay unacknowledged, in milliseconds (Linux only).
        public var maximumRetransmission: Int32 = 20_000

        public init() {}
    }
}

extension SocketOptions {
    /// The store's ROUTER for clients: inputs of 1 MiB, and room for what is around them.
    public static let front = SocketOptions(maximumFrameBytes: 2 << 20)

    /// The store's ROUTER for workers: results of 4 MiB, and room for their headers.
    public static let work = SocketOptions(maximumFrameBytes: 5 << 20)

    /// The store's ROUTER for operators, over `ipc` only: frames to 1 MiB.
    public static let admin = SocketOptions(maximumFrameBytes: 1 << 20)

    /// The store's XPUB. Only subscriptions come in, and the goodbye gets half a second to go out.
    ///
    /// Views are whole and the newest wins, so few of them wait: a subscriber that stopped must not cost the store a thousand
    /// views, and one behind a slow line shall not be shown a long row of old ones first. There is room for a quarter of a
    /// second of views and their ticks, for a sender that is held up so long. What a subscriber misses, the next tick tells it.
    public static let view = {
        var options = SocketOptions(maximumFrameBytes: 512)
        options.sendHighWaterMark = 8
        // libzmq takes subscriptions as long as there are any, within one call. So few wait that whoever asks for ever more topics is
        // held up, and not the store.
        options.receiveHighWaterMark = 16
        options.linger = 500
        return options
    }()

    /// A client's or operator's DEALER: frames to 64 MiB, for views arrive whole.
    public static let client = SocketOptions.connecting(maximumFrameBytes: 64 << 20)

    /// A client's SUB: frames to 64 MiB, for views arrive whole.
    public static let subscriber = {
        var options = SocketOptions.connecting(maximumFrameBytes: 64 << 20)
        options.receiveHighWaterMark = 16
        return options
    }()

    /// A worker's DEALER: jobs of 4 MiB, and room for their headers.
    public static let worker = SocketOptions.connecting(maximumFrameBytes: 5 << 20)

    private static func connecting(maximumFrameBytes: Int64) -> SocketOptions {
        var options = SocketOptions(maximumFrameBytes: maximumFrameBytes)
        options.connecting = Connecting()
        return options
    }
}
