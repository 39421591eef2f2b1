public import SamovarCore
import SamovarWire
public import Testing

/// Time, restarts, and the end.
extension TestStore {
    /// Moves the clock. On the way everything happens that is due, at its time: timers fire, delayed and retried effects are
    /// handed out, jobs and waiting effects run into their limits.
    ///
    /// It never goes back: a negative duration is reported, and nothing is moved.
    public func advance(
        by duration: Duration, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        let call = "advance(by: \(duration))"
        run(call, expect, at: location) {
            guard duration >= .zero else { return report("\(call): the clock of a store never goes back", at: location) }
            guard !bench.advance(by: duration), bench.stop == nil else { return }
            report("\(call): more than a million things are due on the way; advance in smaller steps", at: location)
        }
    }

    /// Moves the clock to where an effect may be attempted: after the pause of a retry, which is known only to within 20 %, or after its
    /// delay. If several open effects are equal, the one with the next attempt is meant.
    public func advance(
        toNextAttemptOf effect: P.Effect, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        let call = "advance(toNextAttemptOf: \(ValueText.of(effect)))"
        run(call, expect, at: location) {
            let times = decodedEffects(at: location).filter { $0.effect == effect }.map(\.open.notBefore)
            guard let time = times.filter({ $0 > now }).min() else {
                return report("\(call): \(times.isEmpty ? "it is not open" : "it waits for no time")", at: location)
            }
            guard !bench.advance(by: time - now), bench.stop == nil else { return }
            report("\(call): more than a million things are due on the way", at: location)
        }
    }

    /// Ends the store process as a crash would, and starts another on its journal.
    ///
    /// The state must come back as it was, from the recorded messages alone: an `update` that is not a function of its arguments,
    /// and types that do not survive the codec, are found here. Open effects stay open, and the worker still has its jobs.
    ///
    /// - Parameters:
    ///   - expect: what becomes of the state when the program hears that it was resumed (`.on(.resumed, …)`).
    ///   - location: where a difference is reported.
    public func restart(
        expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        run("restart()", expect, at: location) {
            do {
                if let replayed = try bench.replayed() {
                    let difference = Difference(expected: state, actual: replayed, named: "state")
                    report("restart()", "the journal gives another state than before", difference, at: location)
                }
                try bench.restart()
            } catch {
                report("restart(): the journal cannot be replayed: \(error)", at: location)
            }
        }
    }

    /// The end of the test: of an exhaustive store, nothing may be left. Called when the store is released, if it was not before.
    public func finish(at location: SourceLocation = #_sourceLocation) {
        isFinished = true
        guard isExhaustive, bench.stop == nil else { return }
        var lines: [String] = []
        lines += leftover("open effect", ordered(at: location))
        lines += leftover("dead effect", decodedDead(except: expectedDead, at: location))
        lines += leftover("output", takeOutputs("finish()", at: location) ?? [])
        guard !lines.isEmpty else { return }
        report((["finish(): something is left"] + lines).joined(separator: "\n"), at: location)
    }

    private func leftover<Value>(_ noun: String, _ values: [Value]) -> [String] {
        guard !values.isEmpty else { return [] }
        let shown = values.prefix(Difference.shown).map { ValueText.of($0) }.joined(separator: ", ")
        let more = values.count > Difference.shown ? ", …" : ""
        return ["  \(values.count) \(noun)\(values.count == 1 ? "" : "s"): \(shown)\(more)"]
    }
}
