import CZeroMQ
import Synchronization

/// The I/O threads of libzmq and all sockets that use them.
///
/// A process uses **one**: with CURVE, closing one of several breaks the others. So all that runs in a process takes ``shared()``,
/// and a context of its own is for a process that needs no other, or none of these limits. Contexts do not survive `fork`: a child
/// must `exec` at once, or start before the context is made.
///
/// A context may be used by all threads. Its sockets keep it alive, so it ends in this order, and never earlier: the
/// threads close their sockets, then somebody calls ``close()`` or drops the last reference.
///
/// ```swift
/// let context = try Context.shared()
/// var front = try Socket(context, .router, options: .front)
/// try front.bind("tcp://127.0.0.1:5555")
/// ```
public final class Context: Sendable {
    private struct Occupancy {
        var openSockets = 0
        var isClosed = false
    }

    /// What the callers of ``shared()`` hold together.
    private struct Shared {
        var pointer: UnsafeMutableRawPointer?
        var holders = 0
    }

    private static let ofProcess = Mutex(Shared())
    /// A client has six: two connections, each with two sockets to notice that it broke.
    private static let sharedSockets = 8_192

    // Unsafe by name only: the pointer never changes and libzmq lets every thread use a context.
    private nonisolated(unsafe) let pointer: UnsafeMutableRawPointer
    private let isShared: Bool
    private let occupancy = Mutex(Occupancy())

    /// Starts libzmq, for this caller alone.
    ///
    /// - Parameters:
    ///   - ioThreads: one carries about a gigabit per second.
    ///   - maximumSockets: how many sockets, not connections, may be open at a time.
    /// - Throws: ``ZeroMQError`` if the system has no descriptors or memory left, or refuses a value.
    public init(ioThreads: Int = 1, maximumSockets: Int = 64) throws(ZeroMQError) {
        pointer = try Self.start(ioThreads: ioThreads, maximumSockets: maximumSockets)
        isShared = false
    }

    private init(sharing pointer: UnsafeMutableRawPointer) {
        self.pointer = pointer
        isShared = true
    }

    /// The context of this process. The first caller starts libzmq, and it ends with the last one.
    ///
    /// Who closes what is returned gives up this share of it; sockets of others go on.
    ///
    /// - Throws: ``ZeroMQError`` if the system has no descriptors or memory left.
    public static func shared() throws(ZeroMQError) -> Context {
        try ofProcess.withLock { shared throws(ZeroMQError) in
            let pointer =
                if let running = shared.pointer { running } else { try start(ioThreads: 1, maximumSockets: sharedSockets) }
            shared.pointer = pointer
            shared.holders += 1
            return Context(sharing: pointer)
        }
    }

    private static func start(ioThreads: Int, maximumSockets: Int) throws(ZeroMQError) -> UnsafeMutableRawPointer {
        guard let pointer = zmq_ctx_new() else { throw .last("open context") }
        do throws(ZeroMQError) {
            try set(ZMQ_IO_THREADS, of: pointer, to: ioThreads, name: "ZMQ_IO_THREADS")
            try set(ZMQ_MAX_SOCKETS, of: pointer, to: maximumSockets, name: "ZMQ_MAX_SOCKETS")
            // Otherwise a socket without LINGER would let `close()` wait for ever.
            try set(ZMQ_BLOCKY, of: pointer, to: 0, name: "ZMQ_BLOCKY")
        } catch {
            retryingInterrupts { zmq_ctx_term(pointer) }
            throw error
        }
        return pointer
    }

    deinit {
        // It has no sockets, so there is nothing that could refuse to end.
        if !occupancy.withLock({ $0.isClosed }) { try? end() }
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
        if mustTerminate { try end() }
    }

    private func end() throws(ZeroMQError) {
        guard isShared else { return try Self.terminate(pointer) }
        // Within the lock, so that no further context begins before this one has ended.
        try Self.ofProcess.withLock { shared throws(ZeroMQError) in
            shared.holders -= 1
            guard shared.holders == 0, let last = shared.pointer else { return }
            shared.pointer = nil
            try Self.terminate(last)
        }
    }

    private static func terminate(_ pointer: UnsafeMutableRawPointer) throws(ZeroMQError) {
        try checked("close context") { zmq_ctx_term(pointer) }
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

    private static func set(
        _ option: Int32, of pointer: UnsafeMutableRawPointer, to value: Int, name: String
    ) throws(ZeroMQError) {
        guard let number = Int32(exactly: value), zmq_ctx_set(pointer, option, number) == 0 else {
            throw ZeroMQError(errno: EINVAL, operation: "set \(name) to \(value)")
        }
    }
}
