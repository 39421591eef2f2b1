import SamovarCore
import Testing

@testable import SamovarProtocol

/// When the time of an attempt begins, and which one is over first.
@Suite struct AttemptTimeoutsTests {
    private func attempt(_ number: Int) -> AttemptTimeouts.Attempt {
        .init(effect: EffectID(turn: number, ordinal: 0), lease: Lease(start: 1, counter: number))
    }

    private func due(_ timeouts: inout AttemptTimeouts, at now: Timestamp) -> [Int] {
        var numbers: [Int] = []
        while let attempt = timeouts.popDue(now: now) { numbers.append(attempt.effect.turn) }
        return numbers
    }

    @Test func `The time of a task begins when its turn is on disk, in the order of the turns`() {
        var timeouts = AttemptTimeouts()
        timeouts.waits(attempt(1), floor: 5, limit: .seconds(1))
        timeouts.waits(attempt(2), floor: 7, limit: .seconds(2))
        #expect(timeouts.popLeft(through: 4) == nil)
        let left = timeouts.popLeft(through: 5)
        #expect(left?.attempt.effect == attempt(1).effect && left?.limit == .seconds(1))
        #expect(timeouts.popLeft(through: 6) == nil)
        #expect(timeouts.popLeft(through: 9)?.limit == .seconds(2))
        #expect(timeouts.popLeft(through: 9) == nil && timeouts.running.count == 0 && timeouts.running.nextTime == nil)
    }

    @Test func `The earliest is due first, and of equal times the older attempt`() {
        var timeouts = AttemptTimeouts()
        for (number, second) in [(3, 2.0), (2, 1), (1, 2), (4, 3)] { timeouts.begin(attempt(number), until: at(second)) }
        #expect(timeouts.running.nextTime == at(1) && timeouts.running.count == 4)
        #expect(due(&timeouts, at: at(0.9)) == [])
        #expect(due(&timeouts, at: at(2)) == [2, 1, 3])
        #expect(timeouts.running.nextTime == at(3))
    }

    @Test func `Attempts that run no longer are forgotten`() {
        var timeouts = AttemptTimeouts()
        for number in 1...4 { timeouts.begin(attempt(number), until: at(1)) }
        timeouts.keep(ifBeyond: 4) { _ in false }
        timeouts.keep(ifBeyond: 3) { $0.effect.turn % 2 == 0 }
        #expect(timeouts.running.count == 2)
        #expect(due(&timeouts, at: at(1)) == [2, 4])
    }
}
