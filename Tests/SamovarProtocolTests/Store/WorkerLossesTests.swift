import SamovarCore
import Testing

@testable import SamovarProtocol

/// How often the workers of an effect fell silent.
@Suite struct WorkerLossesTests {
    private let effect = EffectID(turn: 1, ordinal: 0)
    private let other = EffectID(turn: 2, ordinal: 0)

    @Test func `All losses are counted, and by themselves those of workers that ran nothing else`() {
        var losses = WorkerLosses()
        #expect(losses.isEmpty && losses.count(of: effect) == 0)
        #expect([false, true, false, true].map { losses.add(effect, isIsolated: $0) } == [0, 1, 1, 2])
        #expect(losses.count(of: effect) == 4 && losses.count(of: other) == 0 && !losses.isEmpty)
    }

    @Test func `Those of closed effects are forgotten`() {
        var losses = WorkerLosses()
        func add(_ effect: EffectID) { _ = losses.add(effect, isIsolated: true) }
        for effect in [effect, effect, other] { add(effect) }
        losses.keep { $0 == other }
        #expect(losses.count(of: effect) == 0 && losses.count(of: other) == 1)
        losses.keep { _ in false }
        #expect(losses.isEmpty)
    }
}
