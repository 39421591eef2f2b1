#if SAMOVAR_PLANTED
import ArgumentParser
import SamovarSimulator

/// Plants one bug or each, and runs seeds until it is found.
struct PlantedRun {
    private let names: [String]
    private let minutes: Int
    private let limit: Int

    init(_ name: String, minutes: Int, limit: Int) throws {
        guard name == "all" || Planting.names.contains(name) else {
            throw ValidationError("there is no planted bug \(name); there are \(Planting.names.joined(separator: ", "))")
        }
        names = name == "all" ? Planting.names : [name]
        self.minutes = minutes
        self.limit = limit
    }

    func run() throws {
        var missed: [String] = []
        say("| planted bug | what is wrong | found as | seeds |")
        say("|---|---|---|---|")
        for name in names {
            guard Planting.plant(name) else { continue }
            let found = search()
            if found == nil { missed.append(name) }
            let invariant = found.map { "\($0.violation.invariant)".uppercased() } ?? "–"
            say("| \(name) | \(Planting.sentence(of: name)) | \(invariant) | \(found.map { "\($0.seeds)" } ?? "not in \(limit)") |")
            if names.count == 1, let found { say("\(found.violation)") }
        }
        guard missed.isEmpty else { throw ExitCode(70) }
    }

    private func search() -> (seeds: Int, violation: Violation)? {
        for seed in 1...limit {
            if let violation = Simulation(seed: UInt64(seed), minutes: minutes).run().violation { return (seed, violation) }
        }
        return nil
    }
}
#endif
