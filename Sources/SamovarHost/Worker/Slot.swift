public import SamovarCore
public import SamovarProtocol
import Synchronization

/// One slot of a worker: a long-lived task that runs one job after the other.
///
/// A job runs in the slot's task and not in one of its own, which would cost more than a small job does. So the task of a job that was
/// cancelled is a cancelled task: it runs no other, and the slot goes on with a new one.
@usableFromInline
final class Slot: Sendable {
    /// Runs jobs one after the other, beginning with one that another task has left, and ends with one that it may not run. It runs
    /// where the slot runs; to change executors and back would cost as much as a small job.
    @usableFromInline
    typealias Work = nonisolated(nonsending) @Sendable (Slot, WorkerDesk.Assignment?) async -> WorkerDesk.Assignment?

    private struct State {
        /// The running job.
        var lease: Lease?
        /// What it says.
        var said: JobDesk?
        /// The running job was told to stop.
        var isInterrupted = false
        /// A job that was told to stop and does not run: it has ended, or is the next to begin.
        var cancelled: Lease?
        /// A job that nobody has come for.
        var next: WorkerDesk.Assignment?
        var isClosed = false
        /// The slot's task while it has no job.
        var idle: CheckedContinuation<WorkerDesk.Assignment?, Never>?

        /// The job is over, and nobody can tell it to stop any more.
        mutating func takeInterruption() -> Bool {
            lease = nil
            defer { isInterrupted = false }
            return isInterrupted
        }
    }

    private enum Interruption {
        /// The job under way shall stop.
        case cancel
        /// The slot's task has ended, after a job that was told to stop or for good.
        case ended
    }

    private let number: Int
    private let desk: WorkerDesk
    private let report: @Sendable (JobNews) -> Void
    private let state = Mutex(State())
    private let interruptions: AsyncStream<Interruption>
    private let interrupt: AsyncStream<Interruption>.Continuation

    init(_ number: Int, of desk: WorkerDesk) {
        self.number = number
        self.desk = desk
        report = { desk.take($0) }
        (interruptions, interrupt) = AsyncStream.makeStream()
    }

    /// Runs jobs until the slot is closed.
    func run(on executor: SlotExecutor, _ work: @escaping Work) async {
        var interruptions = interruptions.makeAsyncIterator()
        var first: WorkerDesk.Assignment?
        repeat {
            first = await withTaskGroup(of: WorkerDesk.Assignment?.self) { group in
                // Only this one runs handlers, which may block its thread; a cancellation must get through meanwhile.
                group.addTask(executorPreference: executor) { [first] in
                    let left = await work(self, first)
                    self.interrupt.yield(.ended)
                    return left
                }
                while let interruption = await interruptions.next(), interruption == .cancel { group.cancelAll() }
                return await group.next() ?? nil
            }
        } while first != nil || !isClosed
    }

    // MARK: The slot's task

    /// A desk for a job; nil if the one before it was told to stop, for then this task is a cancelled one.
    @usableFromInline
    func begin(_ task: JobTask) -> JobDesk? {
        state.withLock { state in
            guard !state.takeInterruption() else { return nil }
            state.lease = task.lease
            // Used up: another timeline has the same leases again.
            if state.cancelled.take() == task.lease { stop(&state) }
            if isKnownUniquelyReferenced(&state.said), let said = state.said {
                said.reset(task)
                return said
            }
            let said = JobDesk(task, report: report)
            state.said = said
            return said
        }
    }

    /// The handler of a job has ended. The slot's next job, if there is one.
    @usableFromInline
    func ended(_ lease: Lease, _ answer: JobResult.Answer) -> WorkerDesk.Assignment? {
        desk.finished(lease, answer, in: number)
    }

    /// The same for an answer of one message.
    @usableFromInline
    func ended(_ lease: Lease, message: UnsafeRawBufferPointer) -> WorkerDesk.Assignment? {
        desk.finished(lease, message: message, in: number)
    }

    /// Waits for the loop to bring a job; nil when the slot is closed, and for a task that is a cancelled one.
    @usableFromInline
    nonisolated(nonsending) func nextJob() async -> WorkerDesk.Assignment? {
        await withCheckedContinuation { continuation in
            let (job, isReady) = state.withLock { state -> (WorkerDesk.Assignment?, Bool) in
                if state.takeInterruption() { return (nil, true) }
                if let job = state.next {
                    state.next = nil
                    return (job, true)
                }
                if state.isClosed { return (nil, true) }
                state.idle = continuation
                return (nil, false)
            }
            if isReady { continuation.resume(returning: job) }
        }
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: The loop

    func give(_ job: WorkerDesk.Assignment) {
        let idle = state.withLock { state in
            defer { state.idle = nil }
            if state.idle == nil { state.next = job }
            return state.idle
        }
        idle?.resume(returning: job)
    }

    /// Tells a job to stop. It may have ended, and it may be about to begin.
    func cancel(_ lease: Lease) {
        state.withLock { state in
            if state.lease == lease { stop(&state) } else { state.cancelled = lease }
        }
    }

    private func stop(_ state: inout State) {
        state.isInterrupted = true
        // Under the lock: before the end of the job's task, or it would reach the next one.
        interrupt.yield(.cancel)
    }

    func acknowledged(_ mark: StreamMark) {
        state.withLock { $0.said }?.acknowledged(mark)
    }

    /// No more jobs.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = nil }
            return state.idle
        }
        idle?.resume(returning: nil)
    }
}
