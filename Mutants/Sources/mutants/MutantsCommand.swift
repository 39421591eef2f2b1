import ArgumentParser
import Foundation
import Instrumentation
import Mutator

@main
struct MutantsCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "mutants",
            abstract: "Changes the machines, one place at a time, and asks the simulator and the tests of the machines to notice.",
            discussion: """
                The same seed draws the same mutants from the same sources. The exit code is 70 if a mutant survives that
                Mutants/judged.md does not know.
                """)
    }

    @Option(name: .long, help: "How many mutants, unless their numbers are given.") var count = 60
    @Option(name: .long, help: "Which ones; drawn and printed if not given. Several have one build, and a tally each.") var seed:
        [UInt64] = []
    @Option(name: .long, help: "Seeds of one virtual minute for each mutant, at most; up to 20, without the small world.")
    var worlds = 300
    @Option(name: .long, help: "How many run at once.") var jobs = ProcessInfo.processInfo.activeProcessorCount
    @Option(name: .long, help: "The checkout.") var root = "."
    @Option(name: .long, help: "Only of files whose path begins so, such as SamovarStore/Sessions/.") var below = ""
    @Option(name: .customLong("number"), parsing: .upToNextOption, help: "Only these, by their numbers in the same sources.")
    var numbers: [Int] = []
    @Flag(name: .long, help: "Print every mutant that there is, and run none.") var list = false

    func validate() throws {
        guard count >= 1, worlds >= 1, jobs >= 1 else { throw ValidationError("--count, --worlds and --jobs are at least 1") }
    }

    func run() throws {
        let workplace = Workplace(root: URL(filePath: root).standardizedFileURL, name: "mutants")
        let sources = try Sources(in: workplace.root)
        let all = sources.mutants
        let chosen = Set(numbers)
        let wanted: [NumberedMutant] = all.enumerated().map { ($0.offset + 1, $0.element) }
            .filter { $0.mutant.file.hasPrefix(below) && (chosen.isEmpty || chosen.contains($0.number)) }
        if let stranger = chosen.subtracting(wanted.map(\.number)).min() {
            throw Failure("there is no mutant \(stranger)\(below.isEmpty ? "" : " below \(below)"): see --list")
        }
        if list {
            for (number, mutant) in wanted { say(mutant.line(of: number)) }
            return say("\(wanted.count) mutants")
        }
        let judged = try JudgedMutants(in: workplace.root)
        for key in judged.keys(without: all) { complain("Mutants/judged.md: there is no “\(key)” any more") }

        let seeds = seed.isEmpty ? [UInt64.random(in: 1...999_999)] : seed
        let start = ContinuousClock.now
        let orders = seeds.map { seed in
            var draw = Draw(seed: seed)
            return draw.shuffled(wanted)
        }
        let runs = try Preparation(workplace, sources, jobs: jobs).build(orders, count: chosen.isEmpty ? count : chosen.count)
        let largest = runs.joined().map(\.number).max() ?? 0
        let askers = try Askers(in: workplace, count: largest, worlds: worlds, jobs: jobs)
        say("built and tried without a change in \(start.duration(to: .now).minutes)")

        var hasUnjudged = false
        for (seed, drawn) in zip(seeds, runs) {
            say("\nseed \(seed): \(drawn.count) of \(wanted.count) mutants; \(jobs) at once")
            let start = ContinuousClock.now
            let tally = Tally(judged)
            try inParallel(drawn, jobs: jobs) { number, _ in
                try askers.judge(number)
            } each: { entry, notice in
                tally.enter(entry.mutant, number: entry.number, notice, isReached: askers.isReached(entry.number))
            }
            tally.summarise(after: start.duration(to: .now))
            hasUnjudged = hasUnjudged || tally.hasUnjudged
        }
        if hasUnjudged { throw ExitCode(70) }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Duration {
    var minutes: String {
        formatted(.units(allowed: [.minutes, .seconds], width: .abbreviated, fractionalPart: .hide))
    }
}
