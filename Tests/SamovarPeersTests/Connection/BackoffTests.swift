import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire
@Suite struct BackoffTests {
    @Test func `Ceilings rise by half of the first and then double up to the maximum`() {
        let ceilings = Array(stride(from: 20, through: 200, by: 10)) + [400, 800, 1_000, 1_000]
        var longest = ceilings.map { _ in Duration.zero }
        for seed in 1...500 as ClosedRange<UInt64> {
            var random = Random(seed: seed)
            var backoff = Backoff(first: .milliseconds(20), maximum: .seconds(1))
            for (attempt, ceiling) in ceilings.enumerated() {
                let pause = backoff.next(&random)
                #expect(pause >= .zero && pause <= .milliseconds(ceiling), "seed \(seed), attempt \(attempt)")
                longest[attempt] = max(longest[attempt], pause)
            }
        }
        // Each ceiling is what the pauses are drawn up to, and not only above all of them.
        for (pause, ceiling) in zip(longest, ceilings) { #expect(pause > .milliseconds(ceiling) * 0.95) }
    }

    /// A store that was killed is back within about a tenth of a second; nobody may wait much longer than that.
    @Test(arguments: [60, 100]) func `Peers of a store that is soon back are soon back`(away milliseconds: Int) {
        let away = Duration.milliseconds(milliseconds)
        var last = Duration.zero
        var attempts = 0
        for seed in 1...2_000 as ClosedRange<UInt64> {
            var random = Random(seed: seed)
            let settings = ConnectionSettings.client
            var backoff = Backoff(first: settings.firstPause, maximum: settings.longestPause)
            var time = Duration.zero
            repeat {
                time += backoff.next(&random)
                attempts += 1
            } while time < away
            last = max(last, time)
        }
        #expect(last < away + .milliseconds(110))
        #expect(attempts < 2_000 * 6)
    }

    @Test func `A store that stays away is not tried more and more often`() {
        var random = Random(seed: 1)
        var backoff = Backoff(first: ConnectionSettings.client.firstPause, maximum: ConnectionSettings.client.longestPause)
        var time = Duration.zero
        var attempts = 0
        while time < .seconds(60) {
            time += backoff.next(&random)
            attempts += 1
        }
        #expect(attempts < 40)
    }

    @Test func `Pauses are spread over the whole range`() {
        var random = Random(seed: 1)
        let pauses = (0..<1_000).map { _ in
            var backoff = Backoff(first: .milliseconds(100), maximum: .seconds(1))
            return backoff.next(&random)
        }
        #expect(pauses.contains { $0 < .milliseconds(10) })
        #expect(pauses.contains { $0 > .milliseconds(90) })
    }

    @Test func `A success begins anew`() {
        var random = Random(seed: 1)
        var backoff = Backoff(first: .milliseconds(100), maximum: .seconds(10))
        for _ in 0..<10 { _ = backoff.next(&random) }
        backoff.reset()
        #expect(backoff.next(&random) <= .milliseconds(100))
    }

    @Test func `A ceiling that is to rise does, up to the maximum, and no pause lowers it`() {
        var longest = [Duration.zero, .zero, .zero]
        for seed in 1...500 as ClosedRange<UInt64> {
            var random = Random(seed: seed)
            var backoff = Backoff(first: .milliseconds(20), maximum: .seconds(10))
            for (number, height) in [4, 1, 20].enumerated() {
                backoff.rise(to: .seconds(height))
                longest[number] = max(longest[number], backoff.next(&random))
            }
        }
        for (pause, ceiling) in zip(longest, [4, 8, 10]) {
            #expect(pause <= .seconds(ceiling) && pause > .seconds(ceiling) * 0.95)
        }
    }

    @Test func `A maximum below the first pause holds`() {
        var random = Random(seed: 1)
        var backoff = Backoff(first: .seconds(1), maximum: .zero)
        #expect(backoff.next(&random) == .zero)
        #expect(backoff.next(&random) == .zero)
        #expect(backoff.longest(&random) == .zero)
    }
}
