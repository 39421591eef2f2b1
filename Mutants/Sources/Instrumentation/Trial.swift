import Foundation

/// What judges a change, the cheapest first.
public struct Trial: Sendable {
    /// Who noticed a change, and how.
    public struct Notice: Sendable {
        public let text: String
        /// The promise that the simulator saw broken, such as I5, and in which of its seeds.
        public let invariant: String?
        public let seed: Int?

        init(_ text: String, invariant: String? = nil, seed: Int? = nil) {
            self.text = text
            self.invariant = invariant
            self.seed = seed
        }
    }

    private let workplace: Workplace

    public init(_ workplace: Workplace) { self.workplace = workplace }

    /// Far more than any of them takes. A process that is behind others has the time of the processor, if not that of the clock.
    private static func limits(processorSeconds: Int) -> ChildProcess.Limits {
        ChildProcess.Limits(seconds: Double(processorSeconds) * 8, processorSeconds: processorSeconds, bytes: 6_000_000_000)
    }

    /// Nil if no seed from 1 on shows it.
    public func simulate(_ change: String, seeds: Int) throws -> Notice? {
        try simulator(change, ["\(seeds)"], processorSeconds: 30 + seeds / 4)
    }

    /// Nil if no crash in the small world shows it.
    public func simulateExhaustively(_ change: String) throws -> Notice? {
        try simulator(change, ["exhaustive"], processorSeconds: 90)
    }

    private func simulator(_ change: String, _ arguments: [String], processorSeconds: Int) throws -> Notice? {
        let run = try ChildProcess.run(
            workplace.simulator, arguments, environment: ["SAMOVAR_MUTANT": change],
            limits: Self.limits(processorSeconds: processorSeconds))
        let last = run.lastLine
        switch run.end {
        case .exited(0): return nil
        case .exited(70):
            let found = last.firstMatch(of: /^(I\d+) (?:seed (\d+))?/)
            return Notice("simulator: \(last)", invariant: found.map { String($0.1) }, seed: found?.2.flatMap { Int($0) })
        case .late: return Notice("simulator: takes too long")
        case .exited, .signalled, .stopped: return Notice("simulator: crash: \(run.crash)")
        }
    }

    /// The tests of the protocol; nil if all pass.
    public func test(_ change: String) throws -> Notice? {
        // The first issue is enough. What compares a document with the text of the sources sees how they were changed, not what they do.
        let run = try ChildProcess.run(
            workplace.tests, ["--testing-library", "swift-testing", "--skip", "TableTests"],
            environment: ["SAMOVAR_MUTANT": change, "NO_COLOR": "1"],
            limits: Self.limits(processorSeconds: 120), stop: " recorded an issue ")
        switch run.end {
        case .exited(0): return nil
        case .exited(let code) where run.output.contains("Test run with "): return Notice("tests: exit code \(code)")
        case .stopped:
            let line = run.output.split(separator: "\n").first { $0.contains(" recorded an issue ") } ?? ""
            return Notice("test: \(line.firstMatch(of: /Test (.*?) recorded an issue/).map { String($0.1) } ?? String(line))")
        case .late: return Notice("tests: take too long")
        case .exited, .signalled: return Notice("tests: crash: \(run.crash)")
        }
    }
}

extension ChildProcess {
    var lastLine: String { output.split(separator: "\n").last.map(String.init) ?? "" }

    /// What a process that crashed said of it.
    var crash: String {
        output.firstMatch(of: /Fatal error.*/).map { String($0.output.prefix(160)) } ?? "\(end)"
    }
}
