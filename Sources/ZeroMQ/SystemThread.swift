import CZeroMQ
import Foundation

/// A thread of the system.
///
/// Not Foundation's `Thread`, which does not tell that the system gives no further one: who waits for its work would wait for ever.
package enum SystemThread {
    private typealias Body = @Sendable () -> Void

    /// - Parameter stackSize: in bytes; nil for what the system gives.
    /// - Throws: if the system gives no thread; then `body` is not called.
    package static func start(
        _ name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(ZeroMQError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        let place = UnsafeMutablePointer<Body>.allocate(capacity: 1)
        place.initialize(to: {
            // From within, since Foundation names only threads that run. Linux takes no longer names.
            Thread.current.name = String(name.prefix(15))
            body()
        })
        #if canImport(Glibc)
        var thread = pthread_t()
        #else
        var thread: pthread_t?
        #endif
        let number = pthread_create(
            &thread, &attributes,
            { argument in
                // Optional on Linux alone.
                let place = (argument as UnsafeMutableRawPointer?)?.assumingMemoryBound(to: Body.self)
                let body = place?.move()
                place?.deallocate()
                body?()
                return nil
            }, place)
        guard number != 0 else { return }
        place.deinitialize(count: 1)
        place.deallocate()
        throw ZeroMQError(
            .errno(number), operation: "start the thread \(name)",
            reason: "\(String(cString: strerror(number))): see `ulimit -u` of the user, and `pids.max` and memory of the container")
    }
}
