import CZeroMQ

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
public struct SocketOptions: Sendable {
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
    /// How long a peer may take for the ZMTP handshake, in milliseconds: what binds is waited for by strangers, too, and what connects has
    /// someone who gives up.
    public var handshakeTimeout: Int32
    /// Whether a ``Socket/Kind/extendedPublisher`` tells of each subscription, not only of topics that are new to it.
    public var passesEverySubscription = false
    /// Who gets a connection.
    public var security = Security.none
    /// Whether it has one connection that never comes back by itself, as the connecting side needs it.
    ///
    /// `IMMEDIATE` is on then, so nothing is queued for a peer that is away, and `RECONNECT_IVL` is -1: when the connection
    /// is lost, or could not be made, the socket stays silent. Close it and connect a new one.
    let isConnecting: Bool

    /// The options of a socket that binds.
    public init(maximumFrameBytes: Int64) {
        self.init(maximumFrameBytes: maximumFrameBytes, isConnecting: false)
    }

    private init(maximumFrameBytes: Int64, isConnecting: Bool) {
        self.maximumFrameBytes = maximumFrameBytes
        self.isConnecting = isConnecting
        // With libzmq's own for what connects: its time begins before the other side has taken the connection.
        handshakeTimeout = isConnecting ? 30_000 : 5_000
    }
}

extension SocketOptions {
    /// The store's ROUTER for clients: inputs of 1 MiB, and room for what is around them.
    ///
    /// A client may have 4,096 inputs under way, and its process may not run for a while: then a message for each of them waits. One that
    /// is lost is asked for after seconds only.
    public static let front = {
        var options = SocketOptions(maximumFrameBytes: 2 << 20)
        options.sendHighWaterMark = 4_096 + 256
        return options
    }()

    /// The store's ROUTER for workers: results of 4 MiB, and room for their headers.
    public static let work = SocketOptions(maximumFrameBytes: 5 << 20)

    /// The store's ROUTER for operators: frames to 1 MiB.
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
    public static let client = SocketOptions(maximumFrameBytes: 64 << 20, isConnecting: true)

    /// A client's SUB: frames to 64 MiB, for views arrive whole.
    public static let subscriber = {
        var options = SocketOptions(maximumFrameBytes: 64 << 20, isConnecting: true)
        options.receiveHighWaterMark = 16
        return options
    }()

    /// A worker's DEALER: jobs of 4 MiB, and room for their headers.
    public static let worker = SocketOptions(maximumFrameBytes: 5 << 20, isConnecting: true)
}

/// Sets an option of a socket, as wide as libzmq has it, reads it back and compares.
///
/// - Parameter isReadable: libzmq has options that can be set but not read.
func set<Value: FixedWidthInteger>(
    _ name: String, _ option: Int32, to value: Value, of socket: UnsafeMutableRawPointer, isReadable: Bool = true
) throws(ZeroMQError) {
    try checked("set \(name)") { withUnsafePointer(to: value) { zmq_setsockopt(socket, option, $0, MemoryLayout<Value>.size) } }
    guard isReadable else { return }
    var actual: Value = 0
    var size = MemoryLayout<Value>.size
    try checked("read \(name)") { zmq_getsockopt(socket, option, &actual, &size) }
    guard actual == value else {
        throw ZeroMQError(.optionMismatch, operation: "set \(name)", reason: "it is \(actual) instead of \(value)")
    }
}

extension SocketOptions {
    /// Gives a socket of `kind` these options.
    func apply(to socket: UnsafeMutableRawPointer, of kind: Socket.Kind) throws(ZeroMQError) {
        func set(_ name: String, _ option: Int32, _ value: Int32, isReadable: Bool = true) throws(ZeroMQError) {
            try ZeroMQ.set(name, option, to: value, of: socket, isReadable: isReadable)
        }

        try ZeroMQ.set("ZMQ_MAXMSGSIZE", ZMQ_MAXMSGSIZE, to: maximumFrameBytes, of: socket)
        try set("ZMQ_SNDHWM", ZMQ_SNDHWM, sendHighWaterMark)
        try set("ZMQ_RCVHWM", ZMQ_RCVHWM, receiveHighWaterMark)
        try set("ZMQ_LINGER", ZMQ_LINGER, linger)
        // How many connections may wait to be accepted.
        try set("ZMQ_BACKLOG", ZMQ_BACKLOG, 1024)
        try set("ZMQ_HANDSHAKE_IVL", ZMQ_HANDSHAKE_IVL, handshakeTimeout)
        // The first probe after 15 s of silence, then each 5 s; three without an answer end the connection, and so do bytes that stay
        // unacknowledged for 20 s (Linux only).
        try set("ZMQ_TCP_KEEPALIVE", ZMQ_TCP_KEEPALIVE, 1)
        try set("ZMQ_TCP_KEEPALIVE_IDLE", ZMQ_TCP_KEEPALIVE_IDLE, 15)
        try set("ZMQ_TCP_KEEPALIVE_INTVL", ZMQ_TCP_KEEPALIVE_INTVL, 5)
        try set("ZMQ_TCP_KEEPALIVE_CNT", ZMQ_TCP_KEEPALIVE_CNT, 3)
        try set("ZMQ_TCP_MAXRT", ZMQ_TCP_MAXRT, 20_000)
        if isConnecting {
            // How long TCP may take to connect, in milliseconds.
            try set("ZMQ_CONNECT_TIMEOUT", ZMQ_CONNECT_TIMEOUT, 5000)
            try set("ZMQ_IMMEDIATE", ZMQ_IMMEDIATE, 1)
            try set("ZMQ_RECONNECT_IVL", ZMQ_RECONNECT_IVL, -1)
        }
        if kind == .router {
            try set("ZMQ_ROUTER_MANDATORY", ZMQ_ROUTER_MANDATORY, 1, isReadable: false)
            try set("ZMQ_ROUTER_HANDOVER", ZMQ_ROUTER_HANDOVER, 0, isReadable: false)
        }
        if kind == .extendedPublisher, passesEverySubscription {
            try set("ZMQ_XPUB_VERBOSE", ZMQ_XPUB_VERBOSE, 1, isReadable: false)
        }
        try security.apply(to: socket)
    }
}
