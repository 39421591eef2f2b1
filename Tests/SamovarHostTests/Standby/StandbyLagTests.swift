import SamovarCore
import Testing

@testable import SamovarHost

struct StandbyLagTests {
    private let start = Timestamp(microseconds: 1_000_000)

    @Test func `The lag is told once a minute, of the batches since the last time`() {
        var lag = StandbyLag(now: start)
        for number in 1...100 { lag.replayed(start, now: start + .milliseconds(number)) }
        let early = lag.report(now: start + .seconds(59))
        #expect(early == nil)
        let first = lag.report(now: start + .seconds(60))
        #expect(first?.batches == 100)
        #expect([first?.p50, first?.p99, first?.longest] == [50, 99, 100])

        lag.replayed(start + .seconds(61), now: start + .seconds(63))
        let between = lag.report(now: start + .seconds(119))
        #expect(between == nil)
        let second = lag.report(now: start + .seconds(120))
        #expect(second?.batches == 1)
        #expect([second?.p50, second?.p99, second?.longest] == [2_000, 2_000, 2_000])
    }

    @Test func `Each batch counts, also where several have one lag`() {
        var lag = StandbyLag(now: start)
        for _ in 1...98 { lag.replayed(start, now: start + .milliseconds(1)) }
        for microseconds: Int64 in [1_001_000, 1_009_000] { lag.replayed(start, now: start + .microseconds(microseconds)) }
        let rest = lag.takeRest()
        #expect(rest?.batches == 100)
        #expect([rest?.p50, rest?.p99, rest?.longest] == [1, 1_010, 1_010])
    }

    @Test func `A time that no clock has told ends no standby`() {
        var lag = StandbyLag(now: start)
        lag.replayed(Timestamp(microseconds: .min), now: Timestamp(microseconds: .max))
        lag.replayed(Timestamp(microseconds: .max), now: Timestamp(microseconds: .min))
        let rest = lag.takeRest()
        #expect(rest?.batches == 2 && rest?.p50 == 1)
    }

    @Test func `A lag is told in milliseconds, to three digits and rounded up`() {
        for (lag, told) in [(1, 1), (1_000, 1), (1_001, 2), (999_001, 1_000), (1_000_001, 1_010), (12_345_678, 12_400)]
            as [(Int64, Int64)]
        {
            var one = StandbyLag(now: start)
            one.replayed(start, now: start + .microseconds(lag))
            #expect(one.takeRest()?.longest == told, "\(lag) µs")
        }
    }

    @Test func `Nothing is told where nothing was followed, and at the end what was not told yet`() {
        var lag = StandbyLag(now: start)
        let nothing = (lag.report(now: start + .seconds(60)), lag.takeRest())
        #expect(nothing.0 == nil && nothing.1 == nil)
        lag.replayed(start + .seconds(61), now: start + .seconds(62))
        let rest = (lag.takeRest(), lag.takeRest())
        #expect(rest.0?.batches == 1 && rest.1 == nil)
    }

    @Test func `A clock that is ahead of the other one makes no lag below the least that can be told`() {
        var lag = StandbyLag(now: start)
        lag.replayed(start + .seconds(2), now: start + .seconds(1))
        let rest = lag.takeRest()
        #expect(rest?.longest == 1)
    }
}
