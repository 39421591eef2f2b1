import CrashPoints
import Foundation
import Journal
import Synchronization

/// The journal's own thread: commits batches in order, one at a time, while the loop computes the next.
///
/// What it does, and which errors end the store, its ``JournalWriter`` knows. Never more than a few entries wait: the store
/// machine hands out a batch only when the one before it is on disk.
final class JournalThread: Sendable {
    enum Work: Sendable {
        case append(Batch)
        case end
    }

    private let queue = WorkQueue<Work>()
    private let stopping = Atomic<Bool>(false)
    private let report: @Sendable (StoreLoop.Event) -> Void

    init(_ journal: any Journal & Sendable, report: @escaping @Sendable (StoreLoop.Event) -> Void) throws {
        self.report = report
        try startThread("samovar-journal") { [self] in run(JournalWriter(journal)) }
    }

    func append(_ batch: Batch) { queue.post(.append(batch)) }

    /// Ends the thread once it has done what waits; a full disk is not waited for any more. A second call does nothing.
    func end() {
        guard !stopping.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.post(.end)
    }

    private func run(_ writer: consuming JournalWriter) {
        let pause = Double(JournalWriter.pause.components.seconds)
        while true {
            switch queue.next() {
            case .append(let batch):
                while !append(batch, with: &writer) { Thread.sleep(forTimeInterval: pause) }
            case .end:
                writer.close { report(.journal($0)) }
                return report(.journalEnded)
            case nil: continue
            }
        }
    }

    private func append(_ batch: Batch, with writer: inout JournalWriter) -> Bool {
        CrashPoint.pass(.storeBeforeAppend)
        return writer.append(batch, waiting: !stopping.load(ordering: .acquiring)) { event in
            if case .committed = event { CrashPoint.pass(.storeAfterAppend) }
            report(.journal(event))
        }
    }
}
