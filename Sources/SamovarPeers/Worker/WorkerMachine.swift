public import SamovarCore
public import SamovarWire

/// What a worker does with its jobs and its connection: which task starts, which answer is sent, and when it may leave.
///
/// The idea: a job belongs to the worker from the moment it arrives until its answer is acknowledged, and connections come and
/// go beside it. HELLO lists all that the worker holds; nothing else needs to survive a lost connection. Stopping jobs when the
/// connection is lost was rejected: a store is back in a second, and the answer it waits for is nearly ready.
///
/// The credit is absolute. It is the number of tasks, counted from HELLO, that the worker has room for: those it was sent, plus
/// the slots and the read-ahead, less the jobs it holds. So an ignored duplicate costs nothing. A task lost on the way shows in
/// the number of the next, or in PONG; the store would wait for it for ever, so the worker begins anew. So it does for a lost CANCEL, for
/// a handler that ends by nothing else would keep its slot.
///
/// A worker is stuck while each of its slots has a handler that goes on three seconds after it was told to stop. It grants no
/// credit, and gives back what it cannot start.
///
/// | | working | draining | leaving | stopped |
/// |---|---|---|---|---|
/// | TASK | a free slot: start; stuck: answered `returned`; else it waits | answered `returned` | answered `returned` | – |
/// | TASK, after others that are missing | begins anew | the same | the same | – |
/// | PONG that counts tasks which do not come for 3 s | begins anew | the same | the same | – |
/// | ACKNOWLEDGE | the answer is forgotten | the same; nothing held: goodbye, stop | the same | – |
/// | CANCEL | running: cancel; waiting, answered: forgotten | the same | the same | – |
/// | CANCEL, after others that are missing | the same, and begins anew | the same | the same | – |
/// | WELCOME | answers are sent again | the same | the same | – |
/// | WELCOME, another timeline | all jobs and answers are dropped | the same | the same | – |
/// | STREAMED | what was streamed is forgotten, there is room for more | the same | the same | – |
/// | streamed | kept, to be sent at once | the same | the same, if still wanted | – |
/// | finished | answer kept, the next task starts | answer kept | answer kept | – |
/// | ticked | out of time: cancel, answered; stuck: waiting tasks answered `returned` | the same; at a checkpoint: `returned`; at `until` all, leaving | at `until`: goodbye, stop | – |
/// | drain | DRAIN; waiting tasks, and those with a checkpoint, answered `returned`, draining | – | – | – |
/// | flush | RESULT with all new answers, or CREDIT | RESULT | RESULT | – |
/// | refused | all jobs cancelled, stopped | the same | the same | – |
///
/// The connection itself follows the table of ``Connection``.
///
/// A host calls, in each round of its loop: `received` for every frame, `finished` for every handler that ended, `ticked`, and
/// last `flush`; it carries the actions out in order.
public struct WorkerMachine: ~Copyable {
    enum State: Equatable {
        case working
        /// Running jobs may finish until then.
        case draining(until: Timestamp)
        /// The last answers may be acknowledged until then.
        case leaving(until: Timestamp)
        case stopped
    }

    private(set) var state = State.working
    private var connection: Connection
    var held: HeldJobs
    var outbox: Outbox
    var progress = ProgressBox()
    /// Running jobs whose last message came with a checkpoint: they may go on elsewhere at any time.
    var checkpointed: Set<Lease> = []
    private var tasks = TaskCount()
    /// The credit that the store was told since HELLO.
    private var credit = 0
    /// The greatest lease of this timeline that has come. Stores hand them out in rising order, so what is greater is new.
    private var newest: Lease?
    /// When what is not acknowledged is sent again, if any of this still waits then: acknowledgements of others say nothing of it.
    private var repetition: (due: Timestamp, of: Outbox.Oldest)?
    /// Why no store has let it in, and since when, until that is told: at first it is no news, for the store may only be starting.
    private var absence: (reasons: [String], since: Timestamp)?
    private static let patience = Duration.seconds(3)

