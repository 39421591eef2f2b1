import CZeroMQ
import Foundation
import Synchronization

/// The I/O threads of libzmq and all sockets that use them.
///
/// A process uses **one**: with CURVE, closing one of several breaks the others. So all that runs in a process takes ``shared()``,
/// and a context of its own is for a process that needs no other, or none of these limits. Contexts do not survive `fork`: a child
/// must `exec` at once, or start before the context is made.
///
/// A context may be used by all threads. Its sockets keep it alive, and it ends with the last reference, after what lingers was sent
/// (at most ``SocketOptions/linger`` of the sockets).
///
/// ```swift
/// let context = try Context.shared()
/// var front = try Socket(context, .router, options: .front)
/// try front.bind("tcp://127.0.0.1:5555")
/// ```
public final class Context: Sendable {
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

    /// Starts libzmq, for this caller alone.
    ///
    /// - Parameter maximumSockets: how many sockets, not connections, may be open at a time.
    /// - Throws: ``ZeroMQError`` if the system has no descriptors or memory left, or refuses a value.
    public init(maximumSockets: Int = 64) throws(ZeroMQError) {
        pointer = try Self.start(maximumSockets: maximumSockets)
        isShared = false
    }

    private init(sharing pointer: UnsafeMutableRawPointer) {
        self.pointer = pointer
        isShared = true
    }

    /// The context of this process. The first caller starts libzmq, and it ends with the last one.
    ///
    /// - Throws: ``ZeroMQError`` if the system has no descriptors or memory left.
    public static func shared() throws(ZeroMQError) -> Context {
        try ofProcess.withLock { shared throws(ZeroMQError) in
            let pointer =
                if let running = shared.pointer { running } else { try start(maximumSockets: sharedSockets) }
            shared.pointer = pointer
            shared.holders += 1
            return Context(sharing: pointer)
        }
    }

    private static func start(maximumSockets: Int) throws(ZeroMQError) -> UnsafeMutableRawPointer {
        guard let pointer = zmq_ctx_new() else { throw .last("open context") }
        do throws(ZeroMQError) {
            // One carries about a gigabit per second.
            try set(ZMQ_IO_THREADS, of: pointer, to: 1, name: "ZMQ_IO_THREADS")
            try set(ZMQ_MAX_SOCKETS, of: pointer, to: maximumSockets, name: "ZMQ_MAX_SOCKETS")
            // Otherwise a socket without LINGER would let the end wait for ever.
            try set(ZMQ_BLOCKY, of: pointer, to: 0, name: "ZMQ_BLOCKY")
        } catch {
            retryingInterrupts { zmq_ctx_term(pointer) }
            throw error
        }
        return pointer
    }

    deinit {
        guard isShared else {
            retryingInterrupts { zmq_ctx_term(pointer) }
            return
        }
        // Within the lock, so that no further context begins before this one has ended.
        Self.ofProcess.withLock { shared in
            shared.holders -= 1
            guard shared.holders == 0, let last = shared.pointer else { return }
            shared.pointer = nil
            retryingInterrupts { zmq_ctx_term(last) }
        }
    }

    /// The same for all who share it.
    typealias ID = UInt
    var id: ID { UInt(bitPattern: pointer) }

    func openSocket(_ kind: Socket.Kind) throws(ZeroMQError) -> UnsafeMutableRawPointer {
        // libzmq takes a router's first id from `rand()` and never seeds it, so in every process the ids would be the same. A peer that
        // claims the next id in advance makes libzmq abort when an honest peer is to get it.
        if kind == .router { srand(UInt32.random(in: .min ... .max)) }
        guard let socket = zmq_socket(pointer, kind.number) else { throw .last("open \(kind) socket") }
        return socket
    }

    private static func set(
        _ option: Int32, of pointer: UnsafeMutableRawPointer, to value: Int, name: String
    ) throws(ZeroMQError) {
        guard let number = Int32(exactly: value), zmq_ctx_set(pointer, option, number) == 0 else {
            throw ZeroMQError(errno: EINVAL, operation: "set \(name) to \(value)")
        }
    }
}
