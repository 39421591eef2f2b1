import CrashPoints
public import MessagePack
public import SamovarCore
public import SamovarProtocol

/// What a slot does with its jobs: from the bytes of an effect to the bytes of its answer.
///
/// It is compiled where a worker is made, together with the program. Compiled in here it would ask the runtime for the program's types,
/// and for memory of their sizes, at each job.
@usableFromInline
struct Answering<P: Program>: Sendable {
    @usableFromInline let effects = ValueCodec<P.Effect>(MessagePackEncoder(), MessagePackDecoder(lenient: true))
    @usableFromInline let messages = ValueCodec<P.Message>(MessagePackEncoder(), MessagePackDecoder())

    @usableFromInline
    init() {}

    /// Runs one job after the other, for as long as the slot has jobs for this task. One function, for each call that may suspend takes
    /// as long as a small job.
    ///
    /// - Returns: a job that another task has to run, since this one was cancelled.
    @inlinable
    nonisolated(nonsending) func work(
        in slot: Slot, first: WorkerDesk.Assignment?, _ handle: Worker<P>.Handle
    ) async -> WorkerDesk.Assignment? {
        var next = first
        // What a job answers is copied before the next one begins, and the memory used again.
        var writer = MessagePackWriter(reserving: 256)
        while true {
            if next == nil { next = await slot.nextJob() }
            guard let assignment = next.take() else { return nil }
            guard let desk = slot.begin(assignment.task) else { return assignment }
            let job = Job<P>(assignment.task, in: assignment.timeline, desk: desk)
            let answer: JobResult.Answer?
            do {
                let last = try await handle(try effect(of: job.task), job)
                answer = try self.answer(of: desk, last, &writer)
            } catch {
                answer = failure(error, job.task, desk)
            }
            let lease = job.task.lease
            if let answer {
                next = slot.ended(lease, answer)
            } else {
                next = writer.withWritten(0..<writer.count) { slot.ended(lease, message: $0) }
            }
            // A slot without a job shall not hold much memory.
            if writer.count > 64 << 10 { writer = MessagePackWriter(reserving: 256) }
        }
    }

    @inlinable
    func effect(of task: JobTask) throws -> P.Effect {
        do {
            let effect = try effects.decode(task.payload)
            passCrashPoint(isBefore: true)
            return effect
        } catch {
            throw unreadable(error)
        }
    }

    /// What a handler said; nil if it is one message alone, as nearly always: that is all that the writer has then.
    @inlinable
    func answer(of desk: JobDesk, _ last: P.Message?, _ writer: inout MessagePackWriter) throws -> JobResult.Answer? {
        passCrashPoint(isBefore: false)
        let sent = desk.close()
        guard let last else { return .done(MessageList(sent)) }
        writer.removeAll()
        try messages.encode(last, into: &writer)
        return sent.isEmpty ? nil : .done(MessageList(sent + [writer.bytes]))
    }

    @usableFromInline
    func passCrashPoint(isBefore: Bool) {
        CrashPoint.pass(isBefore ? .workerBeforeEffect : .workerAfterEffect)
    }

    @usableFromInline
    func unreadable(_ error: any Error) -> any Error {
        Unreadable(text: "this worker cannot read the effect: \(describe(decodingFailure: error, of: P.Effect.self))")
    }

    @usableFromInline
    func failure(_ error: any Error, _ task: JobTask, _ desk: JobDesk) -> JobResult.Answer {
        _ = desk.close()
        switch error {
        case let error as Unreadable: return .failed(.unhandled, error.text, permanent: true)
        case is NotTaken:
            passCrashPoint(isBefore: false)
            // It could be decoded a moment ago, and is again only for its name.
            let name = (try? effects.decode(task.payload)).map { String("\($0)".prefix(200)) } ?? "the effect"
            return .failed(.unhandled, "no handler of this worker takes \(name) from queue \(task.queue)", permanent: true)
        default: return .failed(.threw, "\(error)", permanent: error is Permanent)
        }
    }
}

/// An effect whose bytes are none of this program.
private struct Unreadable: Error {
    let text: String
}
