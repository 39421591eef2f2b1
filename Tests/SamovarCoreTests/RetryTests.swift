import SamovarCore
import Testing

@Suite struct RetryTests {
    static func pause(_ retry: Retry, after failures: Int, of effect: Int = 1) -> Duration? {
        retry.pause(after: failures, of: EffectID(turn: effect, ordinal: 0), secret: secret)
    }

    @Test func `There is one pause less than attempts`() {
        #expect(Self.pause(.never, after: 1) == nil)
        #expect(Self.pause(.times(2), after: 2) != nil)
        #expect(Self.pause(.times(2), after: 3) == nil)
        #expect(Retry.times(.max).attempts == .max)
        #expect(Retry.backoff(first: .zero, attempts: -5).attempts == 1)
    }

    @Test(arguments: [(1, 100), (2, 200), (3, 400), (10, 51_200), (11, 60_000), (1_000, 60_000)])
    func `Pauses double up to the longest and vary by a fifth`(_ failures: Int, _ nominal: Int) throws {
        var pauses: Set<Duration> = []
        for effect in 1...500 {
            let pause = try #require(Self.pause(.times(2_000), after: failures, of: effect))
            #expect(pause >= .microseconds(nominal * 800 - 1) && pause <= .microseconds(nominal * 1_200 + 1))
            pauses.insert(pause)
        }
        #expect(pauses.count > 400, "a thousand effects that failed together must not come back together")
        let mean = pauses.map { Double($0.microseconds) }.reduce(0, +) / Double(pauses.count)
        #expect(abs(mean / Double(nominal * 1_000) - 1) < 0.03)
    }

    @Test func `The pause of an effect is the same in every replay`() {
        #expect(Self.pause(.times(5), after: 2) == Self.pause(.times(5), after: 2))
        #expect(Self.pause(.times(5), after: 2) != Self.pause(.times(5), after: 2, of: 2))
        let foreign = Retry.times(5).pause(after: 2, of: EffectID(turn: 1, ordinal: 0), secret: Secret(high: 1, low: 1))
        #expect(Self.pause(.times(5), after: 2) != foreign)
    }

    @Test(arguments: [
        Retry(attempts: .max, first: .seconds(Int64.max), factor: 2, maximum: .seconds(Int64.max)),
        Retry(attempts: .max, first: .seconds(1), factor: .infinity, maximum: .seconds(Int64.max)),
        Retry(attempts: .max, first: .seconds(1), factor: .nan, maximum: .seconds(60)),
        Retry(attempts: .max, first: .seconds(-1), factor: -3, maximum: .seconds(-60)),
        Retry(attempts: .max, first: .zero, factor: .greatestFiniteMagnitude, maximum: .seconds(60)),
        Retry(attempts: .max, first: .zero, factor: .infinity, maximum: .seconds(60)),
        Retry(attempts: .max, first: .seconds(-1), factor: .infinity, maximum: .seconds(60)),
        Retry(attempts: .max, first: Duration.seconds(Int64.max) * 3, factor: -.infinity, maximum: Duration.seconds(Int64.max) * 3),
        Retry(attempts: .max, first: Duration.seconds(Int64.min) * 3, factor: -.nan, maximum: Duration.seconds(Int64.min) * 3),
    ])
    func `No retry overflows`(_ retry: Retry) throws {
        for failures in [Int.min, -1, 0, 1, 2, 100, 10_000] {
            let pause = try #require(Self.pause(retry, after: failures))
            #expect(pause >= .zero)
            if retry.first <= .zero { #expect(pause == .zero, "nothing grows from no pause") }
            _ = Timestamp(microseconds: .max) + pause
        }
    }
}
