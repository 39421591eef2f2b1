import Dispatch

/// A thread for the jobs of a slot, so that a handler may block without starving anything but itself.
final class SlotExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(_ number: Int) {
        queue = DispatchQueue(label: "samovar-slot-\(number)")
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
