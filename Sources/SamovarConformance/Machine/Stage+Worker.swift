import MessagePack

/// What a worker's store keeps of it.
struct WorkerSide {
    struct Job {
        let claim: Value
        /// The number of its newest streamed message without a hole, and up to which one it was acknowledged.
        var streamed: Int64
        var marked: Int64
        var answer: Value?
        var isAcknowledged = false
        var isCancelled = false

        var lease: Value { claim[2] ?? .nil }
        /// A HELLO did not claim it: it never came, or its worker has forgotten it.
        var isLost = false
        var isOpen: Bool { answer == nil && !isCancelled && !isLost }
    }

    var slots: Int64 = 0
    /// Up to which number tasks may be sent, and the number of the last one, both since HELLO.
    var credit: Int64 = 0
    var sent: Int64 = 0
    /// How many CANCELs with leases it was sent since HELLO.
    var cancels: Int64 = 0
    /// How many jobs it holds at once, those that wait included: its credit when it holds none. It may grow, for a worker may read further
    /// ahead of jobs that prove short.
    var capacity: Int64?
    var jobs: [Value: Job] = [:]
    var claims: [Value] = []
    var isDraining = false
    private var counter: Int64 = 0

    /// Another job, with a lease and a token whose every bit matters.
    mutating func order(resume: Int64 = 0) -> Job {
        counter += 1
        let lease: Value = [.int(7 << 32), .int(counter)]
        let claim: Value = [.int(40 + counter), .int(counter % 3), lease, .uint(.max - UInt64(counter))]
        let job = Job(claim: claim, streamed: resume, marked: resume)
        jobs[lease] = job
        return job
    }

    /// As a store that is another process now: what was streamed and not acknowledged is to come again.
    mutating func forgetStreams() {
        for (lease, job) in jobs {
            jobs[lease]?.streamed = job.marked
            jobs[lease]?.answer = nil
        }
    }

    var held: Int64 { Int64(jobs.values.count { $0.isOpen }) }
    /// The greatest credit for its room, which may be more than can be counted.
    var most: Int64 {
        let (sum, isBeyond) = (sent - held).addingReportingOverflow(capacity ?? 0)
        return isBeyond ? .max : sum
    }
}

extension Stage {
    /// The effects of the program that is served; see `docs/conformance.md`.
    enum Effect {
        static func echo(_ text: String) -> Value { ["echo": ["text": .string(text)]] }
        static func fail(_ text: String, permanent: Bool = false) -> Value {
            ["fail": ["text": .string(text), "permanent": .bool(permanent)]]
        }
        static func stream(_ count: Int64) -> Value { ["stream": ["count": .int(count)]] }
        static func sleep(_ milliseconds: Int64) -> Value { ["sleep": ["milliseconds": .int(milliseconds)]] }
        static func send(_ count: Int64) -> Value { ["send": ["count": .int(count)]] }
        static func report(_ count: Int64) -> Value { ["report": ["count": .int(count)]] }
    }

    static func echoed(_ text: String) -> Value { ["echoed": ["text": .string(text)]] }
    static func counted(_ number: Int64) -> Value { ["counted": ["number": .int(number)]] }

    /// As many tasks as fill the slots and let some wait, if the credit lets them.
    var some: Int64 { min(worker.credit - worker.sent, worker.slots * 3) }

    /// Hands these effects out in one frame, and gives their leases.
    @discardableResult
    mutating func task(_ effects: Value..., timeout: Int64? = nil, resume: Value = .nil) -> [Value] {
        task(effects, timeout: timeout, resume: resume)
    }

    @discardableResult
    mutating func task(_ effects: [Value], timeout: Int64? = nil, resume: Value = .nil) -> [Value] {
        let jobs = effects.map { _ in worker.order(resume: resume[0]?.integer ?? 0) }
        worker.sent += Int64(jobs.count)
        let tasks = zip(jobs, effects).map { task($0, $1, timeout: timeout, resume: resume) }
        for job in jobs { tell(job.claim[0]?.integer ?? 0) }
        send(.task, worker.sent, .array(tasks))
        return jobs.map(\.lease)
    }

    /// A task as TASK has it.
    func task(_ job: WorkerSide.Job, _ effect: Value, timeout: Int64? = nil, resume: Value = .nil) -> Value {
        .array(job.claim.elements + [1, .nil, "default", timeout.map { .int($0) } ?? .nil, resume, binary(effect)])
    }

    mutating func cancel(_ leases: [Value]) {
        for lease in leases { worker.jobs[lease]?.isCancelled = true }
        worker.cancels += 1
        send(.cancel, worker.cancels, .array(leases))
    }

