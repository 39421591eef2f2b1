import MessagePack
import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire

/// A handler that runs.
final class Running {
    let task: JobTask
    let timeline: Timeline
    let execution: Execution
    /// What it streams before its end; nil if it does not.
    var streamPlan: StreamPlan?
    var stoppedAt: Instant?
    var isStopping: Bool { stoppedAt != nil }
    /// It overlooks that it is told to stop, and ends by itself, or long after.
    var isStubborn: Bool { task.token % 16 == 0 }

    init(task: JobTask, in timeline: Timeline, execution: Execution, streamPlan: StreamPlan?) {
        self.task = task
        self.timeline = timeline
        self.execution = execution
        self.streamPlan = streamPlan
    }
}

/// A worker process: the loop of `WorkerLoop` around the machine, and handlers that take virtual time.
final class WorkerProcess: Process {
    private(set) var id = WorkerID.zero
    private var machine: WorkerMachine?
    private var running: [Lease: Running] = [:]
    private var ended: [(Running, JobResult.Answer)] = []
    private var streamed: [(job: Running, index: Int, drop: Assignment.Drop)] = []
    private var shallDrain = false
    /// Jobs whose answer the store has not acknowledged, for the checker.
    private(set) var owed: Set<Lease> = []
    let queues: [Queue]
    private var slots: Int { world.swarm.slots }

    init(_ world: World, _ number: Int) {
        // The first one serves every queue, so that all work can end.
        queues = number == 0 ? [.default, "heavy"] : number == 1 ? ["heavy"] : [.default]
        super.init(world, "worker \(number + 1)", 100 + number)
    }

    var timeline: Timeline { machine?.timeline ?? .zero }
    var isIdle: Bool { isUp && (machine?.jobs ?? 0) == 0 && (machine?.unacknowledged ?? 0) == 0 }
    var holds: String { "\(machine?.jobs ?? 0) jobs and \(machine?.unacknowledged ?? 0) answers" }

    // MARK: Life

    override func begin() throws(Violation) {
        id = random.id()
        world.knownWorkers.insert(id)
        let offer = WorkerOffer(id: id, slots: slots, queues: queues)
        machine = WorkerMachine(
            offer, schema: ModelProgram.schema, readAhead: world.swarm.readAhead, settings: world.swarm.worker,
            random: random.generator())
        machine?.places = world.stores.count
        wake(at: world.now)
    }

    override func end() {
        for job in running.values { assignment(of: job)?.isRunning = false }
        running.removeAll()
        ended.removeAll()
        streamed.removeAll()
        owed.removeAll()
        shallDrain = false
        machine = nil
        port.disconnect(world.network)
    }

    func drain() {
        shallDrain = true
        wake(at: world.now)
    }

    // MARK: Events

    /// The handler's time is over.
    private func jobEnded(_ job: Running) {
        guard running[job.task.lease] === job else { return }
        switch job.execution.end {
        case .death where !job.isStopping: world.workerDied(self, "job \(job.task.effect) ended it")
        case .answer(let answer) where !job.isStopping: ended.append((job, answer))
        case .answer, .death, .never: ended.append((job, .failed(.threw, "cancelled", permanent: false)))
        }
        wake(at: world.now)
    }

    /// The handler sends its next item, or waits until there is room for it.
    private func jobStreams(_ job: Running) {
        guard running[job.task.lease] === job, !job.isStopping, var streamPlan = job.streamPlan else { return }
        defer { job.streamPlan = streamPlan }
        if streamPlan.isOver || streamPlan.isBroken {
            guard !streamPlan.isBroken, case .answer(let answer) = job.execution.end else {
                ended.append((job, .failed(.threw, "spilt", permanent: false)))
                return wake(at: world.now)
            }
            ended.append((job, answer))
            return wake(at: world.now)
        }
        let drop = Assignment.Drop(message: streamPlan.message, checkpoint: streamPlan.checkpoint)
        var pause = streamPlan.pause
        if let index = streamPlan.window.next(size: drop.message.count + (drop.checkpoint?.count ?? 0)) {
            streamed.append((job, index, drop))
            streamPlan.next += 1
            wake(at: world.now)
        } else {
            pause = 20 * milliseconds
        }
        world.plan(for: self, at: world.now + pause) { [self] in jobStreams(job) }
    }

    // MARK: The loop

    override func round() throws(Violation) {
        let now = localNow
        var actions: [WorkerMachine.Action] = []
        for (job, index, drop) in streamed { stream(job, index, drop) }
        streamed.removeAll()
        for (job, answer) in ended { actions += finish(job, answer, now) }
        ended.removeAll()
        if shallDrain { actions += machine?.drain(now: now) ?? [] }
        shallDrain = false
        port.sendWaiting(world.network)
        let (messages, mayHaveMore) = port.receive()
        for parts in messages { actions += received(parts, now) }
        if port.takeBroke() { actions += machine?.disconnected(now: now) ?? [] }
        actions += machine?.ticked(now: now) ?? []
        actions += machine?.flush(now: now) ?? []
        try requireNothingWaitsForStubborn()
        for action in actions {
            guard isUp else { return }
            guard world.survives(self) else { return }
            try perform(action)
        }
        guard isUp else { return }
        if mayHaveMore { wake(at: world.now) }
        if let deadline = machine?.deadline { wake(at: clock.instant(of: deadline, after: world.now)) }
    }

