import CrashPoints
import MessagePack
package import SamovarCore
package import SamovarPeers
package import SamovarWire
import Synchronization

/// A running job: what it is, and what it has said, between its handler and the loop of its worker.
///
/// A slot uses its context for the next job, too, if nothing has kept it and nothing was said: what is left of an ended job must not speak
/// for another. So nearly all jobs, which only answer, have one context without a lock.
///
/// `@unchecked`: the time limit, and what `job` is, change in `begin` alone, when the slot has the only reference and has seen all that
/// others did.
@usableFromInline
package final class JobContext: @unchecked Sendable {
    private enum Voice: UInt8, AtomicRepresentable {
        case silent
        /// Something was said.
        case heard
        /// The job is over.
        case closed
    }

    private struct Speech {
        var messages: [[UInt8]] = []
        var window: StreamWindow
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var waiterCount = 0

        init(_ task: JobTask) {
            window = StreamWindow(after: task.resume)
        }

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            guard !waiters.isEmpty else { return [] }
            defer { waiters.removeAll() }
            return Array(waiters.values)
        }
    }

    package let job: RunningJob
    /// What a test names its effect; nil for the effect's own name.
    private let givenKey: String?
    // Nobody reads it while `begin` writes.
    private let timeLimit: Cell<TimeLimit?>
    private let voice = Atomic(Voice.silent)
    /// Nil as long as nothing was said.
    private let speech = Mutex<Speech?>(nil)
    /// Nobody wants what it streams any more. Its handler's task is cancelled then, and other tasks of the handler look at this.
    private let isUnwanted = Atomic<Bool>(false)
    private let report: @Sendable (JobEvent) -> Void

    /// - Parameters:
    ///   - key: in place of the effect's own name.
    ///   - limit: in place of the task's timeout from now.
    package init(
        _ task: consuming JobTask, in timeline: Timeline, key: String? = nil, limit: TimeLimit? = nil,
        report: @escaping @Sendable (JobEvent) -> Void
    ) {
        job = RunningJob(task, in: timeline)
        givenKey = key
        timeLimit = Cell(limit ?? job.timeout.map { TimeLimit($0) })
        self.report = report
    }

    /// The identity of the effect.
    var key: String { givenKey ?? "\(job.timeline)/\(job.task.effect)" }

    /// When its attempt has taken too long; nil if it may take as long as it likes.
    var limit: TimeLimit? { timeLimit.value }

    /// The effect in MessagePack. For the slot's task alone, before its handler.
    @usableFromInline
    func takePayload() -> ArraySlice<UInt8> { job.takePayload() }

    @usableFromInline
    func passBeforeEffect() { CrashPoint.pass(.workerBeforeEffect) }

    // MARK: The slot

    /// Nobody else has this context, so nobody can say anything, and nobody has.
    static func isFree(_ context: inout JobContext) -> Bool {
        guard isKnownUniquelyReferenced(&context) else { return false }
        // What the last other one did comes before what is done with the context now: the look at the count alone does not say so.
        atomicMemoryFence(ordering: .acquiring)
        return context.voice.load(ordering: .relaxed) == .silent
    }

    /// Its job is another one from now on. Only while the context is free.
    func begin() {
        timeLimit.value = job.timeout.map { TimeLimit($0) }
    }

    /// An empty context, for the job that comes after this one.
    func successor() -> JobContext { JobContext(job.task, in: job.timeline, report: report) }

    /// The collected messages; nothing can be said after this.
    func close() -> [[UInt8]] {
        // Who says the first thing looks at this, too.
        guard voice.exchange(.closed, ordering: .acquiringAndReleasing) != .silent else { return [] }
        let (messages, waiters) = speech.withLock { speech in
            (speech?.messages ?? [], speech?.takeWaiters() ?? [])
        }
        for waiter in waiters { waiter.resume() }
        return messages
    }

    // MARK: The handler

    /// Says something; nil if the job is over.
    private func speak<Result>(_ body: (inout Speech) throws -> sending Result) rethrows -> Result? {
        try speech.withLock { speech in
            let (_, before) = voice.compareExchange(expected: .silent, desired: .heard, ordering: .acquiringAndReleasing)
            if before == .closed { return nil }
            var said = speech.take() ?? Speech(job.task)
            defer { speech = said }
            return try body(&said)
        }
    }

    func collect(_ message: [UInt8]) {
        speak { $0.messages.append(message) }
    }

    func stream(_ message: [UInt8], checkpoint: [UInt8]?) async throws {
        let checkpointSize = checkpoint?.count ?? 0
        if let error = StreamError(messageBytes: message.count, checkpointBytes: checkpointSize) { throw error }
        let size = message.count + checkpointSize
        while true {
            try Task.checkCancellation()
            if isUnwanted.load(ordering: .acquiring) { throw CancellationError() }
            let isSent = speak { speech in
                guard let index = speech.window.next(size: size) else { return false }
                // Under the lock: the numbers must reach the loop in order.
                report(.streamed(self, index: index, message: message, checkpoint: checkpoint))
                return true
            }
            guard let isSent else { throw StreamError.ended }
            if isSent { return }
            await waitForRoom(size)
        }
    }

    private func waitForRoom(_ size: Int) async {
        guard
            let number = speak({ speech in
                speech.waiterCount += 1
                return speech.waiterCount
            })
        else { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = speak { speech in
                    if speech.window.hasRoom(for: size) || Task.isCancelled { return false }
                    if isUnwanted.load(ordering: .acquiring) { return false }
                    speech.waiters[number] = continuation
                    return true
                }
                if isWaiting != true { continuation.resume() }
            }
        } onCancel: {
            speech.withLock { $0?.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    func progress(_ progress: JobProgress) {
        speak { _ in report(.progressed(job.lease, progress)) }
    }

    // MARK: The loop

    package func acknowledged(_ mark: StreamMark) {
        guard mark.lease == job.lease else { return }
        let waiters = speech.withLock { speech in
            speech?.window.acknowledged(through: mark.index)
            return speech?.takeWaiters() ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    /// It was told to stop: nothing makes room for what it streams any more, and whoever waits for that ends. Not while it speaks.
    package func stop() {
        refuseStreams()
        let waiters = speech.withLock { speech in speech?.takeWaiters() ?? [] }
        for waiter in waiters { waiter.resume() }
    }

    /// The same for one that streams its first message now, so that nobody waits yet.
    package func refuseStreams() { isUnwanted.store(true, ordering: .releasing) }
}

/// What a job tells its worker before its end.
package enum JobEvent: Sendable {
    case streamed(JobContext, index: Int, message: [UInt8], checkpoint: [UInt8]?)
    case progressed(Lease, JobProgress)
}

/// When a job is to end. Boxed: an `Instant` has no static size, and would take it from the context as well.
package final class TimeLimit: Sendable {
    package let deadline: ContinuousClock.Instant

    package init(deadline: ContinuousClock.Instant) {
        self.deadline = deadline
    }

    convenience init(_ timeout: Duration) {
        self.init(deadline: .now + timeout)
    }
}
