import DequeModule
package import Dispatch
import Synchronization

/// What one thread does for others, in the order in which it was posted.
package final class WorkQueue<Work: Sendable>: Sendable {
    private let queue = Mutex<Deque<Work>>([])
    private let available = DispatchSemaphore(value: 0)

    package init() {}

    package func post(_ work: Work) {
        queue.withLock { $0.append(work) }
        available.signal()
    }

    /// Blocks until there is some; nil if there is none until then.
    package func next(until time: DispatchTime = .distantFuture) -> Work? {
        guard available.wait(timeout: time) == .success else { return nil }
        return queue.withLock { $0.popFirst() }
    }
}
