import CrashPoints
public import MessagePack
public import SamovarCore
import SamovarPeers
public import SamovarWire

/// What a slot does with its jobs: from the bytes of an effect to the bytes of its answer.
///
/// It is compiled where a worker is made, together with the program. Compiled in here it would ask the runtime for the program's types,
/// and for memory of their sizes, at each job. What knows no type of the program is the slot's.
@usableFromInline
struct JobLoop<P: Program>: Sendable {
    @usableFromInline let effects = ValueCodec<P.Effect>(
        MessagePackEncoder(), MessagePackDecoder(lenient: true, refusingUnknownFields: false))
    @usableFromInline let messages = ValueCodec<P.Message>(MessagePackEncoder(), MessagePackDecoder())

    @usableFromInline
    init() {}

    /// Runs one job after the other, for as long as the slot has jobs for this task. One function, because each call that may suspend takes
    /// as long as a small job.
    @inlinable
    nonisolated(nonsending) func work(in runner: JobRunner, _ handle: Worker<P>.Handle) async {
        // What a job answers is copied before the next one begins, and the memory used again.
        var writer = MessagePackWriter(reserving: 256)
        // A slot without a job keeps no context, with which it would keep the bytes of its last job.
        while var context = await runner.nextJob() {
            var end: JobRunner.End
            repeat {
                do {
                    let last = try await handle(try effect(of: context), Job<P>(context))
                    runner.passAfterEffect()
                    writer.removeAll()
                    let hasMessage = last != nil
                    if let last { try messages.encode(last, into: &writer) }
                    end = writer.withWritten(0..<writer.count) { runner.ended(&context, message: hasMessage ? $0 : nil) }
                } catch {
                    end = runner.ended(&context, failure(error, context, runner))
                }
                // A slot without a job shall not hold much memory.
                if writer.count > 64 << 10 { writer = MessagePackWriter(reserving: 256) }
                // Handlers that never suspend would keep the thread for as long as there is work.
                if runner.sharesThread, end == .next { await Task.yield() }
            } while end == .next
            if end == .interrupted { return }
        }
    }

    @inlinable
    func effect(of context: JobContext) throws -> P.Effect {
        do {
            let effect = try effects.decode(context.takePayload())
            context.passBeforeEffect()
            return effect
        } catch {
            throw unreadable(error)
        }
    }

    @usableFromInline
    func unreadable(_ error: any Error) -> any Error {
        Unreadable(text: "this worker cannot read the effect: \(describe(decodingFailure: error, of: P.Effect.self))")
    }

    @usableFromInline
    func failure(_ error: any Error, _ context: JobContext, _ runner: JobRunner) -> JobResult.Answer {
        switch error {
        case let error as Unreadable: return .failed(.unhandled, error.text, permanent: true)
        case is NotTaken:
            runner.passAfterEffect()
            // It could be decoded a moment ago, and is again only for its name.
            let name = (try? effects.decode(context.job.task.payload)).map(Self.name) ?? "the effect"
            return .failed(
                .unhandled, "no handler of this worker takes \(name) from queue \(context.job.task.queue)", permanent: true)
        default: return .failed(.threw, "\(error)", permanent: error is Permanent)
        }
    }

    /// The case of an effect, or its type if that is no enum. The text of a failure goes to logs, to operators and into the journal, so nothing
    /// is in it that the effect holds.
    private static func name(of effect: P.Effect) -> String {
        let mirror = Mirror(reflecting: effect)
        guard mirror.displayStyle == .enum, !(effect is any CustomReflectable) else { return "\(P.Effect.self)" }
        return mirror.children.first?.label ?? "\(effect)"
    }
}

/// An effect whose bytes are none of this program.
private struct Unreadable: Error {
    let text: String
}
