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
        #expect(first?.count == 100)
        // To three digits.
        #expect([50, 99, 100].map { first?.value(at: $0).map { ($0 + 500) / 1_000 } } == [50, 99, 100])

        lag.replayed(start + .seconds(61), now: start + .seconds(63))
        let between = lag.report(now: start + .seconds(119))
        #expect(between == nil)
        let second = lag.report(now: start + .seconds(120))
        #expect(second?.count == 1)
        #expect(second?.value(at: 100).map { $0 / 10_000 } == 200)
    }

    @Test func `Nothing is told where nothing was followed, and at the end what was not told yet`() {
        var lag = StandbyLag(now: start)
        let nothing = (lag.report(now: start + .seconds(60)), lag.takeRest())
        #expect(nothing.0 == nil && nothing.1 == nil)
        lag.replayed(start + .seconds(61), now: start + .seconds(62))
        let rest = (lag.takeRest(), lag.takeRest())
        #expect(rest.0?.count == 1 && rest.1 == nil)
    }

    @Test func `A clock that is ahead of the other one makes no lag below the least that can be told`() {
        var lag = StandbyLag(now: start)
        lag.replayed(start + .seconds(2), now: start + .seconds(1))
        let rest = lag.takeRest()
        #expect(rest?.value(at: 100) == 1)
    }
}
