import CrashPoints
import Dispatch
package import SamovarCore
import SamovarPeers
public import SamovarWire
import Synchronization

/// One slot of a worker: a long-lived task that runs one job after the other.
///
/// A job runs in the slot's task and not in one of its own, which would cost more than a small job does. So the task of a job that was
/// cancelled is a cancelled task: it runs no other, and the slot goes on with a new one.
@usableFromInline
package final class JobRunner: Sendable {
    /// Runs jobs one after the other, until the slot is closed or a job was told to stop. It runs where the slot runs; to change executors
    /// and back would cost as much as a small job.
    @usableFromInline
    package typealias Work = nonisolated(nonsending) @Sendable (JobRunner) async -> Void

    /// What comes after a job.
    @usableFromInline
    enum End {
        /// Its context is that of another job.
        case next
        /// The slot has no other job yet.
        case idle
        /// This job was told to stop: another task runs what comes.
        case interrupted
    }

    private struct State {
        /// A job that nobody has come for.
        var next: JobContext?
        var isClosed = false
        /// The slot's task while it has no job.
        var idle: CheckedContinuation<JobContext?, Never>?
    }

    private enum Interruption {
        /// The job under way shall stop.
        case cancel
        /// The slot's task has ended, after a job that was told to stop or for good.
        case ended
    }

    private let number: Int
    /// Other slots may have to run on its thread.
    @usableFromInline let sharesThread: Bool
    private let coordinator: any SlotCoordinator
    private let report: @Sendable (JobEvent) -> Void
    private let state = Mutex(State())
    private let interruptions: AsyncStream<Interruption>
    private let interrupt: AsyncStream<Interruption>.Continuation

    package init(_ number: Int, of coordinator: some SlotCoordinator, sharesThread: Bool = false) {
        self.number = number
        self.sharesThread = sharesThread
        self.coordinator = coordinator
        report = { coordinator.take($0, from: number) }
        (interruptions, interrupt) = AsyncStream.makeStream()
    }

    /// Runs jobs until the slot is closed.
    package func run(on executor: SlotExecutor, _ work: @escaping Work) async {
        var interruptions = interruptions.makeAsyncIterator()
        repeat {
            await withTaskGroup(of: Void.self) { group in
                // Only this one runs handlers, which may block its thread; a cancellation must get through meanwhile.
                group.addTask(executorPreference: executor) {
                    self.coordinator.began(self.number) { self.interrupt.yield(.cancel) }
                    await work(self)
                    self.interrupt.yield(.ended)
                }
                while let interruption = await interruptions.next(), interruption == .cancel { group.cancelAll() }
                await group.waitForAll()
            }
        } while !isOver
    }

    // MARK: The slot's task

    /// The handler of a job has ended with one message, or with none. With `.next`, the context is that of the next job then.
    @usableFromInline
    func ended(_ context: inout JobContext, message: UnsafeRawBufferPointer?) -> End {
        let sent = close(&context)
        if let message, sent.isEmpty { return goOn(context, message) }
        return goOn(context, .done(MessageList(sent + (message.map { [Array($0)] } ?? []))))
    }

    /// The handler of a job has failed; nothing is left of what it sent.
    @usableFromInline
    func ended(_ context: inout JobContext, _ failure: JobResult.Answer) -> End {
        _ = close(&context)
        return goOn(context, failure)
    }

    /// What a job has sent. It can say nothing more, and has another context than the one that follows, unless it has said nothing and kept
    /// nothing.
    private func close(_ context: inout JobContext) -> [[UInt8]] {
        if JobContext.isFree(&context) { return [] }
        defer { context = context.successor() }
        return context.close()
    }

    private func goOn(_ context: JobContext, _ answer: JobResult.Answer) -> End {
        goOn(context, coordinator.finished(context.job.lease, answer, in: number, next: context.job))
    }

    /// A function of its own, which counts no reference to what its caller has.
    @inline(never)
    private func goOn(_ context: JobContext, _ message: UnsafeRawBufferPointer) -> End {
        goOn(context, coordinator.finished(context.job.lease, message: message, in: number, next: context.job))
    }

    private func goOn(_ context: JobContext, _ end: JobEnd) -> End {
        if end.hasNext { context.begin() }
        if !end.isInterrupted { return end.hasNext ? .next : .idle }
        if end.hasNext { give(context) }
        return .interrupted
    }

    /// Waits for a job; nil when the slot is closed.
    @usableFromInline
    nonisolated(nonsending) func nextJob() async -> JobContext? {
        await withCheckedContinuation { continuation in
            let (job, isReady) = state.withLock { state -> (JobContext?, Bool) in
                if let job = state.next.take() { return (job, true) }
                if state.isClosed { return (nil, true) }
                state.idle = continuation
                return (nil, false)
            }
            if isReady { continuation.resume(returning: job) }
        }
    }

    @usableFromInline
    func passAfterEffect() { CrashPoint.pass(.workerAfterEffect) }

    private var isOver: Bool { state.withLock { $0.isClosed && $0.next == nil } }

    // MARK: The loop

    /// A job for a slot that has none.
    package func give(_ task: JobTask, in timeline: Timeline) {
        give(JobContext(task, in: timeline, report: report))
    }

    package func give(_ job: JobContext) {
        let idle = state.withLock { state in
            let idle = state.idle.take()
            if idle == nil { state.next = job }
            return idle
        }
        idle?.resume(returning: job)
    }

    /// Tells a job to stop, which may have ended and may be about to begin.
    package func cancel(_ lease: Lease) {
        coordinator.cancel(lease, in: number) { interrupt.yield(.cancel) }
    }

    /// No more jobs.
    package func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            return state.idle.take()
        }
        idle?.resume(returning: nil)
    }
}

/// A thread for the jobs of a slot, so that a handler may block without starving those of others. Where there are more slots than threads,
/// several share one, and take turns there: a handler that blocks holds up the others.
package final class SlotExecutor: TaskExecutor {
    private let queue: DispatchQueue

    package init(_ number: Int) {
        queue = DispatchQueue(label: "samovar-slot-\(number)")
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
