import SamovarCore

/// How far a store is behind the one that it follows, as its log tells it once a minute and at the end.
///
/// The lag of a batch is the time from when its last turn was taken until it is replayed here, so with its commit: by the clock of the one store and
/// then by that of the other.
struct StandbyLag {
    /// What is told of some batches.
    struct Summary {
        fileprivate(set) var batches = 0
        /// What half of the lags do not exceed, what 99 % of them do not, and the longest. In milliseconds, to three digits, rounded up.
        fileprivate(set) var p50: Int64 = 0
        fileprivate(set) var p99: Int64 = 0
        fileprivate(set) var longest: Int64 = 0
    }

    private static let interval = Duration.seconds(60)

    /// How many batches had which lag. Three digits bound the number of rows, however far this store is behind.
    private var batches: [Int64: Int] = [:]
    private var next: Timestamp

    init(now: Timestamp) { next = now + Self.interval }

    /// A batch is replayed, whose last turn was taken at `taken`.
    mutating func replayed(_ taken: Timestamp, now: Timestamp) {
        // A clock that is ahead of the other one shows no lag at all.
        let milliseconds = (max(1, (now - taken).microseconds) - 1) / 1_000 + 1
        var unit: Int64 = 1
        while milliseconds > 1_000 * unit { unit *= 10 }
        batches[(milliseconds + unit - 1) / unit * unit, default: 0] += 1
    }

    /// What is told once the time for it has come; nil before, and if nothing was followed since the last time.
    mutating func report(now: Timestamp) -> Summary? {
        guard now >= next else { return nil }
        next = now + Self.interval
        return takeRest()
    }

    /// What was not told yet; nil if there is nothing.
    mutating func takeRest() -> Summary? {
        guard !batches.isEmpty else { return nil }
        let all = batches.values.reduce(0, +)
        var summary = Summary()
        for (lag, count) in batches.sorted(by: { $0.key < $1.key }) {
            if summary.batches * 2 < all { summary.p50 = lag }
            if summary.batches * 100 < all * 99 { summary.p99 = lag }
            summary.longest = lag
            summary.batches += count
        }
        batches.removeAll()
        return summary
    }
}
