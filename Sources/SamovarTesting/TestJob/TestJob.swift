import MessagePack
public import SamovarCore
import SamovarWire
public import SamovarWorker
import Synchronization

/// One attempt of an effect, for the test of a worker: without a process, a store or a connection.
///
/// ```swift
/// @Test func `One is added`() async throws {
///     let job = TestJob(Counter.self, .addOne(to: 4), attempt: 2)
///     let run = try await job.run(CounterApp.worker)
///     run.expect(.returned(.finished(count: 5)))
/// }
/// ```
///
/// The worker's slot is that of production: effect and messages pass the codec, the effect goes to the first handler of a list
/// that takes it, on a thread where it may block, an error is told from a `Permanent` one, and what is too large for a
/// store is here, too. The test is the store: it has all that is streamed at once, and it is the test that cancels.
///
/// A job may be run again, as an effect is whose worker died before it could answer: with the same `job.key`.
public final class TestJob<P: Program>: Sendable {
    private struct State {
        var isCancelled = false
        /// After how many streamed messages of a run it is cancelled.
        var limit: Int?
        var running: [JobRunner] = []
    }

    private static var lease: Lease { Lease(start: 1, counter: 1) }
    private static var timeline: Timeline { Timeline(high: 0, low: 1) }
    /// A hundred years, which no test lasts; a sleep until an instant that is much farther away would trap.
    private static var longestSleep: Duration { .seconds(100 * 365 * 86_400) }

    private let effect: P.Effect
    private let key: String?
    private let attempt: Int
    private let queue: Queue
    private let timeout: Duration?
    private let deadline: ContinuousClock.Instant?
    private let resume: (index: Int, checkpoint: (any Encodable & Sendable)?)?
    private let reporter: TestReporter
    private let state = Mutex(State())

    /// An attempt of this effect. What is not said is as in the first attempt of an effect without options.
    ///
    /// - Parameters:
    ///   - program: the program whose effect it is.
    ///   - effect: what is to be done.
    ///   - key: what the handler sees as `job.key`.
    ///   - attempt: from 1.
    ///   - queue: in which it was ordered; `group` looks at it.
    ///   - timeout: how long the attempt may take; it is cancelled then.
    ///   - deadline: when it is cancelled, if that is not `timeout` after the run begins.
    ///   - index: how many messages earlier attempts have streamed; nil if they have streamed none.
    ///   - checkpoint: the newest one that came with them.
    ///   - reporter: where differences go that ``TestRun/expect(_:streamed:sent:at:)`` finds.
    public init(
        _ program: P.Type = P.self, _ effect: P.Effect, key: String? = nil, attempt: Int = 1, queue: Queue = .default,
        timeout: Duration? = nil, deadline: ContinuousClock.Instant? = nil, resume index: Int? = nil,
        checkpoint: (any Encodable & Sendable)? = nil, reporter: TestReporter = .swiftTesting
    ) {
        self.effect = effect
        self.key = key
        self.attempt = attempt
        self.queue = queue
        // Bounded as an order bounds it.
        self.timeout = timeout.map { .microseconds($0.microseconds) }
        self.deadline = deadline
        resume = index == nil && checkpoint == nil ? nil : (index ?? 0, checkpoint)
        self.reporter = reporter
    }

    // MARK: Cancelling

    /// Tells the handler to stop: one that runs, and any that is run after this.
    ///
    /// The handler's task is cancelled, wherever this is called. What the handler does next with `send` or `stream` finds it
    /// cancelled, also when the handler's own code has called this.
    public func cancel() {
        state.withLock { $0.isCancelled = true }
        stop()
    }

    /// Tells the handler to stop when a run has streamed so many messages. The task that streamed the last one streams no further
    /// one; of others, one that is on its way may still come.
    public func cancel(afterStreaming count: Int) {
        state.withLock { $0.limit = count }
    }

    private func stop() {
        for slot in state.withLock(\.running) { slot.cancel(Self.lease) }
    }

    // MARK: Running

