import MessagePack
public import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire
import SamovarWorker
public import Testing

/// The test as the worker.
extension TestStore {
    /// Ends a job well: its handler returned these messages, which are applied as one group and close the effect. Without a
    /// message the effect is just closed.
    ///
    /// If several open effects are equal, the oldest that a worker has is meant. An answer of more than 4 MiB is reported, and fails the
    /// effect as `unhandled`, as a worker would.
    public func complete(
        _ effect: P.Effect, with messages: P.Message..., expect: (inout P.State) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) {
        let call = "complete(\(ValueText.of(effect)))"
        let answer = messages.compactMap { encoded($0, call, at: location) }
        guard answer.count == messages.count else { return }
        end(call, effect, .done(MessageList(answer)), expect, at: location)
    }

    /// Ends a job for good: its handler threw a `Permanent` error, or what else the reason says. The program's `failed` is asked for
    /// a message.
    public func fail(
        _ effect: P.Effect, _ reason: Failure.Reason = .threw, _ text: String = "", expect: (inout P.State) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) {
        end("fail(\(ValueText.of(effect)))", effect, .failed(reason, text, permanent: true), expect, at: location)
    }

    /// Ends one attempt: its handler threw. The store tries again after a pause, if the effect's `retry` says so, and otherwise
    /// this is as ``fail(_:_:_:expect:at:)``. The pause is known only to within 20 %; move the clock on until the effect is handed out.
    public func failAttempt(
        _ effect: P.Effect, _ text: String = "", expect: (inout P.State) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) {
        end("failAttempt(\(ValueText.of(effect)))", effect, .failed(.threw, text, permanent: false), expect, at: location)
    }

    /// Sends a message of a job that goes on, as `job.stream` does: it is applied at once. From the checkpoint the next attempt would go on; see
    /// ``expectResume(of:after:checkpoint:at:)``. What `job.stream` would throw for, because it is too large, is reported and not sent.
    public func stream<Checkpoint: Portable>(
        _ message: P.Message, from effect: P.Effect, checkpoint: Checkpoint, expect: (inout P.State) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) {
        let call = "stream(\(ValueText.of(message)))"
        guard let bytes = encoded(checkpoint, call, at: location) else { return }
        stream(message, effect, bytes, call, expect, at: location)
    }

    /// The same without a checkpoint.
    public func stream(
        _ message: P.Message, from effect: P.Effect, expect: (inout P.State) -> Void = { _ in },
        at location: SourceLocation = #_sourceLocation
    ) {
        stream(message, effect, nil, "stream(\(ValueText.of(message)))", expect, at: location)
    }

    private func stream(
        _ message: P.Message, _ effect: P.Effect, _ checkpoint: [UInt8]?, _ call: String, _ expect: (inout P.State) -> Void,
        at location: SourceLocation
    ) {
        guard let bytes = encoded(message, call, at: location) else { return }
        run(call, expect, at: location) {
            guard let id = job(effect, call, at: location) else { return }
            if let error = StreamError(messageBytes: bytes.count, checkpointBytes: checkpoint?.count ?? 0) {
                return report("\(call): \(error)", at: location)
            }
            bench.stream(id, bytes, checkpoint: checkpoint)
        }
    }

    /// Compares from where the next attempt of an open effect would go on: after so many streamed messages, and with this checkpoint.
    public func expectResume<Checkpoint: Portable>(
        of effect: P.Effect, after messages: Int, checkpoint: Checkpoint, at location: SourceLocation = #_sourceLocation
    ) {
        let call = "expectResume(of: \(ValueText.of(effect)))"
        guard let open = decodedEffects(at: location).first(where: { $0.effect == effect })?.open else {
            return report("\(call): it is not open", at: location)
        }
        let index = open.place?.index ?? 0
        if index != messages { report("\(call): expected \(messages) streamed messages, are \(index)", at: location) }
        guard let bytes = open.place?.checkpoint else { return report("\(call): it has no checkpoint", at: location) }
        guard let actual: Checkpoint = decoded(bytes, "the checkpoint", at: location) else { return }
        report(call, "another checkpoint", Difference(expected: checkpoint, actual: actual, named: "checkpoint"), at: location)
    }

    /// From now on the worker serves these queues and no others, until ``workersServeAll()``; what it has it keeps. Of what effects need it can do
    /// `capabilities`; nil for all of it.
    public func workersServe(_ queues: Queue..., can capabilities: Set<String>? = nil) {
        bench.serve(only: Set(queues), can: capabilities)
    }

    /// From now on the worker serves every queue again, and can do all, as at first.
    public func workersServeAll() {
        bench.serve(only: nil, can: nil)
    }

    /// From now on no worker takes effects; those that are taken stay so. For what happens to effects that wait too long.
    public func workersLeave() {
        bench.setWorkers(false)
    }

    /// From now on a worker takes effects again.
    public func workersReturn() {
        bench.setWorkers(true)
    }

    private func end(
        _ call: String, _ effect: P.Effect, _ answer: JobResult.Answer, _ expect: (inout P.State) -> Void,
        at location: SourceLocation
    ) {
        run(call, expect, at: location) {
            guard let id = job(effect, call, at: location) else { return }
            // As a worker does, also with a long text.
            let replacement = answer.replacement(limit: WorkerMachine.Settings.standard.answerBytes)
            if case .done = answer, case .failed(_, let text, _)? = replacement {
                report("\(call): \(text); a worker fails the effect for good", at: location)
            }
            bench.answer(id, replacement ?? answer)
        }
    }

    /// The job to end; nil, with a report, if no worker has it.
    private func job(_ effect: P.Effect, _ call: String, at location: SourceLocation) -> EffectID? {
        let open = decodedEffects(at: location)
        if let found = open.first(where: { $0.effect == effect && bench.held[$0.open.id] != nil }) { return found.open.id }
        guard let waiting = open.first(where: { $0.effect == effect })?.open else {
            let others = open.isEmpty ? "no effect is" : open.map { ValueText.of($0.effect) }.joined(separator: ", ")
            report("\(call): it is not open; open: \(others)", at: location)
            return nil
        }
        report("\(call): no worker has it yet: \(reasonToWait(waiting))", at: location)
        return nil
    }

    private func reasonToWait(_ effect: OpenEffect) -> String {
        let controls = bench.machine.controls
        if controls.isPaused(effect.queue) { return "queue \(effect.queue) is paused" }
        if let label = effect.options.id, controls.isPaused(label) { return "label “\(label)” is paused" }
        if bench.machine.isBehindAnother(effect) {
            return "another effect with the label “\(effect.options.id ?? "")” comes first"
        }
        if effect.notBefore > now { return "it may start in \(effect.notBefore - now); use advance(by:)" }
        if controls.rules[effect.queue]?.rate != nil { return "queue \(effect.queue) has a rate; use advance(by:)" }
        guard bench.hasWorkers else { return "there is no worker; use workersReturn()" }
        return bench.objection ?? "no worker serves its queue and can do what it needs; use workersServeAll()"
    }

    /// All open effects, those of sources included, oldest first.
    func decodedEffects(at location: SourceLocation) -> [(open: OpenEffect, effect: P.Effect)] {
        bench.machine.openEffects.compactMap { open in
            decoded(open.payload, "effect \(open.id)", at: location).map { (open, $0) }
        }
    }
}