    private func requireNothingWaitsForStubborn() throws(Violation) {
        let isStuck =
            running.count == slots && running.values.allSatisfy { $0.stoppedAt.map { world.now - $0 > 5 * seconds } ?? false }
        try world.checker.require(
            !isStuck || machine?.jobs ?? slots <= slots, .i10, expected: "no job to wait for handlers that do not stop",
            seen: "\(machine?.jobs ?? 0) in \(name)")
    }

    private func stream(_ job: Running, _ index: Int, _ drop: Assignment.Drop) {
        let lease = job.task.lease
        guard running[lease] === job, !job.isStopping else { return }
        assignment(of: job)?.drops[index] = drop
        machine?.streamed(lease, index: index, message: drop.message, checkpoint: drop.checkpoint)
    }

    private func assignment(of job: Running) -> Assignment? {
        world.checker.reference(of: job.timeline)?.assignments[job.task.lease]
    }

    private func finish(_ job: Running, _ answer: JobResult.Answer, _ now: Timestamp) -> [WorkerMachine.Action] {
        let lease = job.task.lease
        guard running[lease] === job else { return [] }
        running[lease] = nil
        let assignment = assignment(of: job)
        assignment?.isRunning = false
        if !job.isStopping {
            assignment?.answer = answer
            owed.insert(lease)
            world.report.executions += 1
        }
        return machine?.finished(lease, answer, now: now) ?? []
    }

    private func received(_ parts: [[UInt8]], _ now: Timestamp) -> [WorkerMachine.Action] {
        guard let envelope = try? Envelope(parts: parts) else { return [] }  // Noise, as in the host.
        switch envelope.frame {
        case .acknowledge(let leases), .cancel(let leases, _): owed.subtract(leases)
        case .welcome where envelope.timeline != timeline: owed.removeAll()
        default: break
        }
        return machine?.received(envelope, now: now) ?? []
    }

    private func perform(_ action: WorkerMachine.Action) throws(Violation) {
        switch action {
        case .connect:
            port.connect(world.network.connect(self, listener: .work), world.network)
            machine?.keyShown(world.keyKeeper?.key(of: self))
        case .checkKey:
            for action in machine?.keyFound(world.keyKeeper?.key(of: self), now: localNow) ?? [] { try perform(action) }
        case .disconnect: port.disconnect(world.network)
        case .send(let envelope):
            try world.checker.workerSends(envelope, self, on: port.link)
            port.send(envelope, world.network)
        case .start(let task, let timeline): try start(task, in: timeline)
        case .cancel(let lease): stop(lease)
        case .acknowledged(let mark):
            try world.checker.require(
                running[mark.lease]?.streamPlan != nil, .i16, expected: "word of a stream that \(name) has", seen: "\(mark)")
            running[mark.lease]?.streamPlan?.window.acknowledged(through: mark.index)
        case .refused(let error):
            try world.checker.require(
                world.swarm.isHarsh || error.code == .forbidden, .i9, expected: "\(name) to be taken",
                seen: "it is refused: \(error)")
            world.workerDied(self, "refused: \(error)")
        case .stop:
            port.disconnect(world.network, gracefully: true)
            world.workerDied(self, "drained")
        case .note(let text), .keyRefused(let text): world.note("\(name): \(text)")
        }
    }

    private func start(_ task: JobTask, in timeline: Timeline) throws(Violation) {
        try world.checker.started(task, in: timeline, self)
        let effect: ModelProgram.Effect
        do {
            effect = try MessagePackDecoder().decode(ModelProgram.Effect.self, from: task.payload)
        } catch {
            return try world.checker.require(false, .i6, expected: "an effect of this program", seen: "\(error)")
        }
        let streamPlan = effect.work.isStreaming ? StreamPlan(of: effect, resume: task.resume, &random) : nil
        let job = Running(
            task: task, in: timeline, execution: Execution(of: effect, attempt: task.attempt, &random), streamPlan: streamPlan)
        running[task.lease] = job
        try world.checker.require(
            running.count <= slots, .i10, expected: "\(slots) jobs at once", seen: "\(running.count) in \(name)")
        if let streamPlan { return world.plan(for: self, at: world.now + streamPlan.pause) { [self] in jobStreams(job) } }
        if case .never = job.execution.end { return }
        world.plan(for: self, at: world.now + job.execution.duration) { [self] in jobEnded(job) }
    }

    /// A handler that is told to stop ends when it notices, if it does; when faults have ended, it does.
    private func stop(_ lease: Lease) {
        guard let job = running[lease], !job.isStopping else { return }
        job.stoppedAt = world.now
        assignment(of: job)?.isRunning = false
        let pause = random.about(20 * milliseconds)
        world.plan(for: self, at: world.now + (job.isStubborn && world.isFaulty ? 8 * seconds : pause)) { [self] in jobEnded(job) }
    }

    // MARK: Strangers

    /// Answers of jobs that this worker was never given.
    func forge() {
        guard let link = port.link, link.state == .open, let effect = world.checker.reference.open.keys.min() else { return }
        let lease = world.checker.reference.leases(of: effect).last ?? Lease(start: 1, counter: 1)
        let message = packed(ModelProgram.Message.answered(0, resultID: random.word()))
        let answer: JobResult.Answer =
            random.chance(0.5) ? .done([message]) : .streamed(index: 1, message: message, checkpoint: nil)
        let result = JobResult(effect: effect, lease: lease, token: random.word(), answer: answer)
        let envelope = Envelope(.result([result], credit: 0), timeline: world.checker.reference.timeline)
        world.note("\(name) forges an answer for effect \(effect)")
        world.network.send(envelope.parts, on: link, .toStore)
        world.count(.forgery)
    }
}
