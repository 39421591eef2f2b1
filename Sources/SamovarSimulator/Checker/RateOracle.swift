import SamovarCore

/// The rate of one queue, as the checker keeps it: in no window of time may more leave than the rate gives for it, one hundredth more, and
/// what may leave at once.
///
/// When a task was handed out is known only within bounds, for it may have waited for the disk. It is taken for the earliest time that
/// the rate allows; where that is later than the task left, no times could be right.
struct RateOracle {
    private let step: Double
    private let burst: Double
    /// The turn with which the rate was set.
    let since: Int
    /// When the next may be handed out, if not for what may leave at once.
    private var next = -Double.infinity
    /// How many were counted.
    private(set) var count = 0

    init(_ rate: QueueRules.Rate, since turn: Int) {
        step = Double(rate.interval.microseconds) / Double(rate.count) / 1.01
        burst = Double(rate.burst)
        since = turn
    }

    /// A store begins to serve, with nothing saved up.
    mutating func restart(at now: Instant) { next = Double(now) + burst * step }

    enum Verdict: Equatable {
        case free
        /// The rate has held it back, to the millisecond in which it might leave.
        case held
        /// So many microseconds too early.
        case early(Int)
    }

    /// A task was handed out between these times.
    mutating func handOut(from earliest: Instant, to latest: Instant) -> Verdict {
        let allowed = next - (burst - 1) * step
        let time = max(Double(earliest), allowed)
        count += 1
        next = max(next, time) + step
        // Times are whole microseconds.
        if time > Double(latest) + 1 { return .early(Int(time - Double(latest)) + 1) }
        return allowed > Double(latest) - step * 0.1 ? .held : .free
    }
}
