import CZeroMQ
import Foundation

/// Lets any thread wake the one that waits in a ``Poller``.
///
/// ```swift
/// let slot = poller.add(wakeup)
/// …
/// if poller.isReadable(slot) {
///     wakeup.drain()  // before the queue is looked at, or a signal could be lost
///     takeAll(from: queue)
/// }
/// ```
///
/// Signals are not counted: many of them make one wake-up.
public final class Wakeup: Sendable {
    /// Readable from ``signal()`` until ``drain()``.
    public let fileDescriptor: Int32
    /// The same descriptor for an eventfd, the other end of a pipe.
    private let signalDescriptor: Int32

    /// - Throws: ``ZeroMQError/Code/tooManyDescriptors`` if the process has no descriptor left.
    public init() throws(ZeroMQError) {
        #if os(Linux)
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor != -1 else { throw .last("create eventfd") }
        fileDescriptor = descriptor
        signalDescriptor = descriptor
        #else
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .last("create pipe") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        fileDescriptor = ends[0]
        signalDescriptor = ends[1]
        #endif
    }

    deinit {
        close(fileDescriptor)
        if signalDescriptor != fileDescriptor { close(signalDescriptor) }
    }

    /// Wakes the poller, now or when it next waits. It may be called on any thread and never waits.
    public func signal() {
        var one: UInt64 = 1
        // It fails only if so many signals are pending that the descriptor is full, and then it is readable anyway.
        retryingInterrupts { write(signalDescriptor, &one, MemoryLayout<UInt64>.size) }
    }

    /// Waits for a signal, which it does not take back, or until the time is over; a signal to the process shortens the wait.
    public func wait(microseconds: Int) {
        var descriptor = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
        #if os(Linux)
        var time = timespec(tv_sec: microseconds / 1_000_000, tv_nsec: microseconds % 1_000_000 * 1_000)
        ppoll(&descriptor, 1, &time, nil)
        #else
        poll(&descriptor, 1, Int32((microseconds + 999) / 1_000))
        #endif
    }

    /// Takes all signals back. Call it before looking at what was signalled.
    public func drain() {
        var signals: UInt64 = 0
        #if os(Linux)
        // An eventfd is empty after one read.
        retryingInterrupts { read(fileDescriptor, &signals, MemoryLayout<UInt64>.size) }
        #else
        // A pipe may need several.
        while retryingInterrupts({ read(fileDescriptor, &signals, MemoryLayout<UInt64>.size) }) > 0 {}
        #endif
    }
}
