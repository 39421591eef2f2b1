import MessagePack
public import SamovarCore
import SamovarStore
import SamovarWire
public import Testing

/// Looking at what is there.
extension TestStore {
    /// Compares the whole state.
    public func expectState(_ expected: P.State, at location: SourceLocation = #_sourceLocation) {
        let difference = Difference(expected: expected, actual: state, named: "state")
        report("expectState", "the state is not as expected", difference, at: location)
    }

    /// Compares what the closure changes in the state: for a part of it.
    ///
    /// ```swift
    /// store.expectState { $0.count = 2 }
    /// ```
    public func expectState(at location: SourceLocation = #_sourceLocation, _ change: (inout P.State) -> Void) {
        var expected = state
        change(&expected)
        expectState(expected, at: location)
    }

    /// Compares what outsiders see.
    public func expectView(_ expected: P.ViewState, at location: SourceLocation = #_sourceLocation) {
        do {
            let actual = try recorded.decode(P.ViewState.self, from: bench.machine.viewBytes())
            let difference = Difference(expected: expected, actual: actual, named: "view")
            report("expectView", "the view is not as expected", difference, at: location)
        } catch {
            report("expectView: the view cannot be encoded and decoded: \(error)", at: location)
        }
    }

    /// Compares the views after each turn since the last call, follow-ups included; equal ones in a row count once. Of a longer
    /// history the newest 10,000 are kept.
    public func expectViews(_ expected: [P.ViewState], at location: SourceLocation = #_sourceLocation) {
        let difference = Difference(expected: expected, actual: seen.takeAll(), named: "views")
        report("expectViews", "the views are not as expected", difference, at: location)
    }

    /// Compares the open effects, oldest first: those that a worker has, and those that wait for a time, for another with their
    /// label, or for a worker. Sources are not among them; see ``expectSubscriptions(_:at:)``.
    public func expectEffects(_ expected: [P.Effect], at location: SourceLocation = #_sourceLocation) {
        let difference = Difference(expected: expected, actual: ordered(at: location), named: "effects")
        report("expectEffects", "the open effects are not as expected", difference, at: location)
    }

    /// Compares the dead effects, oldest first: those that failed for good and of which `failed` made no message, or that stay dead beside it.
    /// They count as leftovers until they were expected.
    public func expectDeadEffects(_ expected: [P.Effect], at location: SourceLocation = #_sourceLocation) {
        expectedDead = Set(bench.machine.deadEffects.map(\.effect.id))
        let difference = Difference(expected: expected, actual: decodedDead(at: location), named: "dead")
        report("expectDeadEffects", "the dead effects are not as expected", difference, at: location)
    }

    /// Compares what the program emitted since the last call. A store keeps 65,536 outputs, and 16 MiB of them: if there were more, that
    /// is reported instead.
    public func expectOutputs(_ expected: [P.Output], at location: SourceLocation = #_sourceLocation) {
        guard let actual = takeOutputs("expectOutputs", at: location) else { return }
        let difference = Difference(expected: expected, actual: actual, named: "outputs")
        report("expectOutputs", "the outputs are not as expected", difference, at: location)
    }

    /// Compares what the state wants to hear of, by label: the order means nothing.
    public func expectSubscriptions(_ expected: [Subscription<P>], at location: SourceLocation = #_sourceLocation) {
        var labels: Set<Label> = []
        // Of two with one label only the first counts.
        let actual = P.subscriptions(state).filter { labels.insert($0.id).inserted }
        let difference = Difference(
            expected: expected.sorted { $0.id < $1.id }, actual: actual.sorted { $0.id < $1.id }, named: "subscriptions")
        report("expectSubscriptions", "the subscriptions are not as expected", difference, at: location)
    }

    /// Open effects that turns have ordered.
    func ordered(at location: SourceLocation) -> [P.Effect] {
        // The effect of a source belongs to no chain of turns.
        decodedEffects(at: location).filter { $0.open.root != 0 }.map(\.effect)
    }

    /// The outputs since the last call; nil, with a report, if the store has forgotten some of them.
    func takeOutputs(_ call: String, at location: SourceLocation) -> [P.Output]? {
        let outputs = bench.machine.outputs(after: expectedOutputs)
        if let last = bench.machine.keptOutputs.last { expectedOutputs = last.id }
        guard let outputs else {
            report(
                "\(call): outputs since the last expectOutputs are forgotten: the store keeps \(StoreMachine.outputLimit) of them and "
                    + "\(StoreMachine.outputByteLimit) bytes; call expectOutputs before there are more", at: location)
            return nil
        }
        return outputs.compactMap { decoded($0.bytes, "output \($0.id)", at: location) }
    }

    func decodedDead(except known: Set<EffectID> = [], at location: SourceLocation) -> [P.Effect] {
        bench.machine.deadEffects.filter { !known.contains($0.effect.id) }
            .compactMap { decoded($0.effect.payload, "effect \($0.effect.id)", at: location) }
    }
}
