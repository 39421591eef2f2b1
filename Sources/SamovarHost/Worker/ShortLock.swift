import Foundation
import MessagePack

/// A lock for very short sections which several threads want very often.
///
/// A thread that has just left may enter again while another is still waking up. `Mutex` of the standard library does not let it: on
/// Linux, it is handed to a thread that waits, which has to be woken first. Where each thread comes back after a microsecond, all of them
/// wait in turn from then on: sixteen slots were four times as slow. The price is fairness, which nobody needs here.
///
/// `@unchecked`: the value is reached under the lock alone.
final class ShortLock<Value: ~Copyable>: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    // Never reached while it is reached already: `withLock` would wait for itself first.
    private let value: Cell<Value>

    init(_ value: consuming sending Value) {
        self.value = Cell(value)
        lock = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        #if canImport(Glibc)
        // Looks a few times whether the lock is free before it sleeps.
        pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
        #endif
        pthread_mutex_init(lock, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body(&value.value)
    }
}
