import SamovarCore

/// What running jobs told of themselves and the store has not heard: only the newest of each, and not too often.
struct ProgressBox: Equatable {
    private var reports: [Lease: ProgressReport] = [:]
    /// When the next frame may leave.
    private var next = Timestamp(microseconds: .min)

    /// When there is something to send; nil for never.
    var due: Timestamp? { reports.isEmpty ? nil : next }

    mutating func note(_ progress: JobProgress, of claim: JobClaim) {
        reports[claim.lease] = ProgressReport(effect: claim.effect, lease: claim.lease, progress: progress)
    }

    mutating func forgetAll() {
        reports.removeAll()
    }

    /// Those of jobs that still run, if it is time.
    mutating func take(now: Timestamp, interval: Duration, _ isRunning: (Lease) -> Bool) -> [ProgressReport] {
        guard !reports.isEmpty, now >= next else { return [] }
        next = now + interval
        defer { reports.removeAll(keepingCapacity: true) }
        return reports.values.filter { isRunning($0.lease) }.sorted { $0.lease < $1.lease }
    }
}
