import MessagePack
public import SamovarCore
import SamovarStore
import SamovarWire
public import Testing

/// The test as an operator. What `operated` makes of it is applied at once.
extension TestStore {
    /// Opens a dead effect again, as `effects --requeue` does. If several dead effects are equal, the oldest is meant.
    public func requeue(
        _ effect: P.Effect, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        operate("requeue", on: effect, expect, at: location)
    }

    /// Forgets a dead effect, as `effects --drop` does. If several dead effects are equal, the oldest is meant.
    public func drop(
        _ effect: P.Effect, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        operate("drop", on: effect, expect, at: location)
    }

    /// Pauses a queue or a label, as `queues --pause` does.
    public func pause(
        _ place: QueueOrLabel, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        operate("pause", "pause(\(place))", Self.arguments(place), expect, at: location)
    }

    /// Resumes a queue or a label, as `queues --resume` does.
    public func resume(
        _ place: QueueOrLabel, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        operate("resume", "resume(\(place))", Self.arguments(place), expect, at: location)
    }

    /// Compares what is paused, by the program or by operators.
    public func expectPaused(_ expected: Set<QueueOrLabel>, at location: SourceLocation = #_sourceLocation) {
        let actual = bench.machine.controls.paused
        let difference = Difference(expected: expected, actual: actual, named: "paused")
        report("expectPaused", "what is paused is not as expected", difference, at: location)
    }

    /// Compares the rules of a queue.
    public func expectRules(_ expected: QueueRules, of queue: Queue, at location: SourceLocation = #_sourceLocation) {
        let actual = bench.machine.controls.rules[queue] ?? .none
        let difference = Difference(expected: expected, actual: actual, named: "rules")
        report("expectRules(of: \(queue))", "the rules are not as expected", difference, at: location)
    }

    private static func arguments(_ place: QueueOrLabel) -> MessagePackValue {
        switch place {
        case .queue(let queue): ["queue": .string(queue.name)]
        case .label(let label): ["label": .string(label.text)]
        }
    }

    private func operate(_ verb: String, on effect: P.Effect, _ expect: (inout P.State) -> Void, at location: SourceLocation) {
        let call = "\(verb)(\(ValueText.of(effect)))"
        let dead = bench.machine.deadEffects.map(\.effect).first { decoded($0.payload, "effect \($0.id)", at: location) == effect }
        guard let dead else {
            let others = decodedDead(at: location).map { ValueText.of($0) }.joined(separator: ", ")
            return report("\(call): it is not dead; dead: \(others.isEmpty ? "no effect is" : others)", at: location)
        }
        operate(verb, call, ["effect": .string("\(dead.id)")], expect, at: location)
    }

    private func operate(
        _ verb: String, _ call: String, _ arguments: MessagePackValue, _ expect: (inout P.State) -> Void,
        at location: SourceLocation
    ) {
        run(call, expect, at: location) {
            if let refusal = bench.ask(verb, arguments) { report("\(call): \(refusal)", at: location) }
        }
    }
}
