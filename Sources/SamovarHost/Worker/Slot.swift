import CrashPoints
import MessagePack
import SamovarCore
import SamovarProtocol

/// One slot of a worker: a long-lived task that runs one job after the other.
struct Slot<P: Program>: Sendable {
    enum Event: Sendable {
        case run(JobTask, timeline: Timeline)
        case cancel(Lease)
        /// The handler of the running job has ended.
        case ended
    }

    let events: AsyncStream<Event>
    let continuation: AsyncStream<Event>.Continuation

    init() {
        (events, continuation) = AsyncStream.makeStream()
    }

    /// Runs jobs until the stream of events ends.
    func run(
        _ handler: @escaping Worker<P>.Handler, on executor: SlotExecutor,
        report: @escaping @Sendable (Lease, JobResult.Answer) -> Void
    ) async {
        var iterator = events.makeAsyncIterator()
        while let event = await iterator.next() {
            // A cancellation may arrive after its job has ended.
            guard case .run(let task, let timeline) = event else { continue }
            await withTaskGroup(of: Void.self) { group in
                // Only the handler, which may block its thread; a cancellation must get through meanwhile.
                group.addTask(executorPreference: executor) {
                    let answer = await Self.answer(task, timeline, handler)
                    // First this: after the report, the next `.run` may come at any time.
                    continuation.yield(.ended)
                    report(task.lease, answer)
                }
                while let event = await iterator.next() {
                    if case .ended = event { break }
                    if case .cancel(task.lease) = event { group.cancelAll() }
                }
            }
        }
    }

    private static func answer(_ task: JobTask, _ timeline: Timeline, _ handler: Worker<P>.Handler) async -> JobResult.Answer {
        let effect: P.Effect
        do {
            effect = try MessagePackDecoder(lenient: true).decode(P.Effect.self, from: task.payload)
        } catch {
            let text = describe(decodingFailure: error, of: P.Effect.self)
            return .failed(.unhandled, "this worker cannot read the effect: \(text)", permanent: true)
        }
        let job = Job<P>(
            key: "\(timeline)/\(task.effect)", attempt: task.attempt, instance: task.instance, queue: task.queue,
            timeout: task.timeout)
        do {
            CrashPoint.pass(.workerBeforeEffect)
            let last = try await handler(effect, job)
            CrashPoint.pass(.workerAfterEffect)
            var messages = job.takeMessages()
            if let last { messages.append(try MessagePackEncoder().encode(last)) }
            return .done(messages)
        } catch let error as Permanent {
            return .failed(.threw, error.description, permanent: true)
        } catch {
            return .failed(.threw, "\(error)", permanent: false)
        }
    }
}
