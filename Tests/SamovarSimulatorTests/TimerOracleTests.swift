import SamovarCore
import Testing

@testable import SamovarSimulator

/// The oracle's arithmetic of times agrees with that of the program's schedules, which it must not share.
@Suite struct TimerOracleTests {
    private static let start = Timestamp(microseconds: 1_790_000_000_123_457)

    @Test func `A timer that is armed count first and next when its subscription does`() throws {
        var random = SeededRandom(seed: 1, "bells")
        for _ in 0..<500 {
            let armed = ArmedTimer(TimerSpec.drawn(&random, hasSources: true), inputID: 1, now: Self.start)
            guard case .timer(let schedule, let message) = armed.subscription(id: "timer").event else { continue }
            #expect(message == armed.message)
            var timerOracle = TimerOracle()
            _ = timerOracle.want(["timer": armed], turn: 7, now: Self.start)
            let id = EffectID(turn: 7, ordinal: TimerOracle.firstPlace)
            var activation = try #require(timerOracle.activation(id))
            #expect(activation.due == schedule.first(from: Self.start)?.microseconds)
            let due = try #require(activation.due)
            let late = Timestamp(microseconds: due + random.time(0...400 * seconds))
            let nominal = schedule.nominal(due: Timestamp(microseconds: due), now: late)
            #expect(timerOracle.nominal(of: activation, now: late) == nominal.microseconds, "\(armed.timer)")
            timerOracle.fired(id, nominal: nominal.microseconds)
            activation = try #require(timerOracle.activation(id))
            #expect(activation.due == schedule.next(after: nominal)?.microseconds, "\(armed.timer)")
            timerOracle.returned(now: late)
            let after = schedule.next(after: nominal).flatMap { schedule.due($0, afterAbsenceUntil: late) }
            #expect(timerOracle.activation(id)?.due == after?.microseconds, "\(armed.timer)")
        }
    }

    @Test func `A timer keeps its activation while its times are the same`() {
        var timerOracle = TimerOracle()
        let timer = TimerSpec(place: 0, kind: .every, milliseconds: 1_000)
        _ = timerOracle.want(["timer": ArmedTimer(timer, inputID: 1, now: Self.start)], turn: 1, now: Self.start)
        #expect(timerOracle.want(["timer": ArmedTimer(timer, inputID: 2, now: Self.start)], turn: 2, now: Self.start).ended.isEmpty)
        #expect(timerOracle.activations["timer"]?.id.turn == 1 && timerOracle.activations["timer"]?.armed.inputID == 2)
        let other = TimerSpec(place: 0, kind: .every, milliseconds: 3_000)
        let anew = timerOracle.want(["timer": ArmedTimer(other, inputID: 3, now: Self.start)], turn: 3, now: Self.start)
        #expect(anew.begun.count == 1 && anew.ended.count == 1)
        #expect(timerOracle.activations["timer"]?.id.turn == 3)
        #expect(timerOracle.want([:], turn: 4, now: Self.start).ended.count == 1 && timerOracle.activations.isEmpty)
    }

    @Test func `Timers and labels are numbers and back`() {
        var random = SeededRandom(seed: 2, "codes")
        for _ in 0..<200 {
            let timer = TimerSpec.drawn(&random, hasSources: true)
            #expect(TimerSpec(code: timer.code) == timer)
            let labelSpec = LabelSpec.drawn(random.chance(0.5) ? .plain : .lanes, &random)
            #expect(LabelSpec(code: labelSpec.code) == labelSpec)
        }
        #expect(TimerSpec(code: 15 << 4) == nil && LabelSpec(code: 99 << 4) == nil)
    }
}
