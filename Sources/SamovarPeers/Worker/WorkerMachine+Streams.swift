public import SamovarCore
public import SamovarWire

/// What running jobs say before their end: messages, and how far they are.
extension WorkerMachine {
    /// A handler sends a message before its end. `StreamWindow` gave it its number.
    public mutating func streamed(_ lease: Lease, index: Int, message: [UInt8], checkpoint: [UInt8]?) {
        // A handler that was told to stop may not have noticed.
        guard let claim = held.running(lease) else { return }
        if checkpoint != nil { checkpointed.insert(lease) } else { checkpointed.remove(lease) }
        outbox.add(claim, .streamed(index: index, message: message, checkpoint: checkpoint))
    }

    /// A handler tells how far it is. Only the newest is sent, now and then, and none is kept for a later connection.
    public mutating func progressed(_ lease: Lease, _ told: JobProgress) {
        guard let claim = held.running(lease) else { return }
        progress.note(told, of: claim)
    }

    /// What was streamed is on disk.
    mutating func acknowledged(_ marks: [StreamMark]) -> [Action] {
        outbox.forget(marks)
        return marks.filter { held.running($0.lease) != nil }.map { .acknowledged($0) }
    }

    mutating func takeProgress(_ now: Timestamp) -> [ProgressReport] {
        guard progress.due != nil else { return [] }
        let running = held
        return progress.take(now: now, interval: settings.progressInterval) { running.running($0) != nil }
    }

    /// Stops the jobs of which nothing is lost: another worker goes on from the checkpoint.
    mutating func giveBackCheckpointed(_ now: Timestamp) -> [Action] {
        let stopped = held.stopRunning(now: now) { [checkpointed] in checkpointed.contains($0.lease) }
        for claim in stopped { outbox.add(claim, .returned) }
        return stopped.map { .cancel($0.lease) }
    }
}

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