    private let offer: WorkerOffer
    private let schema: Schema?
    private let capacity: Int
    let settings: Settings

    /// - Parameters:
    ///   - offer: the worker's identity, slots and queues; what it is running is the machine's to say.
    ///   - schema: the program of the handlers.
    ///   - readAhead: tasks that may wait beside the running ones: what the worker finishes in 10 ms, 0 for long jobs.
    ///   - epoch: a number beyond all that a process with the same identity may have used in its HELLOs.
    ///   - random: seeds the pauses between connections.
    public init(
        _ offer: WorkerOffer, schema: Schema?, readAhead: Int = 0, epoch: Int = 0, settings: Settings = .standard, random: Random
    ) {
        self.offer = offer
        self.schema = schema
        self.settings = settings
        capacity = max(1, offer.slots) + max(0, readAhead)
        connection = Connection(settings.connection, random: random, epoch: epoch)
        held = HeldJobs(slots: max(1, offer.slots))
        outbox = Outbox(limit: settings.frameBytes)
    }

    /// The store's timeline, which begins the idempotency key of each job; zero before the first WELCOME.
    public var timeline: Timeline { connection.timeline }
    public var isConnected: Bool { connection.isWelcomed }
    /// At how many places the store may be; the host says it as it learns it.
    public var places: Int {
        get { connection.places }
        set { connection.places = newValue }
    }
    /// Jobs that run or wait.
    public var jobs: Int { held.count }
    /// Answers that the store has not acknowledged.
    public var unacknowledged: Int { outbox.count }

    /// When `ticked` is to be called at the latest; nil for never.
    public var deadline: Timestamp? {
        guard state != .stopped else { return nil }
        let own: Timestamp? =
            switch state {
            case .working, .stopped: nil
            case .draining(let until), .leaving(let until): until
            }
        let progress = connection.isWelcomed ? progress.due : nil
        return earlier(earlier(connection.deadline, held.earliestTimeout), earlier(earlier(repetition?.due, progress), own))
    }

    private func earlier(_ a: Timestamp?, _ b: Timestamp?) -> Timestamp? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }
}

// MARK: - Events of the host

extension WorkerMachine {
    /// Time has passed.
    public mutating func ticked(now: Timestamp) -> [Action] {
        var actions: [Action] = []
        switch state {
        case .draining(let until) where now >= until: leave(now, &actions)
        // Those that have come to one since the drain began.
        case .draining: actions += giveBackCheckpointed(now)
        case .leaving(let until) where now >= until: stop(&actions)
        case .working, .leaving, .stopped: break
        }
        guard state != .stopped else { return actions }
        answerOverdue(now, &actions)
        perform(connection.ticked(now: now), now, &actions)
        if let (due, oldest) = repetition, now >= due {
            if outbox.holds(anyOf: oldest) { outbox.rewind() }
            awaitAcknowledgement(now)
        }
        return actions
    }

    /// A handler ended, with this answer.
    public mutating func finished(_ lease: Lease, _ answer: JobResult.Answer, now: Timestamp) -> [Action] {
        var actions: [Action] = []
        keep(answer, of: lease)
        let next = startNext(now: { now }, &actions)
        return (next.map { [.start($0.task, in: timeline)] } ?? []) + actions
    }

    /// The same, but appends to `actions`, and puts the next task of the slot into `job` instead of an action that starts it.
    ///
    /// - Parameters:
    ///   - now: asked only if it matters what time it is; to read the clock takes as long as the rest of this.
    ///   - job: to which nobody else refers.
    /// - Returns: whether a task has begun.
    public mutating func finished(
        _ lease: Lease, _ answer: JobResult.Answer, now: () -> Timestamp, into actions: inout [Action], next job: RunningJob
    ) -> Bool {
        keep(answer, of: lease)
        return startNext(now: now, &actions, job)
    }

