import SamovarLoad

/// Everything that is told of a load test, for a table, for JSON and for a page.
struct LoadReport {
    /// One second of all agents together.
    struct Second {
        /// Its end, in seconds since the start.
        var time: Double
        /// In this second.
        var sent: Int
        var applied: Int
        /// Applied or turned away.
        var answered: Int
        var views: Int
        /// At its end.
        var unanswered: Int
        /// Of send → applied, in microseconds; nil if nothing was applied.
        var p50: Int64?
        var p99: Int64?
        var max: Int64?

        /// Takes what was before this one into it: it was too short for a rate.
        mutating func add(_ before: Second) {
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

    struct Kill {
        /// Seconds since the start.
        let time: Double
        let process: String
        var role: KillPlan.Role { process == "store" ? .store : .worker }
    }

    /// Of the three kinds of findings that must be zero, and what they rest on.
    struct Judgement {
        enum Evidence {
            /// The journal was read, so many turns of it.
            case journal(turns: Int)
            /// Only what clients were told, for this reason: duplicates cannot be seen.
            case receipts(because: String)
        }

        let evidence: Evidence
        let findings: Judge.Findings
        var isByJournal: Bool { if case .journal = evidence { true } else { false } }
    }

    struct BytesPerMessage {
        /// Of an input, in frames to the store and from it.
        let sent: Double
        let received: Double
        /// Of a view, at one subscriber; nil if there was none.
        let view: Double?
        /// Of an input with all its turns; nil if the journal was not read.
        let journal: Double?
    }

    let program: String
    /// RFC 3339.
    let started: String
    let pace: LoadPlan.Pace
    /// What was set, in the order in which it is shown.
    let settings: [(name: String, value: String)]
    /// What it ran on.
    let machines: [String]
    /// How long inputs were due, in seconds.
    let duration: Double
    let counts: ClientCounts
    /// Inputs whose view was never seen.
    let withoutView: Int
    /// Inputs that were chosen for send → settled, and whose end was never told.
    let withoutEnd: Int
    let latencies: Latencies<LatencySummary>
    let seconds: [Second]
    let processes: [ProcessFigures]
    let kills: [Kill]
    let bytes: BytesPerMessage
    let judgement: Judgement
    /// What went wrong with the test itself, such as an agent that died.
    let problems: [String]
    /// What a reader should know, and what is no fault.
    var notes: [String] = []

    /// Nothing was lost, duplicated or out of order, and everybody who took part has said so.
    var isSound: Bool { judgement.findings.isSound && problems.isEmpty }

    /// Inputs applied per second, while inputs were due.
    var throughput: Double {
        let within = seconds.filter { $0.time <= duration + 0.5 }
        // A short test may have none. A thousandth of a second is an agent's clock that went wrong.
        guard let last = within.last, last.time > 0.001 else { return duration > 0 ? Double(counts.applied) / duration : 0 }
        return Double(within.reduce(0) { $0 + $1.applied }) / last.time
    }
}
