import SamovarCore
import SamovarProtocol
import Synchronization

/// What a running job has said, between its handler and the loop of its worker.
///
/// A slot uses its desk for the next job, too, unless something has kept it: what is left of an ended job must not speak for another.
@usableFromInline
final class JobDesk: Sendable {
    private struct State {
        var lease: Lease
        var messages: [[UInt8]] = []
        var window: StreamWindow
        var isClosed = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var waiterCount = 0
        /// Made when the job tells of itself for the first time.
        var told: ProgressCell?

        init(_ task: JobTask) {
            lease = task.lease
            window = StreamWindow(after: task.resume)
        }

        /// For another job. Most have used nothing of it.
        mutating func reset(_ task: JobTask) {
            lease = task.lease
            if !messages.isEmpty { messages = [] }
            if window.last != 0 || task.resume != nil { window = StreamWindow(after: task.resume) }
            isClosed = false
            told = nil
        }

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            guard !waiters.isEmpty else { return [] }
            defer { waiters.removeAll() }
            return Array(waiters.values)
        }
    }

    private let state: Mutex<State>
    private let report: @Sendable (JobNews) -> Void

    init(_ task: JobTask, report: @escaping @Sendable (JobNews) -> Void) {
        state = Mutex(State(task))
        self.report = report
    }

    /// Begins anew, for another job.
    func reset(_ task: JobTask) {
        state.withLock { $0.reset(task) }
    }

    func collect(_ message: [UInt8]) {
        state.withLock { $0.messages.append(message) }
    }

    /// The collected messages; nothing can be streamed after this.
    @usableFromInline
    func close() -> [[UInt8]] {
        let (messages, waiters) = state.withLock { state in
            state.isClosed = true
            return (state.messages, state.takeWaiters())
        }
        for waiter in waiters { waiter.resume() }
        return messages
    }

    func stream(_ message: [UInt8], checkpoint: [UInt8]?) async throws {
        let size = message.count + (checkpoint?.count ?? 0)
        if let bytes = checkpoint?.count, bytes > StreamWindow.checkpointLimit {
            throw StreamError.checkpointTooLarge(bytes: bytes, limit: StreamWindow.checkpointLimit)
        }
        guard size <= StreamWindow.messageLimit else { throw StreamError.tooLarge(bytes: size, limit: StreamWindow.messageLimit) }
        while true {
            try Task.checkCancellation()
            let isSent = try state.withLock { state in
                guard !state.isClosed else { throw StreamError.ended }
                guard let index = state.window.next(size: size) else { return false }
                // Under the lock: the numbers must reach the loop in order.
                report(.streamed(state.lease, index: index, message: message, checkpoint: checkpoint))
                return true
            }
            if isSent { return }
            await waitForRoom(size)
        }
    }

    private func waitForRoom(_ size: Int) async {
        let number = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.isClosed || state.window.hasRoom(for: size) || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isFree { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    func acknowledged(_ mark: StreamMark) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard mark.lease == state.lease else { return [] }
            state.window.acknowledged(through: mark.index)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    func progress(_ progress: JobProgress) {
        let (lease, told) = state.withLock { state in
            let cell = state.told ?? ProgressCell()
            state.told = cell
            return (state.lease, cell)
        }
        if told.set(progress) { report(.progressed(lease, told)) }
    }
}

/// What a job tells its worker before its end.
enum JobNews: Sendable {
    case streamed(Lease, index: Int, message: [UInt8], checkpoint: [UInt8]?)
    case progressed(Lease, ProgressCell)
}

/// The newest progress of a job. However often it is set, the loop hears of it once until it looks.
final class ProgressCell: Sendable {
    private let value = Mutex<JobProgress?>(nil)

    /// True if the loop has to be told.
    func set(_ progress: JobProgress) -> Bool {
        value.withLock { value in
            defer { value = progress }
            return value == nil
        }
    }

    func take() -> JobProgress? {
        value.withLock { value in
            defer { value = nil }
            return value
        }
    }
}