    mutating func acknowledge(_ leases: [Value]) {
        for lease in leases { worker.jobs[lease]?.isAcknowledged = true }
        send(.acknowledge, 0, .array(leases))
    }

    mutating func mark(_ lease: Value, _ index: Int64) {
        worker.jobs[lease]?.marked = index
        send(.streamed, 0, [[lease, .int(index)]])
    }

    // MARK: Checks

    mutating func workerGreeted(_ frame: RawFrame, _ body: Value) throws(Fault) {
        try demand(
            body[0] == [.string(Stage.program), 1], "HELLO first", expected: "program “\(Stage.program)”, version 1",
            seen: body[0]?.text ?? "nil")
        worker.slots = body[3]?[1]?.integer ?? 0
        worker.claims = body[3]?[3]?.elements ?? []
        (worker.credit, worker.sent, worker.cancels, worker.isDraining) = (0, 0, 0, false)
        try demand(
            body[3]?[2]?.elements.contains { $0 == "default" || $0[0] == "default" } == true, "Jobs",
            expected: "the queue “default” among those that it serves", seen: body[3]?[2]?.text ?? "none")
        // Claims of a timeline that is over mean nothing.
        guard frame.timeline == timeline else { return }
        for claim in worker.claims {
            try demand(
                worker.jobs[claim[2] ?? .nil]?.claim == claim, "Leases and tokens",
                expected: "claims of jobs that it was given, with the tokens of their tasks", seen: claim.text)
        }
        for (lease, job) in worker.jobs where !worker.claims.contains(job.claim) { worker.jobs[lease]?.isLost = true }
    }

    mutating func takeFromWorker(_ frame: RawFrame, _ kind: Kind) throws(Fault) {
        switch kind {
        case .credit, .ping: try credited(frame.number)
        case .drain: worker.isDraining = true
        case .result:
            var acknowledged: [Value] = []
            var marks: [Value: Int64] = [:]
            for result in frame.body[0].elements { try take(result, &acknowledged, &marks) }
            try credited(frame.number)
            if manners.acknowledges, !acknowledged.isEmpty { acknowledge(acknowledged) }
            if manners.marks { for (lease, index) in marks { mark(lease, index) } }
        default: break
        }
    }

    /// CREDIT is absolute, never falls, and is for free room.
    private mutating func credited(_ credit: Int64) throws(Fault) {
        try demand(
            credit >= worker.credit, "Credit", expected: "a credit of \(worker.credit) or more, for it never falls",
            seen: "\(credit)")
        worker.credit = credit
        guard !worker.isDraining else { return }
        if worker.held == 0, credit > worker.sent { worker.capacity = max(worker.capacity ?? 0, credit - worker.sent) }
        guard let capacity = worker.capacity else { return }
        let most = worker.most
        try demand(
            credit <= most, "Credit",
            expected:
                "at most \(most): \(worker.sent) tasks since HELLO and room for \(capacity), less \(worker.held) that it holds",
            seen: "\(credit)")
    }

    private mutating func take(_ result: Value, _ acknowledged: inout [Value], _ marks: inout [Value: Int64]) throws(Fault) {
        let lease = result[2] ?? .nil
        guard var job = worker.jobs[lease], job.claim.elements == Array(result.elements.prefix(4)) else {
            throw Fault(
                rule: "Leases and tokens", expected: "effect, lease and token of a task of this timeline, as they were given",
                seen: result.text)
        }
        try demand(!job.isLost, "Jobs", expected: "results of jobs that HELLO has claimed", seen: result.text)
        defer { worker.jobs[lease] = job }
        if result[4] == 3 {
            let index = result[5]?[0]?.integer ?? 0
            try demand(
                job.answer == nil || index <= job.streamed, "Streams", expected: "streamed messages before their job's answer",
                seen: result.text)
            try demand(
                index <= job.streamed + 1, "Streams", expected: "number \(job.streamed + 1), for there is no hole",
                seen: "number \(index)")
            job.streamed = max(job.streamed, index)
            try demand(
                job.streamed - job.marked <= 64, "Streams",
                expected: "at most 64 messages under way, with \(job.marked) acknowledged", seen: "number \(index)")
            marks[lease] = max(index, marks[lease] ?? 0)
            return
        }
        let answer = Value.array(Array(result.elements.suffix(2)))
        try demand(
            job.answer == nil || job.answer == answer, "Jobs",
            expected: "the answer that it gave before, \(job.answer?.text ?? "")", seen: answer.text)
        job.answer = answer
        acknowledged.append(lease)
    }
}