    /// The same for an answer of one message, as most are. It is copied from where it stands.
    public mutating func finished(
        _ lease: Lease, message: UnsafeRawBufferPointer, now: () -> Timestamp, into actions: inout [Action], next job: RunningJob
    ) -> Bool {
        if JobResult.Answer.size(of: message.count, in: 1) > settings.answerBytes {
            keep(.done(MessageList(Array(message)[...])), of: lease)
        } else if let claim = finish(lease) {
            outbox.add(claim, message: message)
        }
        return startNext(now: now, &actions, job)
    }

    private mutating func keep(_ answer: JobResult.Answer, of lease: Lease) {
        guard let claim = finish(lease) else { return }
        if let replacement = answer.replacement(limit: settings.answerBytes) {
            outbox.add(claim, replacement)
        } else {
            outbox.add(claim, answer)
        }
    }

    private mutating func finish(_ lease: Lease) -> JobClaim? {
        if !checkpointed.isEmpty { checkpointed.remove(lease) }
        return held.finish(lease)
    }

    private mutating func startNext(
        now: () -> Timestamp, _ actions: inout [Action]
    ) -> (task: JobTask, hasTimeout: Bool)? {
        if state != .working { stopIfDone(&actions) }
        return held.startNext(now: now)
    }

    private mutating func startNext(now: () -> Timestamp, _ actions: inout [Action], _ job: RunningJob) -> Bool {
        guard let (task, hasTimeout) = startNext(now: now, &actions) else { return false }
        job.begin(task, hasTimeout: hasTimeout, in: connection.timeline)
        return true
    }

    /// Sends what has gathered since the last call: every new answer, and the credit.
    public mutating func flush(now: Timestamp) -> [Action] {
        guard connection.isWelcomed else { return [] }
        var actions: [Action] = []
        let granted = raiseCredit()
        if outbox.hasUnsent {
            sendAnswers(&actions)
            if repetition == nil { awaitAcknowledgement(now) }
        } else if granted {
            send(.credit(credit), &actions)
        }
        var reports = takeProgress(now)[...]
        while !reports.isEmpty {
            send(.progress(Array(reports.prefix(settings.frameReports))), &actions)
            reports = reports.dropFirst(settings.frameReports)
        }
        return actions
    }

    /// The transport knows that the connection is gone. Without this event, silence tells.
    public mutating func disconnected(now: Timestamp, because reason: Disconnection = .broken) -> [Action] {
        var actions: [Action] = []
        perform(connection.disconnected(now: now, because: reason), now, &actions)
        return actions
    }

    /// The host has read the key with which it connects; nil if it has none.
    public mutating func keyShown(_ key: Fingerprint?) { connection.keyShown(key) }

    /// After `checkKey`, the host has read the key again.
    public mutating func keyFound(_ key: Fingerprint?, now: Timestamp) -> [Action] {
        connection.keyFound(key, now: now).map { [.keyRefused($0)] } ?? []
    }

    /// Takes no more work; what runs may finish.
    public mutating func drain(now: Timestamp) -> [Action] {
        guard state == .working else { return [] }
        var actions: [Action] = []
        // A task that is given back must not come again: the credit that the store has is worth nothing from now on.
        if connection.isWelcomed { send(.drain, &actions) }
        giveBackWaiting()
        actions += giveBackCheckpointed(now)
        state = .draining(until: now + settings.drain)
        stopIfDone(&actions)
        return actions
    }
}

// MARK: - Frames of the store

extension WorkerMachine {
    /// A frame came from the store.
    public mutating func received(_ envelope: Envelope, now: Timestamp) -> [Action] {
        var actions: [Action] = []
        perform(connection.received(envelope, now: now), now, &actions)
        stopIfDone(&actions)
        return actions
    }

