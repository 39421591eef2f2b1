/// Everything that is told of a load test, for a table, for JSON and for a page.
public struct LoadReport: Equatable, Sendable {
    /// One second of all agents together.
    public struct Second: Equatable, Sendable {
        /// Its end, in seconds since the start.
        public var time: Double
        /// In this second.
        public var sent: Int
        public var applied: Int
        /// Applied or turned away.
        public var answered: Int
        public var views: Int
        /// At its end.
        public var unanswered: Int
        /// Of send → applied, in microseconds; nil if nothing was applied.
        public var p50: Int64?
        public var p99: Int64?
        public var max: Int64?

        public init(
            time: Double, sent: Int, applied: Int, answered: Int, views: Int, unanswered: Int, p50: Int64?, p99: Int64?,
            max: Int64?
        ) {
            self.time = time
            self.sent = sent
            self.applied = applied
            self.answered = answered
            self.views = views
            self.unanswered = unanswered
            self.p50 = p50
            self.p99 = p99
            self.max = max
        }

        /// Takes what was before this one into it: it was too short for a rate.
        public mutating func add(_ before: Second) {
            sent += before.sent
            applied += before.applied
            answered += before.answered
            views += before.views
            // Percentiles cannot be added. Nearly all of the values were in the longer one.
            p50 = before.p50 ?? p50
            p99 = before.p99 ?? p99
            max = [max, before.max].compactMap { $0 }.max()
        }
    }

    public struct Kill: Equatable, Sendable {
        /// Seconds since the start.
        public var time: Double
        public var process: String

        public init(time: Double, process: String) {
            self.time = time
            self.process = process
        }
    }

    /// Of the three kinds of findings that must be zero, and what they rest on.
    public struct Judgement: Equatable, Sendable {
        public enum Evidence: Equatable, Sendable {
            /// The journal was read, so many turns of it.
            case journal(turns: Int)
            /// Only what clients were told, for this reason: duplicates cannot be seen.
            case receipts(because: String)
        }

        public var evidence: Evidence
        public var findings: Judge.Findings

        public init(evidence: Evidence, findings: Judge.Findings) {
            self.evidence = evidence
            self.findings = findings
        }
    }

    public struct BytesPerMessage: Equatable, Sendable {
        /// Of an input, in frames to the store and from it.
        public var sent: Double
        public var received: Double
        /// Of a view, at one subscriber; nil if there was none.
        public var view: Double?
        /// Of an input with all its turns; nil if the journal was not read.
        public var journal: Double?

        public init(sent: Double, received: Double, view: Double?, journal: Double?) {
            self.sent = sent
            self.received = received
            self.view = view
            self.journal = journal
        }
    }

    public var program: String
    /// RFC 3339.
    public var started: String
    public var pace: LoadPlan.Pace
    /// What was set, in the order in which it is shown.
    public var settings: [(name: String, value: String)]
    /// What it ran on.
    public var machines: [String]
    /// How long inputs were due, in seconds.
    public var duration: Double
    public var counts: ClientCounts
    /// Inputs whose view was never seen.
    public var withoutView: Int
    public var latencies: Latencies<LatencySummary>
    public var seconds: [Second]
    public var processes: [ProcessFigures]
    public var kills: [Kill]
    public var bytes: BytesPerMessage
    public var judgement: Judgement
    /// What went wrong with the test itself, such as an agent that died.
    public var problems: [String]
    /// What a reader should know, and what is no fault.
    public var notes: [String]

    public init(
        program: String, started: String, pace: LoadPlan.Pace, settings: [(name: String, value: String)], machines: [String],
        duration: Double, counts: ClientCounts, withoutView: Int, latencies: Latencies<LatencySummary>, seconds: [Second],
        processes: [ProcessFigures], kills: [Kill], bytes: BytesPerMessage, judgement: Judgement, problems: [String],
        notes: [String]
    ) {
        self.program = program
        self.started = started
        self.pace = pace
        self.settings = settings
        self.machines = machines
        self.duration = duration
        self.counts = counts
        self.withoutView = withoutView
        self.latencies = latencies
        self.seconds = seconds
        self.processes = processes
        self.kills = kills
        self.bytes = bytes
        self.judgement = judgement
        self.problems = problems
        self.notes = notes
    }

    /// Nothing was lost, duplicated or out of order, and everybody who took part has said so.
    public var isSound: Bool { judgement.findings.isSound && problems.isEmpty }

    /// Inputs applied per second, while inputs were due.
    public var throughput: Double {
        let within = seconds.filter { $0.time <= duration + 0.5 }
        guard let last = within.last, last.time > 0 else { return 0 }
        return Double(within.reduce(0) { $0 + $1.applied }) / last.time
    }

    public static func == (a: LoadReport, b: LoadReport) -> Bool {
        a.program == b.program && a.started == b.started && a.counts == b.counts && a.latencies == b.latencies
            && a.seconds == b.seconds && a.judgement == b.judgement && a.problems == b.problems && a.notes == b.notes
            && a.settings.map(\.name) == b.settings.map(\.name) && a.settings.map(\.value) == b.settings.map(\.value)
    }
}
