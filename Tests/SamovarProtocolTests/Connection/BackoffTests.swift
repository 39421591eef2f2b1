import SamovarCore
import Testing

@testable import SamovarProtocol

@Suite struct BackoffTests {
    @Test func ceilingsDoubleUpToTheMaximum() {
        for seed in 1...200 as ClosedRange<UInt64> {
            var random = Random(seed: seed)
            var backoff = Backoff(first: .milliseconds(100), maximum: .seconds(1))
            for ceiling in [100, 200, 400, 800, 1_000, 1_000] {
                let pause = backoff.next(&random)
                #expect(pause >= .zero && pause <= .milliseconds(ceiling), "seed \(seed)")
            }
        }
    }

    @Test func pausesAreSpreadOverTheWholeRange() {
        var random = Random(seed: 1)
        let pauses = (0..<1_000).map { _ in
            var backoff = Backoff(first: .milliseconds(100), maximum: .seconds(1))
            return backoff.next(&random)
        }
        #expect(pauses.contains { $0 < .milliseconds(10) })
        #expect(pauses.contains { $0 > .milliseconds(90) })
    }

    @Test func aSuccessBeginsAnew() {
        var random = Random(seed: 1)
        var backoff = Backoff(first: .milliseconds(100), maximum: .seconds(10))
        for _ in 0..<10 { _ = backoff.next(&random) }
        #expect(!backoff.isFresh)
        backoff.reset()
        #expect(backoff.isFresh)
        #expect(backoff.next(&random) <= .milliseconds(100))
    }

    @Test func aMaximumBelowTheFirstPauseHolds() {
        var random = Random(seed: 1)
        var backoff = Backoff(first: .seconds(1), maximum: .zero)
        #expect(backoff.next(&random) == .zero)
        #expect(backoff.next(&random) == .zero)
    }
}
