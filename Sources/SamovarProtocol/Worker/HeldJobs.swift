import DequeModule
import SamovarCore

/// The jobs that a worker holds: those that wait for a slot, first in, first out, and those that have one.
///
/// A job that is told to stop keeps its slot until its handler has really ended; its answer is not wanted any more. Only jobs with a
/// slot can be found by their lease: most of the others are never asked for, and there may be thousands of them.
struct HeldJobs: Equatable {
    private struct Running: Equatable {
        let claim: JobClaim
        let until: Timestamp?
        var isStopping = false
    }

    private let slots: Int
    private var waiting: Deque<JobTask> = []
    private var running: [Lease: Running] = [:]
    /// No running job is overdue before this time.
    private(set) var earliestTimeout: Timestamp?

    init(slots: Int) {
        self.slots = slots
    }

    var count: Int { waiting.count + running.count }
    var isEmpty: Bool { waiting.isEmpty && running.isEmpty }

    /// Jobs whose answer is still owed.
    var claims: [JobClaim] {
        waiting.map { JobClaim($0) } + running.values.filter { !$0.isStopping }.map(\.claim)
    }

    /// Whether this job has a slot, be it one that was told to stop.
    func hasSlot(_ lease: Lease) -> Bool { running[lease] != nil }

    /// Looks at each job that waits.
    func isWaiting(_ lease: Lease) -> Bool { waiting.contains { $0.lease == lease } }

    /// The claim of a job that runs and whose answer is still wanted.
    func running(_ lease: Lease) -> JobClaim? {
        guard let job = running[lease], !job.isStopping else { return nil }
        return job.claim
    }

    mutating func add(_ task: JobTask) {
        waiting.append(task)
    }

    /// The next task, if a slot is free for it; it then has that slot.
    mutating func startNext(now: Timestamp) -> JobTask? {
        guard running.count < slots, let task = waiting.popFirst() else { return nil }
        let until = task.timeout.map { now + $0 }
        if let until { earliestTimeout = min(until, earliestTimeout ?? until) }
        running[task.lease] = Running(claim: JobClaim(task), until: until)
        return task
    }

    /// A handler ended. Its claim, if its answer is still wanted.
    mutating func finish(_ lease: Lease) -> JobClaim? {
        guard let job = running.removeValue(forKey: lease), !job.isStopping else { return nil }
        return job.claim
    }

    /// Tells the running jobs that have run out of time to stop.
    mutating func stopOverdue(now: Timestamp) -> [JobClaim] {
        guard let earliest = earliestTimeout, now >= earliest else { return [] }
        earliestTimeout = nil
        var overdue: [JobClaim] = []
        for (lease, job) in running where !job.isStopping {
            guard let until = job.until else { continue }
            if now >= until {
                overdue.append(job.claim)
                running[lease]?.isStopping = true
            } else {
                earliestTimeout = min(until, earliestTimeout ?? until)
            }
        }
        return overdue.sorted { $0.lease < $1.lease }
    }

    /// Drops those of these jobs that wait, and tells those that run to stop, which it gives back.
    mutating func cancel(_ leases: [Lease]) -> [Lease] {
        var stopped: [Lease] = []
        var others: Set<Lease> = []
        for lease in leases {
            switch running[lease]?.isStopping {
            case false?:
                running[lease]?.isStopping = true
                stopped.append(lease)
            case true?: break
            case nil: others.insert(lease)
            }
        }
        if !others.isEmpty { waiting.removeAll { others.contains($0.lease) } }
        return stopped
    }

    /// Drops every job that waits for a slot.
    mutating func removeWaiting() -> [JobClaim] {
        defer { waiting.removeAll() }
        return waiting.map { JobClaim($0) }
    }

    /// Tells the running jobs to stop, or those of them that are meant.
    mutating func stopRunning(_ isMeant: (Lease) -> Bool = { _ in true }) -> [JobClaim] {
        var stopped: [JobClaim] = []
        for (lease, job) in running where !job.isStopping && isMeant(lease) {
            stopped.append(job.claim)
            running[lease]?.isStopping = true
        }
        if claims.isEmpty { earliestTimeout = nil }
        return stopped.sorted { $0.lease < $1.lease }
    }
}

extension JobClaim {
    init(_ task: JobTask) {
        self.init(effect: task.effect, lease: task.lease, token: task.token)
    }
}
