import SamovarCore
import SamovarWire

/// What is measured and remembered of attempts, and what jobs tell of themselves. Nothing depends on it.
extension Dispatcher {
    /// An effect goes to a worker; returns the number of the attempt.
    @inline(__always)
    mutating func record(_ effect: OpenEffect, to worker: WorkerState, isClaimed: Bool = false, now: Timestamp) -> Int {
        let attempt = effect.isUsual ? 1 : effect.failures + effect.deaths + 1
        return recorder.handedOut(effect.id, attempt: attempt, to: worker.number, isClaimed: isClaimed, now: now)
    }

    /// The attempt of an effect that a worker had has ended.
    @inline(__always)
    mutating func ended(_ former: AssignmentTable.Former, _ outcome: AttemptOutcome) {
        meters.ended(former.meter, outcome, since: former.since)
        recorder.ended(former.attempt, outcome, since: former.since, now: meters.now)
    }

    /// Those that are here, by their numbers in the recorder.
    var knownWorkers: [UInt32: WorkerID] { Dictionary(workers.values.map { ($0.number, $0.id) }) { first, _ in first } }

    // MARK: Progress

    /// Notes what a job tells of itself, if this worker runs it.
    mutating func note(_ report: ProgressReport, of worker: WorkerID) {
        guard let number = places.number(of: report.effect, under: report.lease), places[number].workerState?.id == worker else {
            return
        }
        told[report.effect] = report.progress
        recorder.heard(places[number].attempt, now: meters.now)
    }

    /// What a running job told of itself last.
    func progress(of id: EffectID) -> JobProgress? { told[id] }

    /// The same of all jobs of a worker, the oldest first.
    func progress(of worker: WorkerID) -> [(effect: EffectID, progress: JobProgress)] {
        jobs(of: worker).sorted().compactMap { id in told[id].map { (id, $0) } }
    }
}
