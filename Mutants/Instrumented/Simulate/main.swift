import Foundation
import SamovarSimulator

// Simulate SEEDS: worlds of one virtual minute, from seed 1 on. Simulate exhaustive: the small world, with a crash at every step.
// Ends at the first violation, with exit code 70 and a line that says where and what.

/// The line, without waiting for a buffer: the next step may be a crash.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

if CommandLine.arguments.dropFirst().first == "exhaustive" {
    guard let (plan, violation) = Exhaustive.run().violation else { exit(0) }
    say("\(violation.invariant)".uppercased() + " small world: \(plan): \(violation.expected); seen: \(violation.seen)")
    exit(70)
}
guard CommandLine.arguments.count == 2, let seeds = UInt64(CommandLine.arguments[1]), seeds > 0 else { exit(64) }
for seed in 1...seeds {
    guard let violation = Simulation(seed: seed, minutes: 1).run().violation else { continue }
    say("\(violation.invariant)".uppercased() + " seed \(seed): expected: \(violation.expected); seen: \(violation.seen)")
    exit(70)
}
