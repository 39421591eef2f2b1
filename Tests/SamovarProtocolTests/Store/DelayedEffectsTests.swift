import SamovarCore
import Testing

@testable import SamovarProtocol

/// Effects that wait for a time.
@Suite struct DelayedEffectsTests {
    private var ledger = EffectLedger()

    private mutating func order(_ turn: Int, delay: Duration) -> OpenEffect {
        let effect = OpenEffect(
            id: EffectID(turn: turn, ordinal: 0), root: turn, options: RunOptions(delay: delay), payload: [0], now: at(0))
        ledger.order(effect)
        return effect
    }

    @Test func `They are due by time, and of equal times by age`() {
        var delayed = DelayedEffects()
        #expect(delayed.nextTime == nil && delayed.takeDue(now: at(9)).isEmpty)
        for (turn, second) in [(3, 2.0), (1, 2), (2, 1), (4, 3)] {
            delayed.insert(EffectID(turn: turn, ordinal: 0), until: at(second))
        }
        #expect(delayed.nextTime == at(1))
        #expect(delayed.takeDue(now: at(2)).map(\.turn) == [2, 1, 3])
        #expect(delayed.nextTime == at(3) && delayed.takeDue(now: at(2.9)).isEmpty)
    }

    @Test mutating func `Those that were closed are forgotten when they are many, and the open ones at their time are not`() throws
    {
        var delayed = DelayedEffects()
        for turn in 1...1_030 {
            let effect = order(turn, delay: .seconds(turn))
            delayed.insert(effect.id, until: effect.notBefore)
            if turn > 2 { ledger.close(effect.id) }
        }
        // Of a former attempt: the effect waits for another time now.
        delayed.insert(EffectID(turn: 2, ordinal: 0), until: at(0.5))
        #expect(delayed.nextTime == at(0.5))
        delayed.forgetClosed(exceptOf: ledger)
        #expect(delayed.takeDue(now: at(5_000)).map(\.turn) == [1, 2])
    }

    @Test mutating func `A few that were closed stay until they are due`() {
        var delayed = DelayedEffects()
        for turn in 1...1_024 {
            let effect = order(turn, delay: .seconds(turn))
            delayed.insert(effect.id, until: effect.notBefore)
            ledger.close(effect.id)
        }
        delayed.forgetClosed(exceptOf: ledger)
        #expect(delayed.takeDue(now: at(5_000)).count == 1_024)
    }
}
