public import ArgumentParser
import Foundation
import SamovarSimulator
import Synchronization

/// `samovar simulate`: runs the production machines under a virtual clock, with everything going wrong that a seed says.
///
/// A module of its own, so that what proves the machines is built without the hosts and their libraries.
public struct SimulateCommand: ParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "simulate",
            abstract: "Proves the runtime: whole systems in virtual time, with faults drawn from a seed.",
            discussion: """
                Examples:
                  samovar simulate --seeds 200              many worlds, ten virtual minutes each
                  samovar simulate --fresh 1000 --minutes 1 worlds that nobody has seen, others each time
                  samovar simulate --seed 42 --trace        one world, and all that happens in it
                  samovar simulate --exhaustive             a small world, with a crash at every step
                The same seed gives the same run. A broken promise ends with exit code 70 and the command that repeats it.
                """)
    }

    @Option(name: .long, help: "Run this seed.") var seed: UInt64?
    @Option(name: .long, help: "Run so many seeds.") var seeds: Int?
    @Option(name: .long, help: "The first of them, with --seeds; 1 if not given.") var from: UInt64?
    @Option(name: .long, help: "Run so many seeds from one that is drawn, and printed first.") var fresh: Int?
    @Option(name: .long, help: "So many seeds at once; as many as there are cores if not given.") var threads: Int?
    @Option(name: .customLong("minutes"), help: "For how many virtual minutes things go wrong; 10 if not given.")
    var givenMinutes: Int?
    @Flag(name: .long, help: "A small world, with a crash at every step.") var exhaustive = false
    @Flag(name: .long, help: "Print everything that happens; with --seed.") var trace = false

    private var minutes: Int { givenMinutes ?? 10 }

    /// With fewer seeds, a class of faults may be missing by chance.
    private static let seedsForAllFaults = 100

    public init() {}

    public func validate() throws {
        guard minutes >= 1, minutes <= 100_000 else { throw ValidationError("--minutes is between 1 and 100,000") }
        guard (seeds ?? 1) >= 1, (fresh ?? 1) >= 1 else { throw ValidationError("--seeds and --fresh are at least 1") }
        guard (1...1_024).contains(threads ?? 1) else { throw ValidationError("--threads is between 1 and 1,024") }
        guard [seed != nil, seeds != nil, fresh != nil].count(where: { $0 }) <= 1 else {
            throw ValidationError("give one of --seed, --seeds and --fresh")
        }
        guard from == nil || seeds != nil else { throw ValidationError("--from needs --seeds") }
        guard !(from ?? 1).addingReportingOverflow(UInt64(seeds ?? 1)).overflow else {
            throw ValidationError("--from and --seeds go beyond the greatest seed, \(UInt64.max - 1)")
        }
        let isNarrowed = seed != nil || seeds != nil || fresh != nil || threads != nil || givenMinutes != nil || trace
        guard !exhaustive || !isNarrowed else {
            throw ValidationError("--exhaustive runs one small world, and takes no other option")
        }
        guard !trace || seed != nil else { throw ValidationError("--trace needs --seed") }
    }

    public func run() throws {
        // It writes to nobody but its reader, and ends without a word when that one leaves, as `head` does.
        signal(SIGPIPE, SIG_DFL)
        if exhaustive { return try runExhaustively() }
        if let seed { return try run(seed: seed) }
        let first = from ?? 1
        try run(seeds: fresh.map(drawn) ?? first..<first + UInt64(seeds ?? 1))
    }

    /// Seeds of which none is likely to have been run before.
    private func drawn(_ count: Int) -> Range<UInt64> {
        let first = UInt64.random(in: 1_000_000..<1 << 40)
        say("fresh seeds; repeat them with: samovar simulate --from \(first) --seeds \(count) --minutes \(minutes)")
        return first..<first + UInt64(count)
    }

    private func run(seed: UInt64) throws {
        let result = Simulation(seed: seed, minutes: minutes).run(tracing: trace ? .everything : .none)
        for line in result.trace { say(line) }
        if let violation = result.violation { throw fail(violation, seed: seed) }
        say("\(result.report)")
        say("seed \(seed): trace \(String(result.digest, radix: 16))")
    }

    private func run(seeds: Range<UInt64>) throws {
        let clock = ContinuousClock()
        let start = clock.now
        let minutes = minutes
        let sweep = Sweep(seeds: seeds, threads: threads ?? ProcessInfo.processInfo.activeProcessorCount)
        let progress = Mutex(SweepProgress(of: seeds.count))
        let outcome = sweep.run { seed in
            let result = Simulation(seed: seed, minutes: minutes).run()
            if let text = progress.withLock({ $0.seedHasEnded(after: clock.now - start) }) { complain(text) }
            return result
        }
        if let (seed, violation) = outcome.violation { throw fail(violation, seed: seed) }
        let sum = outcome.report
        say("\(sum)")
        say("real time: \((clock.now - start).formatted(.units(allowed: [.minutes, .seconds], fractionalPart: .show(length: 1))))")
        guard seeds.count >= Self.seedsForAllFaults else { return }
        // Seeds that were drawn may lack what is rare by chance; those that are always the same may not.
        if fresh != nil, !sum.missingEvents.isEmpty {
            say("by chance, these never happened: \(sum.missingEvents.joined(separator: ", "))")
        }
        let missing = sum.missingFaults + (fresh == nil ? sum.missingEvents : [])
        guard missing.isEmpty else {
            let names = missing.joined(separator: ", ")
            complain("error: the simulator itself is at fault, for these never happened: \(names)")
            throw ExitCode(70)
        }
    }

    private func runExhaustively() throws {
        let result = Exhaustive.run()
        if let (plan, violation) = result.violation {
            complain("error: \(violation)\n  \(plan)\n  repeat it with: samovar simulate --exhaustive")
            throw ExitCode(70)
        }
        say("\(result.runs) runs of a small world, with a crash at each of its steps: no violation")
    }

    /// Says what was broken, what came before it, and how to see it again.
    private func fail(_ violation: Violation, seed: UInt64) -> ExitCode {
        if !trace {
            // The same run again, and what led to its end: a run that keeps its text is ten times slower.
            let lines = Simulation(seed: seed, minutes: minutes).run(tracing: .last(60)).trace
            complain(lines.joined(separator: "\n"))
        }
        complain("error: \(violation)")
        complain("  repeat it with: samovar simulate --seed \(seed) --minutes \(minutes) --trace")
        return ExitCode(70)
    }
}

/// One line of data, written at once: a long run in a pipe shows how far it is.
private func say(_ text: String) {
    do {
        try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    } catch {
        complain("error: cannot write to standard output: \(error.localizedDescription)")
        exit(74)
    }
}

private func complain(_ text: String) {
    // Where nobody reads, nobody misses it.
    try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
}
