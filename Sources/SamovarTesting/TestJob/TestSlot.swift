import SamovarCore
import SamovarPeers
import SamovarWire
import SamovarWorker
import Synchronization

/// Plays the coordinator of a worker with one job, and keeps what becomes of it.
final class TestSlot<P: Program>: SlotCoordinator {
    struct Account: Sendable {
        var streamed: [(index: Int, message: [UInt8], checkpoint: [UInt8]?)] = []
        var progress: [JobProgress] = []
        var answer: JobResult.Answer?
        /// The last message of the answer is what the handler returned.
        var hasReturned = false
        /// What the handler threw.
        var error: (any Error)?
        var isCancelled = false
    }

    private struct State {
        var account = Account()
        var isRunning = false
    }

    private let state = Mutex(State())
    private let acknowledge: AsyncStream<StreamMark>.Continuation
    /// What was streamed and is to be acknowledged: not while it is streamed, for the job is locked then.
    let marks: AsyncStream<StreamMark>
    /// Told how many messages have been streamed.
    private let onStreamed: @Sendable (Int) -> Void

    init(onStreamed: @escaping @Sendable (Int) -> Void) {
        self.onStreamed = onStreamed
        (marks, acknowledge) = AsyncStream.makeStream()
    }

    var account: Account { state.withLock { $0.account } }

    /// The same worker, of which is noted how its handler ends.
    func observing(_ worker: Worker<P>.Prepared) -> Worker<P>.Prepared {
        Worker<P>.Prepared { [self] effect, job in
            do {
                let observed = job.lift(P.self) { [self] message in
                    stopIfCancelled()
                    return message
                }
                let message = try await worker.handle(effect, observed)
                state.withLock { $0.account.hasReturned = message != nil }
                return message
            } catch {
                state.withLock { $0.account.error = error }
                throw error
            }
        }
    }

    /// Nothing is to be streamed after the cancellation, which reaches the handler's task a moment later.
    private func stopIfCancelled() {
        if state.withLock({ $0.account.isCancelled }) { withUnsafeCurrentTask { $0?.cancel() } }
    }

    func ended() {
        acknowledge.finish()
    }

    // MARK: The coordinator

    func began(_ slot: Int, _ interrupt: () -> Void) {
        let isCancelled = state.withLock { state in
            state.isRunning = true
            return state.account.isCancelled
        }
        if isCancelled { interrupt() }
        stopIfCancelled()
    }

    func take(_ event: JobEvent, from slot: Int) {
        switch event {
        case .progressed(_, let progress): state.withLock { $0.account.progress.append(progress) }
        case .streamed(let context, let index, let message, let checkpoint):
            let count = state.withLock { state in
                state.account.streamed.append((index, message, checkpoint))
                return state.account.streamed.count
            }
            onStreamed(count)
            acknowledge.yield(StreamMark(lease: context.job.lease, index: index))
        }
    }

    func cancel(_ lease: Lease, in slot: Int, _ interrupt: () -> Void) {
        state.withLock { state in
            guard state.account.answer == nil else { return }
            state.account.isCancelled = true
            if state.isRunning { interrupt() }
        }
    }

    func finished(_ lease: Lease, _ answer: JobResult.Answer, in slot: Int, next job: RunningJob) -> JobEnd {
        state.withLock { state in
            state.account.answer = answer.replacement(limit: WorkerMachine.Settings.standard.answerBytes) ?? answer
            return JobEnd(hasNext: false, isInterrupted: state.account.isCancelled)
        }
    }

    func finished(_ lease: Lease, message: UnsafeRawBufferPointer, in slot: Int, next job: RunningJob) -> JobEnd {
        finished(lease, .done(MessageList([Array(message)])), in: slot, next: job)
    }
}
