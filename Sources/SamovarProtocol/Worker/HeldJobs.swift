import DequeModule
import SamovarCore

/// The jobs that a worker holds: those that wait for a slot, first in, first out, and those that have one.
///
/// A job that is told to stop keeps its slot until its handler has really ended; its answer is not wanted any more.
struct HeldJobs: Equatable {
    private enum Phase: Equatable {
        case waiting
        case running(until: Timestamp?)
        case stopping
    }

    private struct Job: Equatable {
        let claim: JobClaim
        var phase: Phase
    }

    private let slots: Int
    private var jobs: [Lease: Job] = [:]
    private var waiting: Deque<JobTask> = []
    /// No running job is overdue before this time.
    private(set) var earliestTimeout: Timestamp?

    init(slots: Int) {
        self.slots = slots
    }

    var count: Int { jobs.count }
    var isEmpty: Bool { jobs.isEmpty }

    /// Jobs whose answer is still owed.
    var claims: [JobClaim] {
        jobs.values.filter { $0.phase != .stopping }.map(\.claim)
    }

    /// The claim of a job that runs and whose answer is still wanted.
    func running(_ lease: Lease) -> JobClaim? {
        guard let job = jobs[lease], case .running = job.phase else { return nil }
        return job.claim
    }

    func holds(_ lease: Lease) -> Bool { jobs[lease] != nil }

    mutating func add(_ task: JobTask) {
        jobs[task.lease] = Job(claim: JobClaim(task), phase: .waiting)
        waiting.append(task)
    }

    /// The next task, if a slot is free for it; it then has that slot.
    mutating func startNext(now: Timestamp) -> JobTask? {
        guard jobs.count - waiting.count < slots, let task = waiting.popFirst() else { return nil }
        let until = task.timeout.map { now + $0 }
        if let until { earliestTimeout = min(until, earliestTimeout ?? until) }
        jobs[task.lease]?.phase = .running(until: until)
        return task
    }

    /// A handler ended. Its claim, if its answer is still wanted.
    mutating func finish(_ lease: Lease) -> JobClaim? {
        guard let job = jobs[lease], job.phase != .waiting else { return nil }
        jobs[lease] = nil
        return job.phase == .stopping ? nil : job.claim
    }

    /// Tells the running jobs that have run out of time to stop.
    mutating func stopOverdue(now: Timestamp) -> [JobClaim] {
        guard let earliest = earliestTimeout, now >= earliest else { return [] }
        earliestTimeout = nil
        var overdue: [JobClaim] = []
        for (lease, job) in jobs {
            guard case .running(let until?) = job.phase else { continue }
            if now >= until {
                overdue.append(job.claim)
                jobs[lease]?.phase = .stopping
            } else {
                earliestTimeout = min(until, earliestTimeout ?? until)
            }
        }
        return overdue.sorted { $0.lease < $1.lease }
    }

    /// Drops those of these jobs that wait, and tells those that run to stop, which it gives back.
    mutating func cancel(_ leases: [Lease]) -> [Lease] {
        var stopped: [Lease] = []
        var dropped: Set<Lease> = []
        for lease in leases {
            switch jobs[lease]?.phase {
            case .running:
                jobs[lease]?.phase = .stopping
                stopped.append(lease)
            case .waiting:
                jobs[lease] = nil
                dropped.insert(lease)
            case .stopping, nil: break
            }
        }
        if !dropped.isEmpty { waiting.removeAll { dropped.contains($0.lease) } }
        return stopped
    }

    /// Drops every job that waits for a slot.
    mutating func removeWaiting() -> [JobClaim] {
        let claims = waiting.map { JobClaim($0) }
        for claim in claims { jobs[claim.lease] = nil }
        waiting.removeAll()
        return claims
    }

    /// Tells the running jobs to stop, or those of them that are meant.
    mutating func stopRunning(_ isMeant: (Lease) -> Bool = { _ in true }) -> [JobClaim] {
        var stopped: [JobClaim] = []
        for (lease, job) in jobs where isMeant(lease) {
            guard case .running = job.phase else { continue }
            stopped.append(job.claim)
            jobs[lease]?.phase = .stopping
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
