import CZeroMQ

/// One option of libzmq with the value it is to have, as wide as libzmq has it.
struct SocketSetting<Value: FixedWidthInteger> {
    let name: String
    let option: Int32
    let value: Value
    /// libzmq has options that can be set but not read.
    var isReadable = true

    /// Sets the option, reads it back and compares.
    func apply(to socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        try checked("set \(name)") {
            withUnsafePointer(to: value) { zmq_setsockopt(socket, option, $0, MemoryLayout<Value>.size) }
        }
        guard isReadable else { return }
        let actual = try read(from: socket)
        guard actual == value else {
            throw ZeroMQError(
                .optionMismatch, operation: "set \(name)", reason: "it is \(actual) instead of \(value)")
        }
    }

    /// The value that libzmq has now.
    func read(from socket: UnsafeMutableRawPointer) throws(ZeroMQError) -> Value {
        var value: Value = 0
        var size = MemoryLayout<Value>.size
        try checked("read \(name)") { zmq_getsockopt(socket, option, &value, &size) }
        return value
    }
}

extension SocketOptions {
    /// Gives a socket of `kind` these options.
    func apply(to socket: UnsafeMutableRawPointer, of kind: Socket.Kind) throws(ZeroMQError) {
        func set(_ name: String, _ option: Int32, _ value: Int32, isReadable: Bool = true) throws(ZeroMQError) {
            try SocketSetting(name: name, option: option, value: value, isReadable: isReadable).apply(to: socket)
        }

        try SocketSetting(name: "ZMQ_MAXMSGSIZE", option: ZMQ_MAXMSGSIZE, value: maximumFrameBytes).apply(to: socket)
        try set("ZMQ_SNDHWM", ZMQ_SNDHWM, sendHighWaterMark)
        try set("ZMQ_RCVHWM", ZMQ_RCVHWM, receiveHighWaterMark)
        try set("ZMQ_LINGER", ZMQ_LINGER, linger)
        try set("ZMQ_BACKLOG", ZMQ_BACKLOG, backlog)
        try set("ZMQ_HANDSHAKE_IVL", ZMQ_HANDSHAKE_IVL, handshakeTimeout)
        try set("ZMQ_TCP_KEEPALIVE", ZMQ_TCP_KEEPALIVE, 1)
        try set("ZMQ_TCP_KEEPALIVE_IDLE", ZMQ_TCP_KEEPALIVE_IDLE, keepAlive.idle)
        try set("ZMQ_TCP_KEEPALIVE_INTVL", ZMQ_TCP_KEEPALIVE_INTVL, keepAlive.interval)
        try set("ZMQ_TCP_KEEPALIVE_CNT", ZMQ_TCP_KEEPALIVE_CNT, keepAlive.count)
        try set("ZMQ_TCP_MAXRT", ZMQ_TCP_MAXRT, keepAlive.maximumRetransmission)
        if let connecting {
            try set("ZMQ_CONNECT_TIMEOUT", ZMQ_CONNECT_TIMEOUT, connecting.timeout)
            try set("ZMQ_IMMEDIATE", ZMQ_IMMEDIATE, 1)
            try set("ZMQ_RECONNECT_IVL", ZMQ_RECONNECT_IVL, -1)
        }
        if kind == .router {
            try set("ZMQ_ROUTER_MANDATORY", ZMQ_ROUTER_MANDATORY, 1, isReadable: false)
            try set("ZMQ_ROUTER_HANDOVER", ZMQ_ROUTER_HANDOVER, 0, isReadable: false)
        }
        // ZMQ_ZAP_DOMAIN and ZMQ_ZAP_ENFORCE_DOMAIN belong here as soon as there is a handler to answer for the domain.
    }
}
