import SamovarCore
import Testing

@testable import SamovarProtocol

/// Who is waited for after a restart, and what waits.
@Suite struct RestartHoldTests {
    private let effects = [EffectID(turn: 3, ordinal: 0), EffectID(turn: 5, ordinal: 1)]

    @Test func `Without a worker of before, nothing is held`() {
        var hold = RestartHold(awaiting: [], effects: effects)
        #expect(effects.allSatisfy { !hold.holds($0) })
        let released = hold.release()
        #expect(hold.isEmpty && released.effects == [] && released.missing == [])
    }

    @Test func `Everything is held until all have spoken, and let go once`() {
        var hold = RestartHold(awaiting: [workerID(2), workerID(1)], effects: effects)
        #expect(!hold.isEmpty)
        #expect(hold.heard(workerID(1)) && !hold.heard(workerID(1)) && !hold.heard(workerID(3)))
        #expect(hold.awaited == [workerID(2)])
        #expect(effects.allSatisfy { hold.holds($0) } && !hold.holds(EffectID(turn: 6, ordinal: 0)))
        #expect(hold.heard(workerID(2)) && hold.awaited.isEmpty && !hold.isEmpty)
        let released = hold.release()
        #expect(released.missing == [] && released.effects == effects && hold.isEmpty)
        #expect(effects.allSatisfy { !hold.holds($0) })
    }

    @Test func `Those who have not spoken are named in order`() {
        var hold = RestartHold(awaiting: [workerID(2), workerID(1), workerID(3)], effects: effects)
        _ = hold.heard(workerID(2))
        let released = hold.release()
        #expect(released.missing == [workerID(1), workerID(3)] && released.effects == effects)
        #expect(hold.isEmpty && hold.awaited.isEmpty)
    }
}
