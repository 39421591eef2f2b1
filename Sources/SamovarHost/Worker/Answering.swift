import CrashPoints
import MessagePack
import SamovarCore
import SamovarProtocol

/// What a slot does with a job: from the bytes of an effect to the bytes of its answer.
struct Answering<P: Program>: Sendable {
    private let handle: Worker<P>.Handle
    private let effects = ValueCodec<P.Effect>(MessagePackEncoder(), MessagePackDecoder(lenient: true))
    private let messages = ValueCodec<P.Message>(MessagePackEncoder(), MessagePackDecoder())

    init(_ handle: @escaping Worker<P>.Handle) {
        self.handle = handle
    }

    /// One attempt of one effect.
    nonisolated(nonsending) func answer(_ assignment: WorkerDesk.Assignment, _ desk: JobDesk) async -> JobResult.Answer {
        let task = assignment.task
        let effect: P.Effect
        do {
            effect = try effects.decode(task.payload)
        } catch {
            let text = describe(decodingFailure: error, of: P.Effect.self)
            return .failed(.unhandled, "this worker cannot read the effect: \(text)", permanent: true)
        }
        do {
            CrashPoint.pass(.workerBeforeEffect)
            let handled = try await handle(effect, Job<P>(task, in: assignment.timeline, desk: desk))
            CrashPoint.pass(.workerAfterEffect)
            var sent = desk.close()
            switch handled {
            case .passed:
                let name = String("\(effect)".prefix(200))
                return .failed(.unhandled, "no handler of this worker takes \(name) from queue \(task.queue)", permanent: true)
            case .answered(let last):
                if let last { sent.append(try messages.encode(last)) }
                return .done(MessageList(sent))
            }
        } catch {
            _ = desk.close()
            return .failed(.threw, "\(error)", permanent: error is Permanent)
        }
    }
}
