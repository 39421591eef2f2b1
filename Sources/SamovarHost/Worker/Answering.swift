import CrashPoints
public import MessagePack
public import SamovarCore
public import SamovarProtocol

/// What a slot does with its jobs: from the bytes of an effect to the bytes of its answer.
///
/// It is compiled where a worker is made, together with the program. Compiled in here it would ask the runtime for the program's types,
/// and for memory of their sizes, at each job. What knows no type of the program is the slot's.
@usableFromInline
struct Answering<P: Program>: Sendable {
    @usableFromInline let effects = ValueCodec<P.Effect>(MessagePackEncoder(), MessagePackDecoder(lenient: true))
    @usableFromInline let messages = ValueCodec<P.Message>(MessagePackEncoder(), MessagePackDecoder())

    @usableFromInline
    init() {}

    /// Runs one job after the other, for as long as the slot has jobs for this task. One function, for each call that may suspend takes
    /// as long as a small job.
    @inlinable
    nonisolated(nonsending) func work(in slot: Slot, _ handle: Worker<P>.Handle) async {
        // What a job answers is copied before the next one begins, and the memory used again.
        var writer = MessagePackWriter(reserving: 256)
        // A slot without a job keeps no desk, with which it would keep the bytes of its last job.
        while var desk = await slot.nextJob() {
            var end: Slot.End
            repeat {
                do {
                    let last = try await handle(try effect(of: desk), Job<P>(desk))
                    slot.passAfterEffect()
                    writer.removeAll()
                    let hasMessage = last != nil
                    if let last { try messages.encode(last, into: &writer) }
                    end = writer.withWritten(0..<writer.count) { slot.ended(&desk, message: hasMessage ? $0 : nil) }
                } catch {
                    end = slot.ended(&desk, failure(error, desk, slot))
                }
                // A slot without a job shall not hold much memory.
                if writer.count > 64 << 10 { writer = MessagePackWriter(reserving: 256) }
            } while end == .next
            if end == .interrupted { return }
        }
    }

    @inlinable
    func effect(of desk: JobDesk) throws -> P.Effect {
        do {
            let effect = try effects.decode(desk.takePayload())
            desk.passBeforeEffect()
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
    func failure(_ error: any Error, _ desk: JobDesk, _ slot: Slot) -> JobResult.Answer {
        switch error {
        case let error as Unreadable: return .failed(.unhandled, error.text, permanent: true)
        case is NotTaken:
            slot.passAfterEffect()
            // It could be decoded a moment ago, and is again only for its name.
            let name = (try? effects.decode(desk.job.task.payload)).map { String("\($0)".prefix(200)) } ?? "the effect"
            return .failed(.unhandled, "no handler of this worker takes \(name) from queue \(desk.job.task.queue)", permanent: true)
        default: return .failed(.threw, "\(error)", permanent: error is Permanent)
        }
    }
}

/// An effect whose bytes are none of this program.
private struct Unreadable: Error {
    let text: String
}
