import SamovarCore

/// How far a store is behind the one that it follows, as its log tells it once a minute and at the end.
///
/// The lag of a batch is the time from when its last turn was taken until it is replayed here, so with its commit: by the clock of the one store and
/// then by that of the other.
struct StandbyLag {
    private static let interval = Duration.seconds(60)

    private var lags = LatencyRecorder()
    private var next: Timestamp

    init(now: Timestamp) { next = now + Self.interval }

    /// A batch is replayed, whose last turn was taken at `taken`.
    mutating func replayed(_ taken: Timestamp, now: Timestamp) { lags.record((now - taken).microseconds) }

    /// What is told once the time for it has come; nil before, and if nothing was followed since the last time.
    mutating func report(now: Timestamp) -> LatencySummary? {
        guard now >= next else { return nil }
        next = now + Self.interval
        return takeRest()
    }

    /// What was not told yet; nil if there is nothing.
    mutating func takeRest() -> LatencySummary? {
        let summary = LatencyRecorder(merging: [lags.take()]).summary
        return summary.count > 0 ? summary : nil
    }
}
