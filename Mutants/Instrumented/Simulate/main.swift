import Foundation
import SamovarSimulator

// Simulate FIRST LAST: worlds of one virtual minute, of these seeds. Simulate exhaustive: the small world, with a crash at every step.
// Ends at the first violation, with exit code 70 and a line that says where and what; without one, with a digest of all courses.

/// The line, without waiting for a buffer: the next step may be a crash.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "exhaustive" {
    guard let (plan, violation) = Exhaustive.run().violation else { exit(0) }
    say("\(violation.invariant)".uppercased() + " small world: \(plan): \(violation.expected); seen: \(violation.seen)")
    exit(70)
}
let range = arguments.compactMap { UInt64($0) }
guard arguments.count == 2, range.count == 2, range[0] > 0, range[0] <= range[1] else { exit(64) }
var courses: UInt64 = 0
for seed in range[0]...range[1] {
    let result = Simulation(seed: seed, minutes: 1).run()
    courses = courses &* 31 &+ result.digest
    guard let violation = result.violation else { continue }
    say("\(violation.invariant)".uppercased() + " seed \(seed): expected: \(violation.expected); seen: \(violation.seen)")
    exit(70)
}
say("\(courses)")
