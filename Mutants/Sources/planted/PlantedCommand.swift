import ArgumentParser
import Foundation
import Instrumentation

@main
struct PlantedCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "planted",
            abstract: "Plants bugs in a copy of the machines, one at a time, and demands that the simulator finds each.",
            discussion: """
                A bug is a patch in Mutants/Planted. One that is not found, and one that does not fit, ends with exit code 70.
                """)
    }

    @Argument(help: "These bugs alone.") var names: [String] = []
    @Option(name: .long, help: "Seeds of one virtual minute for each, at most.") var seeds = 2_000
    @Option(name: .long, help: "How many run at once.") var jobs = ProcessInfo.processInfo.activeProcessorCount
    @Option(name: .long, help: "The checkout.") var root = "."

    func run() throws {
        let workplace = Workplace(root: URL(filePath: root).standardizedFileURL, name: "planted")
        let bugs = try PlantedBug.all(in: workplace.root)
        if let unknown = names.first(where: { name in !bugs.contains { $0.name == name } }) {
            throw ValidationError("there is no planted bug \(unknown); there are \(bugs.map(\.name).joined(separator: ", "))")
        }
        try workplace.fill()
        let misfits = try bugs.filter { try !workplace.apply($0) }
        for bug in misfits { complain("error: Mutants/Planted/\(bug.name).patch does not fit the sources any more") }
        guard misfits.isEmpty else { throw ExitCode(70) }
        try workplace.importChosen()
        let errors = try workplace.build(withTests: false, jobs: jobs)
        for error in errors { complain("\(error.path):\(error.line):\(error.column): error: \(error.text)") }
        guard errors.isEmpty else { throw ExitCode(70) }
        try search(for: names.isEmpty ? bugs : bugs.filter { names.contains($0.name) }, in: workplace)
    }

    private func search(for bugs: [PlantedBug], in workplace: Workplace) throws {
        say("| planted bug | what is wrong | found as | seeds |")
        say("|---|---|---|---|")
        let trial = Trial(workplace)
        let missed = Latch()
        try inParallel(bugs, jobs: jobs) { [seeds] bug in
            try trial.simulate(bug.name, seeds: 1...seeds).notice
        } each: { [seeds] bug, notice in
            if notice == nil { missed.set() }
            let found = notice.map { $0.invariant ?? $0.text } ?? "–"
            let count = notice.map { $0.seed.map { "\($0)" } ?? "–" } ?? "not in \(seeds)"
            say("| \(bug.name) | \(bug.sentence) | \(found) | \(count) |")
        }
        if missed.isSet { throw ExitCode(70) }
    }
}
