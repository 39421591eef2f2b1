import DequeModule
import SamovarCore
import SamovarWire

/// The jobs that a worker holds: those that wait for a slot, first in, first out, and those that have one.
///
/// A job that is told to stop keeps its slot until its handler has really ended; its answer is not wanted any more. One whose
/// handler goes on beyond a patience overstays: its slot may never be free again. Only jobs with a slot can be found by their lease:
/// most of the others are never asked for, and there may be thousands of them.
struct HeldJobs: Equatable {
    struct Running: Equatable {
        enum Phase {
            case wanted
            case stopping
            case overstaying
        }

        let claim: JobClaim
        /// When it is out of time; once it was told to stop, when it overstays.
        var until: Timestamp?
        var phase = Phase.wanted

        var lease: Lease { claim.lease }
        var isWanted: Bool { phase == .wanted }
    }

    /// How long a handler may go on once it was told to stop.
    static let patience = Duration.seconds(3)

    private let slots: Int
    private var waiting: Deque<JobTask> = []
    /// In the order of their leases, in which nearly all of them start: few enough to be searched by halves, and moved together.
    private var running: [Running] = []
    /// No running job is out of time and none overstays before this time.
    private(set) var earliestTimeout: Timestamp?

    init(slots: Int) {
        self.slots = slots
    }

    var count: Int { waiting.count + running.count }
    var isEmpty: Bool { waiting.isEmpty && running.isEmpty }
    /// Every slot has a job that overstays: nothing that waits can be expected to start.
    var isStuck: Bool { running.count == slots && running.allSatisfy { $0.phase == .overstaying } }

    /// What keeps a worker that takes part no more, and whose handlers were all told to stop; nil for nothing.
    var lastWait: String? {
        guard !isEmpty else { return nil }
        return "it waits for \(count == 1 ? "the handler" : "\(count) handlers") told to stop, and ends"
    }

    /// Jobs whose answer is still owed.
    var claims: [JobClaim] {
        waiting.map { JobClaim($0) } + running.filter(\.isWanted).map(\.claim)
    }

    /// Whether this job has a slot, be it one that was told to stop.
    func hasSlot(_ lease: Lease) -> Bool { place(of: lease) != nil }

    /// Looks at each job that waits.
    func isWaiting(_ lease: Lease) -> Bool { waiting.contains { $0.lease == lease } }

    /// The claim of a job that runs and whose answer is still wanted.
    func running(_ lease: Lease) -> JobClaim? {
        guard let place = place(of: lease), running[place].isWanted else { return nil }
        return running[place].claim
    }

    private func place(of lease: Lease) -> Int? {
        let place = firstPlace(notBefore: lease)
        return place < running.count && running[place].lease == lease ? place : nil
    }

    private func firstPlace(notBefore lease: Lease) -> Int {
        var places = 0..<running.count
        while !places.isEmpty {
            let middle = (places.lowerBound + places.upperBound) / 2
            places = running[middle].lease < lease ? middle + 1..<places.upperBound : places.lowerBound..<middle
        }
        return places.lowerBound
    }

    mutating func add(_ task: JobTask) {
        waiting.append(task)
    }

    /// The next task, if a slot is free for it; it then has that slot. The time is asked for only if the task has not all of it.
    mutating func startNext(now: () -> Timestamp) -> (task: JobTask, hasTimeout: Bool)? {
        guard running.count < slots, let task = takeNext() else { return nil }
        let until = task.timeout.map { now() + $0 }
        if let until { earliestTimeout = min(until, earliestTimeout ?? until) }
        let job = Running(claim: JobClaim(task), until: until)
        let place = firstPlace(notBefore: task.lease)
        if place == running.count { running.append(job) } else { running.insert(job, at: place) }
        return (task, until != nil)
    }

    /// Passes by those whose lease is still that of a job with a slot, from a timeline that was left: a lease names one job at a time.
    private mutating func takeNext() -> JobTask? {
        guard !waiting.isEmpty else { return nil }
        if !hasSlot(waiting[0].lease) { return waiting.removeFirst() }
        return waiting.firstIndex { !hasSlot($0.lease) }.map { waiting.remove(at: $0) }
    }

    /// A handler ended. Its claim, if its answer is still wanted.
    mutating func finish(_ lease: Lease) -> JobClaim? {
        guard let place = place(of: lease) else { return nil }
        let job = running.remove(at: place)
        return job.isWanted ? job.claim : nil
    }

    /// Tells the running jobs that have run out of time to stop, and finds those that overstay from now on.
    mutating func takeOverdue(now: Timestamp) -> (outOfTime: [JobClaim], overstaying: [JobClaim]) {
        var overdue: (outOfTime: [JobClaim], overstaying: [JobClaim]) = ([], [])
        guard let earliest = earliestTimeout, now >= earliest else { return overdue }
        for place in running.indices where running[place].until.map({ now >= $0 }) ?? false {
            if running[place].isWanted {
                overdue.outOfTime.append(running[place].claim)
                stop(place, now)
            } else {
                overdue.overstaying.append(running[place].claim)
                running[place].phase = .overstaying
                running[place].until = nil
            }
        }
        earliestTimeout = running.lazy.compactMap(\.until).min()
        return overdue
    }

    private mutating func stop(_ place: Int, _ now: Timestamp) {
        let until = now + Self.patience
        running[place].phase = .stopping
        running[place].until = until
        earliestTimeout = min(until, earliestTimeout ?? until)
    }

    /// Drops those of these jobs that wait, and tells those that run to stop, which it gives back.
    mutating func cancel(_ leases: [Lease], now: Timestamp) -> [Lease] {
        var stopped: [Lease] = []
        var others: Set<Lease> = []
        for lease in leases {
            if let place = place(of: lease), running[place].isWanted {
                stopped.append(lease)
                stop(place, now)
            } else {
                others.insert(lease)
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
    mutating func stopRunning(now: Timestamp, _ isMeant: (Running) -> Bool = { _ in true }) -> [JobClaim] {
        var stopped: [JobClaim] = []
        for place in running.indices where running[place].isWanted && isMeant(running[place]) {
            stopped.append(running[place].claim)
            stop(place, now)
        }
        return stopped
    }
}
