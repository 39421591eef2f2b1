import CrashPoints
import MessagePack
import SamovarCore
import SamovarProtocol

extension Worker {
    /// One attempt of one effect, from its bytes to the bytes of its answer.
    static func answer(
        _ assignment: WorkerDesk.Assignment, _ desk: JobDesk, _ handle: Handle
    ) async -> JobResult.Answer {
        let task = assignment.task
        let effect: P.Effect
        do {
            effect = try MessagePackDecoder(lenient: true).decode(P.Effect.self, from: task.payload)
        } catch {
            let text = describe(decodingFailure: error, of: P.Effect.self)
            return .failed(.unhandled, "this worker cannot read the effect: \(text)", permanent: true)
        }
        do {
            CrashPoint.pass(.workerBeforeEffect)
            let handled = try await handle(effect, Job<P>(task, in: assignment.timeline, desk: desk))
            CrashPoint.pass(.workerAfterEffect)
            var messages = desk.close()
            switch handled {
            case .passed:
                let name = String("\(effect)".prefix(200))
                return .failed(.unhandled, "no handler of this worker takes \(name) from queue \(task.queue)", permanent: true)
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