    private mutating func welcomed(left: Timeline?, _ now: Timestamp, _ actions: inout [Action]) {
        repetition = nil
        guard let left else { return outbox.rewind() }
        newest = nil
        let dropped = "dropped \(held.count) jobs and \(outbox.count) answers"
        actions.append(.note("the timeline is \(connection.timeline) and no more \(left): \(dropped)"))
        outbox.forgetAll()
        progress.forgetAll()
        _ = held.removeWaiting()
        actions += held.stopRunning(now: now).map { .cancel($0.lease) }
    }

    private mutating func take(_ frame: Frame, _ now: Timestamp, _ actions: inout [Action]) {
        switch frame {
        case .task(let tasks, let number): take(tasks, number: number, now, &actions)
        case .acknowledge(let leases):
            outbox.forget(leases)
            if !outbox.awaitsAcknowledgement { repetition = nil }
        case .cancel(let leases, let number):
            outbox.forget(leases)
            actions += held.cancel(leases, now: now).map { .cancel($0) }
            guard !tasks.takeCancel(number: number, isCount: leases.isEmpty), !isDone else { break }
            perform(connection.startOver("a CANCEL was lost", now: now), now, &actions)
        case .streamed(let marks):
            actions += acknowledged(marks)
            if !outbox.awaitsAcknowledgement { repetition = nil }
        case .drain: actions.append(.note("the store is about to stop"))
        case .pong(let sent):
            guard tasks.isIncomplete(sent: sent, now: now, patience: connection.silence / 2) else { break }
            perform(connection.startOver("a TASK was lost", now: now), now, &actions)
        default: actions.append(.note("dropped a \(frame.kind), which is not for workers"))
        }
    }

    private mutating func take(_ tasks: [JobTask], number: Int, _ now: Timestamp, _ actions: inout [Action]) {
        switch self.tasks.take(tasks.count, number: number, credit: credit) {
        case .taken: break
        case .repeated: return actions.append(.note("dropped a TASK that came twice"))
        case .overdrawn: return perform(connection.startOver("the store overdrew its credit", now: now), now, &actions)
        case .incomplete: return perform(connection.startOver("a TASK was lost", now: now), now, &actions)
        }
        for task in tasks where isNew(task.lease) {
            newest = max(newest ?? task.lease, task.lease)
            connection.hasTold(of: task.effect.turn)
            switch state {
            case .working where !held.isStuck: held.add(task)
            case .working, .draining, .leaving, .stopped: outbox.add(JobClaim(task), .returned)
            }
        }
        while let (task, _) = held.startNext(now: { now }) { actions.append(.start(task, in: timeline)) }
    }

    /// Neither held nor answered. A handler of a timeline that was left may still have its slot, under a lease that comes anew.
    private func isNew(_ lease: Lease) -> Bool {
        guard let newest, lease <= newest else { return true }
        return !held.hasSlot(lease) && !held.isWaiting(lease) && !outbox.holds(lease)
    }

    private mutating func refused(_ error: PeerError, _ now: Timestamp, _ actions: inout [Action]) {
        state = .stopped
        _ = held.removeWaiting()
        actions += held.stopRunning(now: now).map { .cancel($0.lease) }
        if let wait = held.lastWait { actions.append(.note("the store refuses this worker: \(error); \(wait)")) }
        actions += [.disconnect, .refused(error)]
    }
}

// MARK: - Decisions

extension WorkerMachine {
    private mutating func perform(_ action: Connection.Action, _ now: Timestamp, _ actions: inout [Action]) {
        switch action {
        case .none: break
        case .open:
            actions.append(.connect)
            greet(&actions)
        case .greet: greet(&actions)
        case .ping: send(.ping(credit), &actions)
        case .note(let text): actions.append(.note(text))
        case .welcomed(_, let left): welcomed(left: left, now, &actions)
        case .answer(let frame): send(frame, &actions)
        case .deliver(let frame): take(frame, now, &actions)
        case .lost(let reason):
            repetition = nil
            actions.append(.disconnect)
            if timeline == .zero {
                tellAbsence(reason, now, &actions)
            } else if let reason {
                actions.append(.note("lost the store: \(reason)"))
            }
        case .checkKey:
            repetition = nil
            actions += [.disconnect, .checkKey]
        case .refused(let error): refused(error, now, &actions)
        }
    }

