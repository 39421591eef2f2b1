import CZeroMQ
import Synchronization

/// The I/O threads of libzmq and all sockets that use them.
///
/// A process has **one** context: with CURVE, closing one of several breaks the others. Contexts do not survive
/// `fork`: a child must `exec` at once, or start before the context is made.
///
/// A context may be shared by all threads. Its sockets keep it alive, so it ends in this order, and never earlier: the
/// threads close their sockets, then somebody calls ``close()`` or drops the last reference.
///
/// ```swift
/// let context = try Context()
/// var front = try Socket(context, .router, options: .front)
/// try front.bind("tcp://127.0.0.1:5555")
/// ```
public final class Context: Sendable {
    private struct Occupancy {
        var openSockets = 0
        var isClosed = false
    }

    // Unsafe by name only: the pointer never changes and libzmq lets every thread use a context.
    private nonisolated(unsafe) let pointer: UnsafeMutableRawPointer
    private let occupancy = Mutex(Occupancy())

    /// Starts libzmq.
    ///
    /// - Parameters:
    ///   - ioThreads: one carries about a gigabit per second.
    ///   - maximumSockets: how many sockets, not connections, may be open at a time.
    /// - Throws: ``ZeroMQError`` if the system has no descriptors or memory left, or refuses a value.
    public init(ioThreads: Int = 1, maximumSockets: Int = 64) throws(ZeroMQError) {
        guard let pointer = zmq_ctx_new() else { throw .last("open context") }
        self.pointer = pointer
        try set(ZMQ_IO_THREADS, to: ioThreads, name: "ZMQ_IO_THREADS")
        try set(ZMQ_MAX_SOCKETS, to: maximumSockets, name: "ZMQ_MAX_SOCKETS")
        // Otherwise a socket without LINGER would let `close()` wait for ever.
        try set(ZMQ_BLOCKY, to: 0, name: "ZMQ_BLOCKY")
    }

    deinit {
        if !occupancy.withLock({ $0.isClosed }) { retryingInterrupts { zmq_ctx_term(pointer) } }
    }

    /// Ends libzmq, after what lingers was sent (at most ``SocketOptions/linger`` of the sockets).
    ///
    /// Closing twice does nothing. It may be called on any thread.
    ///
    /// - Throws: ``ZeroMQError/Code/socketsOpen``, instead of waiting for ever, while a socket is open.
    public func close() throws(ZeroMQError) {
        let mustTerminate = try occupancy.withLock { occupancy throws(ZeroMQError) in
            guard occupancy.openSockets == 0 else {
                throw ZeroMQError(
                    .socketsOpen, operation: "close context", reason: "open sockets: \(occupancy.openSockets)")
            }
            defer { occupancy.isClosed = true }
            return !occupancy.isClosed
        }
        guard mustTerminate else { return }
        guard retryingInterrupts({ zmq_ctx_term(pointer) }) == 0 else { throw .last("close context") }
    }

    func openSocket(_ kind: Socket.Kind) throws(ZeroMQError) -> UnsafeMutableRawPointer {
        try occupancy.withLock { occupancy throws(ZeroMQError) in
            guard !occupancy.isClosed else { throw ZeroMQError(errno: ETERM, operation: "open socket") }
            if kind == .router { seedRoutingIDs() }
            guard let socket = zmq_socket(pointer, kind.number) else { throw .last("open \(kind) socket") }
            occupancy.openSockets += 1
            return socket
        }
    }

    func closeSocket(_ socket: UnsafeMutableRawPointer) {
        // Fails only for what is not a socket.
        zmq_close(socket)
        occupancy.withLock { $0.openSockets -= 1 }
    }

    private func set(_ option: Int32, to value: Int, name: String) throws(ZeroMQError) {
        guard let number = Int32(exactly: value), zmq_ctx_set(pointer, option, number) == 0 else {
            throw ZeroMQError(errno: EINVAL, operation: "set \(name) to \(value)")
        }
    }
}
