import Testing

@testable import SamovarCore

@Suite struct RateLimitTests {
    private static func session(_ number: Int) -> SessionID { SessionID(high: 1, low: UInt64(number)) }

    private static func turn(_ session: Int, at now: Timestamp = noon) -> Turn {
        Turn(number: 2, now: now, origin: .client(session: Self.session(session), sequence: 1), secret: secret)
    }

    @Test func `A burst passes, then one for each pause`() {
        var limit = RateLimit(10, per: .seconds(1), burst: 3)
        #expect((0..<5).map { _ in limit.admits(Self.session(1), now: noon) } == [true, true, true, false, false])
        let times: [Duration] = [.milliseconds(99), .milliseconds(100), .milliseconds(100)]
        #expect(times.map { limit.admits(Self.session(1), now: noon + $0) } == [false, true, false])
        let later = noon + .seconds(60)
        #expect((0..<4).map { _ in limit.admits(Self.session(1), now: later) } == [true, true, true, false])
    }

    @Test func `Sessions are counted apart, or together`() {
        let apart = InputGate<Orchard>.rateLimit(1, per: .seconds(1)).opened()
        let together = InputGate<Orchard>.rateLimit(1, per: .seconds(1), of: .store).opened()
        func answers(_ check: InputGate<Orchard>.Check) -> [String?] {
            [1, 2, 1].map { check(.quiet, Orchard.State(), Self.turn($0)) }
        }
        let text = "rate limit: more than 1 inputs in 1.0 seconds"
        #expect(answers(apart) == [nil, nil, text])
        #expect(answers(together) == [nil, text, text])
    }

    @Test func `Each store that starts has a limit of its own`() {
        let gate = InputGate<Orchard>.rateLimit(1, per: .seconds(1))
        let (one, other) = (gate.opened(), gate.opened())
        #expect(one(.quiet, Orchard.State(), Self.turn(1)) == nil)
        #expect(other(.quiet, Orchard.State(), Self.turn(1)) == nil)
    }

    @Test func `The number of sessions that are kept is limited, and full buckets are forgotten`() {
        var limit = RateLimit(1, per: .seconds(1), burst: 1)
        let admitted = (0..<RateLimit.sessions).count { limit.admits(Self.session($0), now: noon) }
        #expect(admitted == RateLimit.sessions)
        let another = Self.session(RateLimit.sessions)
        #expect([.zero, .seconds(1)].map { limit.admits(another, now: noon + $0) } == [false, true])
    }

    @Test(arguments: [(0, Duration.zero, 0), (-1, .seconds(-1), -5), (.max, .seconds(1), .max), (1, .seconds(1 << 40), .max)])
    func `Nonsense does not trap`(_ count: Int, _ interval: Duration, _ burst: Int) {
        var limit = RateLimit(count, per: interval, burst: burst)
        let times = [noon, Timestamp(microseconds: .max), Timestamp(microseconds: .min)]
        #expect(times.map { limit.admits(Self.session(1), now: $0) }.first == true)
    }
}
