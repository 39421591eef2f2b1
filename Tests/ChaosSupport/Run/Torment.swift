import Foundation
public import ProcessSupport

/// Runs a cluster under load while a nemesis is at it, then lets it heal and judges.
public struct Torment {
    public struct Report: CustomStringConvertible {
        public let seed: UInt64
        public let seconds: Int
        public let kills: [Cluster.Role: Int]
        public let stops: [Cluster.Role: Int]
        public let counts: [(what: String, count: Int)]
        public let largestStore: Int
        public let violations: [Violation]

        public var faults: Int { (kills.values.reduce(0, +)) + stops.values.reduce(0, +) }
    }

    private let seed: UInt64
    private let seconds: Int
    private let shape: Cluster.Shape
    /// Of the store, in KiB: its state grows with what clients write, but not beyond this in an hour.
    private static let memoryLimit = 600 * 1_024

    public init(seed: UInt64, seconds: Int, shape: Cluster.Shape = Cluster.Shape()) {
        self.seed = seed
        self.seconds = seconds
        self.shape = shape
    }

    public func run(in scratch: Scratch) async throws -> Report {
        let cluster = try await Cluster(shape, in: scratch)
        // A store stopped for longer than the silence is one that all its peers give up; in a short run that would be all.
        var nemesis = Nemesis(seed: seed, longestStop: seconds < 60 ? 2_500 : 8_000)
        try await eventually("the store serves") { cluster.errors.contains("serving") }
        let end = ContinuousClock.now + .seconds(seconds)
        var strike = ContinuousClock.now + nemesis.pause()
        var largestStore = 0
        // On a busy machine the nemesis may hardly get to strike, and a seed in some sixty strikes nothing but others for that long. So it
        // goes on until it has done enough, but not for ever.
        let last = end + .seconds(10 * seconds)
        while ContinuousClock.now < end || (!nemesis.hasDoneEnough && ContinuousClock.now < last) {
            if ContinuousClock.now >= strike {
                nemesis.strike(cluster)
                strike = ContinuousClock.now + nemesis.pause()
                largestStore = max(largestStore, cluster.processes(.store).compactMap(\.residentKibibytes).max() ?? 0)
            }
            nemesis.resumeDue()
            try cluster.revive()
            try await Task.sleep(for: .milliseconds(20))
        }
        nemesis.resumeAll()
        var evidence = try await cluster.finish()
        if largestStore > Self.memoryLimit { evidence.excesses.append("the store had \(largestStore / 1_024) MiB") }
        let checker = try Checker(evidence)
        return Report(
            seed: seed, seconds: seconds, kills: nemesis.kills, stops: nemesis.stops, counts: checker.counts,
            largestStore: largestStore, violations: checker.violations)
    }
}

extension Torment.Report {
    public var description: String {
        var lines = ["", "chaos of \(seconds) s, seed \(seed)", ""]
        func row(_ what: String, _ value: String) {
            lines.append("  " + what.padding(toLength: 76, withPad: " ", startingAt: 0) + value)
        }
        for role in Cluster.Role.allCases {
            row("\(role.rawValue): killed, stopped", "\(kills[role] ?? 0), \(stops[role] ?? 0)")
        }
        for (what, count) in counts { row(what, "\(count)") }
        row("largest store", "\(largestStore / 1_024) MiB")
        lines.append("")
        for invariant in Invariant.allCases {
            let broken = violations.filter { $0.invariant == invariant }
            row(
                "\(invariant) \(invariant.sentence)",
                broken.isEmpty ? "holds" : "BROKEN \(broken.count) times")
            for violation in broken.prefix(10) { lines.append("      \(violation.evidence)") }
        }
        lines += ["", "  again: make chaos SEED=\(seed) SECONDS=\(seconds)", ""]
        return lines.joined(separator: "\n")
    }
}
