public import Foundation

/// What judges a change.
public struct Trial: Sendable {
    /// Who noticed a change, and how.
    public struct Notice: Sendable {
        public let text: String
        /// The promise that the simulator saw broken, such as I5, and in which of its seeds.
        public let invariant: String?
        public let seed: Int?

        /// No promise was broken, but worlds took another course than the one that a test of the simulator has recorded.
        public static let courses = Notice("only another course")

        public var isOnlyCourses: Bool { text == Self.courses.text }

        init(_ text: String, invariant: String? = nil, seed: Int? = nil) {
            self.text = text
            self.invariant = invariant
            self.seed = seed
        }
    }

    /// What came of some worlds: who noticed the change, or, if nobody did, a digest of the courses that they took.
    public struct Outcome: Sendable {
        public let notice: Notice?
        public let courses: String

        public init(notice: Notice? = nil, courses: String = "") {
            self.notice = notice
            self.courses = courses
        }
    }

    private let workplace: Workplace
    /// Where each process notes which places it reaches.
    private let reached: URL?

    /// - Parameter reached: a file with a byte for each number, in which those are set whose places are reached.
    public init(_ workplace: Workplace, reached: URL? = nil) {
        self.workplace = workplace
        self.reached = reached
    }

    /// Far more than any of them takes. A process that is behind others has the time of the processor, if not that of the clock.
    private static func limits(processorSeconds: Int) -> ChildProcess.Limits {
        ChildProcess.Limits(seconds: Double(processorSeconds) * 8, processorSeconds: processorSeconds, bytes: 6_000_000_000)
    }

    private func environment(_ change: String) -> [String: String] {
        // A backtrace would be a process of its own, which holds the pipe and may outlive the one that it reads.
        var environment = ["SAMOVAR_MUTANT": change, "NO_COLOR": "1", "SWIFT_BACKTRACE": "enable=no"]
        if let reached { environment["SAMOVAR_REACHED"] = reached.path(percentEncoded: false) }
        return environment
    }

    /// A notice if one of these seeds breaks a promise.
    public func simulate(_ change: String, seeds: ClosedRange<Int>) throws -> Outcome {
        try simulator(change, ["\(seeds.lowerBound)", "\(seeds.upperBound)"], processorSeconds: 30 + seeds.count / 4)
    }

    /// Nil if no crash in the small world shows it.
    public func simulateExhaustively(_ change: String) throws -> Notice? {
        try simulator(change, ["exhaustive"], processorSeconds: 90).notice
    }

    private func simulator(_ change: String, _ arguments: [String], processorSeconds: Int) throws -> Outcome {
        let run = try ChildProcess.run(
            workplace.simulator, arguments, environment: environment(change),
            limits: Self.limits(processorSeconds: processorSeconds))
        let last = run.lastLine
        switch run.end {
        case .exited(0): return Outcome(courses: last)
        case .exited(70):
            let found = last.firstMatch(of: /^(I\d+) (?:seed (\d+))?/)
            let seed = found?.2.flatMap { Int($0) }
            return Outcome(notice: Notice("simulator: \(last)", invariant: found.map { String($0.1) }, seed: seed))
        case .late: return Outcome(notice: Notice("simulator: takes too long"))
        case .exited, .signalled, .stopped: return Outcome(notice: Notice("simulator: crash: \(run.crash)"))
        }
    }

    /// The suites of tests, by name.
    public func suites() throws -> [String] {
        let run = try ChildProcess.run(workplace.tests, ["--testing-library", "swift-testing", "--list-tests"])
        let lines = run.output.split(separator: "\n")
        let names = lines.compactMap { $0.wholeMatch(of: /Samovar(?:Wire|Peers|Store)Tests\.(\w+)\/.*/).map { String($0.1) } }
        // What compares a document with the text of the sources sees how they were changed, not what they do.
        return Set(names).subtracting(["TableTests"]).sorted()
    }

    /// Tests of the machines; nil if all pass.
    ///
    /// - Parameter usual: how long they take without a change; nil if that is not known yet.
    public func test(_ change: String, suites: [String], usual: Duration? = nil) throws -> Notice? {
        let filter = "^Samovar(Wire|Peers|Store)Tests\\.(\(suites.joined(separator: "|")))/"
        let seconds = usual.map { 10 + 10 * Int($0.components.seconds) } ?? 120
        // The first issue is enough.
        let run = try ChildProcess.run(
            workplace.tests, ["--testing-library", "swift-testing", "--filter", filter], environment: environment(change),
            limits: Self.limits(processorSeconds: seconds), stop: " recorded an issue ")
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
