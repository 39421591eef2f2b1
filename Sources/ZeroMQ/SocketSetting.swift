import CZeroMQ

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One option of libzmq with the value it is to have.
struct SocketSetting {
    enum Value: Equatable, CustomStringConvertible {
        case int32(Int32)
        case int64(Int64)

        var description: String {
            switch self {
            case .int32(let value): "\(value)"
            case .int64(let value): "\(value)"
            }
        }
    }

    let name: String
    let option: Int32
    let value: Value
    /// libzmq has options that can be set but not read.
    var isReadable = true

    /// Sets the option, reads it back and compares.
    func apply(to socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        let status =
            switch value {
            case .int32(let value): Self.set(option, to: value, of: socket)
            case .int64(let value): Self.set(option, to: value, of: socket)
            }
        guard status == 0 else { throw .last("set \(name)") }
        guard isReadable else { return }
        let actual = try read(from: socket)
        guard actual == value else {
            throw ZeroMQError(
                .optionMismatch, operation: "set \(name)", reason: "it is \(actual) instead of \(value)")
        }
    }

    /// The value that libzmq has now.
    func read(from socket: UnsafeMutableRawPointer) throws(ZeroMQError) -> Value {
        switch value {
        case .int32: .int32(try Self.get(option, named: name, of: socket))
        case .int64: .int64(try Self.get(option, named: name, of: socket))
        }
    }

    private static func set<Number: FixedWidthInteger>(
        _ option: Int32, to value: Number, of socket: UnsafeMutableRawPointer
    ) -> Int32 {
        withUnsafePointer(to: value) { value in
            retryingInterrupts { zmq_setsockopt(socket, option, value, MemoryLayout<Number>.size) }
        }
    }

    private static func get<Number: FixedWidthInteger>(
        _ option: Int32, named name: String, of socket: UnsafeMutableRawPointer
    ) throws(ZeroMQError) -> Number {
        var value: Number = 0
        var size = MemoryLayout<Number>.size
        guard retryingInterrupts({ zmq_getsockopt(socket, option, &value, &size) }) == 0 else {
            throw .last("read \(name)")
        }
        return value
    }
}

extension SocketOptions {
    /// The options of libzmq for a socket of `kind`, in the order in which they are set.
    func settings(for kind: Socket.Kind) -> [SocketSetting] {
        var settings: [SocketSetting] = []
        func add(_ name: String, _ option: Int32, _ value: Int32, isReadable: Bool = true) {
            settings.append(SocketSetting(name: name, option: option, value: .int32(value), isReadable: isReadable))
        }

        settings.append(
            SocketSetting(name: "ZMQ_MAXMSGSIZE", option: ZMQ_MAXMSGSIZE, value: .int64(maximumFrameBytes)))
        add("ZMQ_SNDHWM", ZMQ_SNDHWM, sendHighWaterMark)
        add("ZMQ_RCVHWM", ZMQ_RCVHWM, receiveHighWaterMark)
        add("ZMQ_LINGER", ZMQ_LINGER, linger)
        add("ZMQ_BACKLOG", ZMQ_BACKLOG, backlog)
        add("ZMQ_HANDSHAKE_IVL", ZMQ_HANDSHAKE_IVL, handshakeTimeout)
        add("ZMQ_TCP_KEEPALIVE", ZMQ_TCP_KEEPALIVE, 1)
        add("ZMQ_TCP_KEEPALIVE_IDLE", ZMQ_TCP_KEEPALIVE_IDLE, keepAlive.idle)
        add("ZMQ_TCP_KEEPALIVE_INTVL", ZMQ_TCP_KEEPALIVE_INTVL, keepAlive.interval)
        add("ZMQ_TCP_KEEPALIVE_CNT", ZMQ_TCP_KEEPALIVE_CNT, keepAlive.count)
        add("ZMQ_TCP_MAXRT", ZMQ_TCP_MAXRT, keepAlive.maximumRetransmission)
        if let connecting {
            add("ZMQ_CONNECT_TIMEOUT", ZMQ_CONNECT_TIMEOUT, connecting.timeout)
            add("ZMQ_IMMEDIATE", ZMQ_IMMEDIATE, 1)
            add("ZMQ_RECONNECT_IVL", ZMQ_RECONNECT_IVL, -1)
        }
        if kind == .router {
            add("ZMQ_ROUTER_MANDATORY", ZMQ_ROUTER_MANDATORY, 1, isReadable: false)
            add("ZMQ_ROUTER_HANDOVER", ZMQ_ROUTER_HANDOVER, 0, isReadable: false)
        }
        // ZMQ_ZAP_DOMAIN and ZMQ_ZAP_ENFORCE_DOMAIN belong here as soon as there is a handler to answer for the domain.
        return settings
    }
}
