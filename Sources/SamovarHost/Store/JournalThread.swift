import CrashPoints
import DequeModule
import Foundation
import Journal
import Synchronization

/// The journal's own thread: commits batches in order, one at a time, while the loop computes the next.
///
/// Never more than a few entries wait: the store machine hands out a batch only when the one before it is on disk.
final class JournalThread: Sendable {
    enum Work: Sendable {
        case append(Batch)
        case end
    }

    enum News: Sendable {
        case committed(through: Int)
        /// The disk is full; the batch is tried again until there is space.
        case full(JournalError)
        case freed
        /// The journal cannot be used any more.
        case failed(JournalError)
        case ended
    }

    private let queue = Mutex<Deque<Work>>([])
    private let available = DispatchSemaphore(value: 0)
    private let stopping = Atomic<Bool>(false)
    private let report: @Sendable (News) -> Void

    init(_ journal: any Journal & Sendable, report: @escaping @Sendable (News) -> Void) {
        self.report = report
        let thread = Thread { [self] in run(journal) }
        thread.name = "samovar-journal"
        thread.start()
    }

    func post(_ work: Work) {
        queue.withLock { $0.append(work) }
        available.signal()
    }

    /// Ends the thread once it has done what waits; a full disk is not waited for any more.
    func end() {
        stopping.store(true, ordering: .releasing)
        post(.end)
    }

    private func run(_ journal: any Journal & Sendable) {
        var journal = journal
        // After a failure nothing may be written, and only the end is waited for.
        var hasFailed = false
        while true {
            available.wait()
            guard let work = queue.withLock({ $0.popFirst() }) else { continue }
            do throws(JournalError) {
                switch work {
                case .append(let batch) where !hasFailed: try append(batch, to: &journal)
                case .append: break
                case .end:
                    if !hasFailed { try journal.close() }
                    return report(.ended)
                }
            } catch {
                hasFailed = true
                report(.failed(error))
                if case .end = work { return report(.ended) }
            }
        }
    }

    private func append(_ batch: Batch, to journal: inout any Journal & Sendable) throws(JournalError) {
        var isFull = false
        while true {
            do {
                CrashPoint.pass(.storeBeforeAppend)
                try journal.append(batch)
                CrashPoint.pass(.storeAfterAppend)
                if isFull { report(.freed) }
                return report(.committed(through: batch.last))
            } catch {
                guard error.code == .full, !stopping.load(ordering: .acquiring) else { throw error }
                if !isFull { report(.full(error)) }
                isFull = true
                Thread.sleep(forTimeInterval: 1)
            }
        }
    }
}
