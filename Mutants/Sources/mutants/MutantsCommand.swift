import ArgumentParser
import Foundation
import Instrumentation
import Mutator

@main
struct MutantsCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "mutants",
            abstract: "Changes the machines, one place at a time, and asks the simulator and the tests of the protocol to notice.",
            discussion: """
                The same seed draws the same mutants from the same sources. The exit code is 70 if a mutant survives that
                Mutants/judged.md does not know.
                """)
    }

    @Option(name: .long, help: "How many mutants.") var count = 60
    @Option(name: .long, help: "Which ones; drawn and printed if not given.") var seed: UInt64?
    @Option(name: .long, help: "Seeds of one virtual minute for each mutant, at most.") var worlds = 300
    @Option(name: .long, help: "How many run at once.") var jobs = ProcessInfo.processInfo.activeProcessorCount
    @Option(name: .long, help: "The checkout.") var root = "."
    @Flag(name: .long, help: "Print every mutant that there is, and run none.") var list = false

    func validate() throws {
        guard count >= 1, worlds >= 1, jobs >= 1 else { throw ValidationError("--count, --worlds and --jobs are at least 1") }
    }

    func run() throws {
        let workplace = Workplace(root: URL(filePath: root).standardizedFileURL, name: "mutants")
        let sources = try Sources(in: workplace.root)
        let all = sources.mutants
        if list {
            for mutant in all { say(mutant.line(of: nil)) }
            return say("\(all.count) mutants")
        }
        let judged = try JudgedMutants(in: workplace.root)
        for key in judged.keys(without: all) { complain("Mutants/judged.md: there is no “\(key)” any more") }

        let seed = seed ?? UInt64.random(in: 1...999_999)
        say("seed \(seed): \(min(count, all.count)) of \(all.count) mutants; \(jobs) at once")
        var draw = Draw(seed: seed)
        let start = ContinuousClock.now
        let drawn = try Preparation(workplace, sources, jobs: jobs).build(draw.shuffled(all), count: count)
        let trial = Trial(workplace)
        // Of sources that nobody has changed, nothing may be noticed.
        if let notice = try trial.all("0", worlds: worlds) { throw Failure("without any change: \(notice.text)") }
        say("built and tried without a change in \(start.duration(to: .now).minutes)")

        let tally = Tally(judged)
        try inParallel(drawn, jobs: jobs) { [worlds] number, mutant in
            try trial.all("\(number)", worlds: worlds)
        } each: { entry, notice in
            tally.enter(entry.mutant, number: entry.number, notice)
        }
        tally.summarise(after: start.duration(to: .now))
        if tally.hasUnjudged { throw ExitCode(70) }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Trial {
    /// Most are noticed by the first worlds, and most of the others by the tests; nil if nobody notices.
    func all(_ change: String, worlds: Int) throws -> Notice? {
        try simulate(change, seeds: min(worlds, 20)) ?? test(change) ?? simulate(change, seeds: worlds)
            ?? simulateExhaustively(change)
    }
}

extension Duration {
    var minutes: String {
        formatted(.units(allowed: [.minutes, .seconds], width: .abbreviated, fractionalPart: .hide))
    }
}