    /// Makes the worker's environment, lets it handle the effect, and tears the environment down.
    ///
    /// It returns when the handler has ended, so one that overlooks its cancellation is found by the time limit of the test.
    ///
    /// - Parameters:
    ///   - worker: that of the program, or one that the test makes: `Worker.handlers { … }`, `Worker { effect, job in … }`.
    ///   - environment: what the handlers get in place of the environment that the worker would make. It must be of the type that
    ///     they take, and is not torn down. For workers that were joined, see ``run(_:environments:_:)``.
    /// - Throws: what making the environment throws, or that the one that was given is of another type; what encoding the effect and
    ///   the checkpoint, or decoding the messages throws. What the handler throws is the outcome of the run.
    public func run(_ worker: Worker<P>, environment: (any Sendable)? = nil) async throws -> TestRun<P> {
        try await run(worker, given: environment.map { [$0] } ?? [])
    }

    /// The same for a worker that was joined from several, with an environment for each, in any order.
    ///
    /// ```swift
    /// let worker = Worker(joining: [PagesApp.worker, MailApp.worker])
    /// let run = try await TestJob(Site.self, .mail("Ada")).run(worker, environments: FakeBrowser(), FakeMailer())
    /// ```
    ///
    /// Each of the workers gets the first that is of the type which its handlers take, so two workers of one type share it; to give
    /// them different ones, run them one by one. A worker without an environment gets none. One that nobody takes is not told of.
    ///
    /// - Throws: as ``run(_:environment:)``; also if a worker takes an environment and none of its type is given, whether it is the
    ///   one that takes the effect or not, so that no test makes the environment of production by an oversight.
    public func run(
        _ worker: Worker<P>, environments first: any Sendable, _ others: any Sendable...
    ) async throws -> TestRun<P> {
        try await run(worker, given: [first] + others)
    }

    private func run(_ worker: Worker<P>, given environments: [any Sendable]) async throws -> TestRun<P> {
        let prepared = try await worker.prepare(environments: environments)
        let run: TestRun<P>
        do {
            run = try await self.run(prepared)
        } catch {
            await prepared.tearDown()
            throw error
        }
        await prepared.tearDown()
        return run
    }

    private func run(_ worker: Worker<P>.Prepared) async throws -> TestRun<P> {
        let task = try task()
        let deadline = deadline ?? timeout.map { .now + $0 }
        let slot = TestSlot<P> { [self] count in
            if state.withLock({ $0.limit == count }) { stop() }
        }
        let runner = JobRunner(0, of: slot)
        let context = JobContext(task, in: Self.timeline, key: key, limit: deadline.map { TimeLimit(deadline: $0) }) { event in
            slot.take(event, from: 0)
        }
        runner.give(context)
        runner.close()
        begin(runner)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await runner.run(on: SlotExecutor(0), slot.observing(worker).work)
                slot.ended()
            }
            if let deadline {
                let now = ContinuousClock.now
                let end = min(max(deadline, now), now + Self.longestSleep)
                group.addTask {
                    // A cancelled sleep is the end of the job.
                    do { try await Task.sleep(until: end, clock: .continuous) } catch { return }
                    runner.cancel(Self.lease)
                }
            }
            for await mark in slot.marks { context.acknowledged(mark) }
            group.cancelAll()
        }
        state.withLock { state in state.running.removeAll { $0 === runner } }
        return try TestRun(slot.account, of: effect, reporter)
    }

    private func begin(_ runner: JobRunner) {
        let isCancelled = state.withLock { state in
            state.running.append(runner)
            return state.isCancelled || state.limit.map { $0 <= 0 } == true
        }
        if isCancelled { runner.cancel(Self.lease) }
    }

    private func task() throws -> JobTask {
        let place = try resume.map { resume in
            StreamPlace(index: resume.index, checkpoint: try resume.checkpoint.map { try MessagePackEncoder().encode($0) })
        }
        return JobTask(
            effect: EffectID(turn: 1, ordinal: 0), lease: Self.lease, token: 0, attempt: attempt, queue: queue, timeout: timeout,
            resume: place, payload: try MessagePackEncoder().encode(effect)[...])
    }
}
