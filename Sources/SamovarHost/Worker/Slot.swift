import CrashPoints
import MessagePack
import SamovarCore
import SamovarProtocol

/// One slot of a worker: a long-lived task that runs one job after the other.
struct Slot<P: Program>: Sendable {
    enum Event: Sendable {
        case run(JobTask, timeline: Timeline)
        case cancel(Lease)
        case acknowledged(StreamMark)
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
        _ handler: @escaping Worker<P>.Handle, on executor: SlotExecutor,
        report: @escaping @Sendable (JobNews) -> Void
    ) async {
        var iterator = events.makeAsyncIterator()
        while let event = await iterator.next() {
            // A cancellation may arrive after its job has ended.
            guard case .run(let task, let timeline) = event else { continue }
            let desk = JobDesk(task, report: report)
            await withTaskGroup(of: Void.self) { group in
                // Only the handler, which may block its thread; a cancellation must get through meanwhile.
                group.addTask(executorPreference: executor) {
                    let answer = await Self.answer(task, timeline, desk, handler)
                    // First this: after the report, the next `.run` may come at any time.
                    continuation.yield(.ended)
                    report(.finished(task.lease, answer))
                }
                while let event = await iterator.next() {
                    if case .ended = event { break }
                    if case .acknowledged(let mark) = event { desk.acknowledged(mark) }
                    if case .cancel(task.lease) = event { group.cancelAll() }
                }
            }
        }
    }

    private static func answer(
        _ task: JobTask, _ timeline: Timeline, _ desk: JobDesk, _ handler: Worker<P>.Handle
    ) async -> JobResult.Answer {
        let effect: P.Effect
        do {
            effect = try MessagePackDecoder(lenient: true).decode(P.Effect.self, from: task.payload)
        } catch {
            let text = describe(decodingFailure: error, of: P.Effect.self)
            return .failed(.unhandled, "this worker cannot read the effect: \(text)", permanent: true)
        }
        do {
            CrashPoint.pass(.workerBeforeEffect)
            let handled = try await handler(effect, Job<P>(task, key: "\(timeline)/\(task.effect)", desk: desk))
            CrashPoint.pass(.workerAfterEffect)
            var messages = desk.close()
            switch handled {
            case .passed:
                let name = String("\(effect)".prefix(200))
                return .failed(
                    .unhandled, "no handler of this worker takes \(name) from queue \(task.queue)", permanent: true)
            case .answered(let last):
                if let last { messages.append(try MessagePackEncoder().encode(last)) }
                return .done(messages)
            }
        } catch {
            _ = desk.close()
            return .failed(.threw, "\(error)", permanent: error is Permanent)
        }
    }
}
