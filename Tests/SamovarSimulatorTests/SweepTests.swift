import Testing

@testable import SamovarSimulator

/// Many seeds at once.
@Suite struct SweepTests {
    private static func result(_ seed: UInt64, brokenAt: Set<UInt64> = []) -> Simulation.Result {
        let violation = Violation(invariant: .i9, time: Int64(seed), expected: "", seen: "")
        let isBroken = brokenAt.contains(seed)
        return Simulation.Result(digest: seed, report: Report(), violation: isBroken ? violation : nil, trace: [])
    }

    @Test(arguments: [1, 2, 7])
    func `The sum does not depend on the number of threads`(_ threads: Int) {
        let outcome = Sweep(seeds: 1..<5, threads: threads).run { Simulation(seed: $0, minutes: 1).run() }
        var sum = Report()
        for seed in 1..<5 as Range<UInt64> { sum += Simulation(seed: seed, minutes: 1).run().report }
        #expect(outcome.report.description == sum.description)
        #expect(outcome.violation == nil)
    }

    @Test(arguments: [1, 2, 7])
    func `Of the seeds that break a promise the first is told, and no further ones begin`(_ threads: Int) {
        for _ in 0..<50 {
            let outcome = Sweep(seeds: 1..<100_000, threads: threads).run { Self.result($0, brokenAt: [20, 21, 25, 60_000]) }
            #expect(outcome.violation?.seed == 20)
            #expect(outcome.violation?.violation.time == 20)
        }
    }

    @Test func `A long sweep tells once a minute how far it is, and not at its end`() {
        var progress = SweepProgress(of: 600)
        var told: [Int: String] = [:]
        // Two seeds a second, but for a rest of two minutes in the middle.
        for number in 1...600 {
            let elapsed = Duration.milliseconds(500 * number) + (number > 300 ? .seconds(120) : .zero)
            told[number] = progress.seedHasEnded(after: elapsed)
        }
        #expect(told.keys.sorted() == [120, 240, 301, 421, 541])
        #expect(told[120] == "120 of 600 seeds are done, about 5 min to go")
        #expect(told[541] == "541 of 600 seeds are done, about 1 min to go")
    }

    @Test func `A sweep of less than a minute tells nothing`() {
        var progress = SweepProgress(of: 100)
        for number in 1...100 { #expect(progress.seedHasEnded(after: .milliseconds(599 * number)) == nil) }
    }
}