    private mutating func tellAbsence(_ reason: String?, _ now: Timestamp, _ actions: inout [Action]) {
        if let reason { absence = ((absence?.reasons ?? []) + [reason], absence?.since ?? now) }
        guard let known = absence, now - known.since >= Self.patience else { return }
        let reasons = known.reasons.joined(separator: "; ")
        actions.append(.note("no store has let this worker in so far, which is tried again: \(reasons)"))
        absence = nil
    }

    private mutating func greet(_ actions: inout [Action]) {
        tasks = TaskCount()
        credit = 0
        repetition = nil
        var offer = offer
        offer.running = (held.claims + outbox.claims).sorted { $0.lease < $1.lease }
        send(connection.hello(.worker(offer), schema: schema), &actions)
    }

    private mutating func awaitAcknowledgement(_ now: Timestamp) {
        repetition = outbox.awaitsAcknowledgement ? (now + connection.silence, outbox.oldest) : nil
    }

    /// Raises the credit to what there is room for; false if it stays.
    private mutating func raiseCredit() -> Bool {
        guard state == .working, !held.isStuck, outbox.bytes < settings.unacknowledgedBytes else { return false }
        let room = min(capacity - held.count, settings.unacknowledged - outbox.count)
        guard tasks.taken + room > credit else { return false }
        credit = tasks.taken + room
        return true
    }

    private mutating func answerOverdue(_ now: Timestamp, _ actions: inout [Action]) {
        let overdue = held.takeOverdue(now: now)
        for claim in overdue.outOfTime {
            actions.append(.cancel(claim.lease))
            outbox.add(claim, .failed(.timedOut, "the attempt ran out of time", permanent: false))
        }
        for claim in overdue.overstaying {
            let seconds = HeldJobs.patience.components.seconds
            let handler = "the handler of effect \(claim.effect)"
            actions.append(.note("\(handler) goes on \(seconds) s after it was told to stop, and keeps its slot"))
        }
        if state == .working, held.isStuck, !overdue.overstaying.isEmpty {
            actions.append(.note("no slot is left: this worker takes no more tasks until a handler ends"))
            giveBackWaiting()
        }
    }

    private mutating func giveBackWaiting() {
        for claim in held.removeWaiting() { outbox.add(claim, .returned) }
    }

    private mutating func leave(_ now: Timestamp, _ actions: inout [Action]) {
        for claim in held.stopRunning(now: now) {
            actions.append(.cancel(claim.lease))
            outbox.add(claim, .returned)
        }
        state = .leaving(until: now + settings.farewell)
    }

    /// It leaves, and has nothing left.
    private var isDone: Bool { state != .working && state != .stopped && held.isEmpty && outbox.isEmpty }

    private mutating func stopIfDone(_ actions: inout [Action]) {
        if isDone { stop(&actions) }
    }

    private mutating func stop(_ actions: inout [Action]) {
        if connection.isWelcomed {
            sendAnswers(&actions)
            send(.goodbye, &actions)
        }
        connection.close()
        state = .stopped
        if let wait = held.lastWait { actions.append(.note("this worker leaves; \(wait)")) }
        actions.append(.stop)
    }

    private mutating func sendAnswers(_ actions: inout [Action]) {
        for body in outbox.takeUnsent() {
            actions.append(.send(Envelope(written: .result, number: credit, body: body, timeline: connection.timeline)))
        }
    }

    private mutating func send(_ frame: Frame, _ actions: inout [Action]) {
        actions.append(.send(Envelope(frame, timeline: connection.timeline)))
    }
}
