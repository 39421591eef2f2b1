import SamovarCore
import SamovarWire

/// Workers: who is there, what they told, and what they are told of it.
///
/// Answers and streamed messages are believed by their tokens and wait in the order in which they came; each is an item that becomes
/// turns when it is taken. What becomes of the effects is decided by the `EffectScheduler`.
///
/// The messages of an effect are numbered over all its attempts, and applied in order: a number that was applied is
/// acknowledged and not applied again, whoever sends it. A number beyond the next is left alone: what lies between is under
/// way again. Only the newest attempt is believed, or two attempts that differ could mix their messages, also where that one's worker
/// is gone (`Dispatcher.isOutdated`); and where messages of an attempt were not believed, its answer is not, or it would be one that lacks what
/// came before it.
///
/// | a worker | not here | connected |
/// |---|---|---|
/// | `greet` | joined; what it can prove to hold is its own | the same, also at another route, where it is from now on |
/// | `greet` of another at its route | – | the same as GOODBYE |
/// | `received`: results | – | they wait; `takeAnswer` |
/// | `received`: GOODBYE | – | it leaves, and what it holds goes to others |
/// | `ended` | it has left by record | the same as GOODBYE, and what it had started is suspected |
struct Workers {
    private let settings: StoreSettings
    private(set) var connections = Connections()
    private var owners = WorkerOwners()
    private(set) var answers = AnswerQueue()
    private(set) var streamMarks = StreamMarks()
    /// Attempts of which a streamed message came when it was not believed any more: an answer of theirs would lack it.
    private(set) var rejectedStreams = NewestLeases()
    /// Answers of jobs that were taken, and how many of them changed nothing.
    private(set) var results = 0
    private(set) var lateResults = 0
    /// Answers, and what was overdue, that were taken one after the other, with nothing else in between.
    var aheadOfOthers = 0
    /// After so many, one item of something else has its turn: an input and a timer wait for a moment behind a full load, which hardly
    /// notices.
    static let aheadAtMost = 8
    /// How often that was.
    var interruptions = 0
    /// Items that were taken one after the other ahead of all inputs, with nothing in between but those.
    var aheadOfInputs = 0
    /// Turns that answers gave.
    private(set) var applied = 0
    private(set) var deadWorkers = 0

    init(_ settings: StoreSettings) {
        self.settings = settings
    }

    // MARK: Coming and going

    /// Whether a worker's identity is for this key, or for none.
    func admits(_ id: WorkerID, by sender: Sender?, _ turns: borrowing Turns) -> Bool {
        owners.admits(id, sender?.name, turns.state)
    }

    /// - Parameters:
    ///   - identity: with which the worker came.
    ///   - sender: its key, which its identity is for.
    mutating func greet(
        _ hello: Hello, _ offer: WorkerOffer, of seen: Timeline, by identity: Identity, _ sender: Sender?, at route: Route,
        now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        let id = offer.id
        let current = scheduler.dispatcher.workers[id]?.route
        if connections.isRepeated(hello.epoch, of: id, at: route, current: current) {
            return welcome(hello, at: route, turns, &out)
        }
        guard connections.isNewest(hello.epoch, of: id, at: route, current: current) else {
            return out.send(.error(.superseded), to: route, floor: .none)
        }
        if let current, current != route {
            out.send(.error(PeerError(.superseded, "another connection uses this worker's identity")), to: current, floor: .none)
            forget(current, now: now, &scheduler, turns, &out)
        }
        if !turns.state.joined.contains(id) || turns.state.missing[id] != nil {
            turns.write(.workerJoined(id), sender: sender, now: now)
        }
        // What was sent there would come to this one now.
        if let other = connections[route], other != id { part(other, from: route, now: now, &scheduler, &turns, &out) }
        connections.connect(id, identity, at: route)
        let before = Set(scheduler.dispatcher.jobs(of: id)).subtracting(answered(by: id, scheduler))
        scheduler.join(offer, takesProofs: hello.takesProofs, at: route, now: now)
        welcome(hello, at: route, turns, &out)
        let claimed = seen == out.identity.timeline ? try adopt(offer, at: route, now: now, &scheduler, turns, &out) : []
        // Handed out, and never arrived: the frame was lost with the connection.
        for effect in before.subtracting(claimed).sorted() { scheduler.giveBack(effect, in: turns.state.ledger, now: now) }
        noLongerAwaited(id, now: now, &scheduler, &turns, &out)
    }

    private func welcome(_ hello: Hello, at route: Route, _ turns: borrowing Turns, _ out: inout Outlet) {
        let welcome = Welcome(
            schema: turns.state.engine.schema, start: turns.state.starts, head: out.durable, silence: settings.silence)
        out.open(route)
        out.send(.welcome(welcome), isProven: hello.takesProofs, to: route, floor: .turn(turns.head))
    }

    /// A worker is dead, or silent and so taken for dead. Its jobs go to others at once, and what it had started is suspected.
    ///
    /// - Parameter evidence: of its death, as its supervisor saw it; nil if it is silent.
    mutating func ended(
        _ id: WorkerID, evidence: String?, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns,
        _ out: inout Outlet
    ) throws(StopReason) {
        if let worker = scheduler.dispatcher.workers[id] {
            deadWorkers += 1
            let silence = "is taken for dead: silent for \(settings.silence.components.seconds) s"
            let what = evidence.map { "is dead: \($0)" } ?? silence
            out.note(.warning, "worker \(id) \(what); \(count(worker.running, "job")) taken back")
            let (isIsolated, slots) = (worker.isIsolated, worker.slots)
            let unsent = Set(scheduler.dispatcher.unsent(of: id))
            let jobs = leave(id, as: .lost, from: worker.route, now: now, &scheduler, &turns, &out)
            // Only what it had started can have killed it, and it starts its jobs in order.
            let started = jobs.lazy.filter { !unsent.contains($0) }.prefix(slots)
            let suspected = Set(started)
            try scheduler.ended(
                started: Array(started), rest: jobs.filter { !suspected.contains($0) }, evidence: evidence, isIsolated: isIsolated,
                now: now, &turns, &out)
        } else {
            writeLeft(id, now: now, &turns)
        }
        noLongerAwaited(id, now: now, &scheduler, &turns, &out)
    }

    /// Removes a worker; returns what it held beyond its answers, which may still wait for their turn.
    private mutating func leave(
        _ id: WorkerID, as outcome: AttemptOutcome, from route: Route, now: Timestamp, _ scheduler: inout EffectScheduler,
        _ turns: inout Turns, _ out: inout Outlet
    ) -> [EffectID] {
        writeLeft(id, now: now, &turns)
        let answered = answered(by: id, scheduler)
        scheduler.answeredByGone.formUnion(answered)
        let jobs = scheduler.dispatcher.leave(id, as: outcome, answered: answered).filter { !answered.contains($0) }
        connections.forget(id)
        forget(route, now: now, &scheduler, turns, &out)
        return jobs
    }

    /// A worker goes that has said HELLO, so that nothing is held for it, and nobody suspects its jobs of anything.
    private mutating func part(
        _ id: WorkerID, from route: Route, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns,
        _ out: inout Outlet
    ) {
        for effect in leave(id, as: .returned, from: route, now: now, &scheduler, &turns, &out) {
            scheduler.giveBack(effect, in: turns.state.ledger, now: now)
        }
    }

    private mutating func writeLeft(_ id: WorkerID, now: Timestamp, _ turns: inout Turns) {
        guard turns.state.joined.contains(id) else { return }
        owners.left(id, turns.state.workerKeys[id])
        turns.write(.workerLeft(id), now: now)
    }

    /// Lets the effects of before a restart go, once nobody can be running them unseen. Who has not come back by then has left.
    mutating func releaseHeld(now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet) {
        for id in scheduler.releaseHeld(in: turns.state, isHeldUp: turns.outage != nil, now: now) {
            out.note(.warning, "worker \(id) of before the restart has not come back; its jobs go to others")
            writeLeft(id, now: now, &turns)
        }
    }

    private mutating func noLongerAwaited(
        _ id: WorkerID, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) {
        if scheduler.noLongerAwaits(id) { releaseHeld(now: now, &scheduler, &turns, &out) }
    }

    /// Sends away workers whose key does not allow them any more. Their jobs go to others; nobody suspects these of anything. One that has
    /// another key comes back to its jobs, unless it is silent for too long.
    ///
    /// - Parameters:
    ///   - objection: why a key may not serve these queues as a worker of this owner; nil if it may.
    ///   - isRenewed: another key of this name may.
    mutating func enforce(
        _ objection: (Identity, [Queue], _ owner: KeyName?) -> PeerError?, isRenewed: (KeyName, [Queue]) -> Bool, now: Timestamp,
        _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) {
        for route in connections.routes {
            guard let identity = connections.identity(at: route), let id = connections[route] else { continue }
            let queues = scheduler.dispatcher.workers[id]?.queues ?? []
            let owner = turns.state.workerKeys[id]
            guard let error = objection(identity, queues, owner) else { continue }
            out.close(route, error)
            if let name = owner, isRenewed(name, queues) {
                scheduler.dispatcher.setLeaving(id)
                forget(route, now: now, &scheduler, turns, &out)
                continue
            }
            part(id, from: route, now: now, &scheduler, &turns, &out)
        }
    }

    /// A connection is gone; nothing is told there any more, and what its worker has not seen goes to others.
    private mutating func forget(
        _ route: Route, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: borrowing Turns, _ out: inout Outlet
    ) {
        out.mute(route)
        if let id = connections.disconnect(route) { scheduler.giveBackUnsent(of: id, in: turns.state.ledger, now: now) }
        answers.disconnect(route)
        streamMarks.remove(route)
    }

    // MARK: Frames

    mutating func received(
        _ frame: Frame, from id: WorkerID, at route: Route, now: Timestamp, _ scheduler: inout EffectScheduler,
        _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        switch frame {
        case .ping(let credit):
            scheduler.dispatcher.heard(id, credit: credit, now: now)
            guard let worker = scheduler.dispatcher.workers[id] else { return }
            // Tasks that wait for the disk have not left: counted, they would be missed.
            let sent = worker.sent - scheduler.dispatcher.unsent(of: id).count
            out.send(.pong(sent), isProven: worker.takesProofs, to: route, floor: .none)
        case .credit(let credit): scheduler.dispatcher.heard(id, credit: credit, now: now)
        case .result(let results, let credit):
            scheduler.dispatcher.heard(id, credit: credit, now: now)
            guard let worker = scheduler.dispatcher.workers[id] else { return }
            try receive(results, of: worker, &scheduler, &out)
        case .progress(let reports):
            scheduler.dispatcher.heard(id, credit: nil, now: now)
            for report in reports { scheduler.dispatcher.note(report, of: id) }
        case .drain: scheduler.dispatcher.setLeaving(id)
        case .goodbye: part(id, from: route, now: now, &scheduler, &turns, &out)
        default: out.misuse("\(frame.kind) is not for workers to send", route)
        }
    }

    /// Tells a worker how many CANCELs it was sent, behind those that wait for the disk.
    func countCancels(of id: WorkerID, _ scheduler: EffectScheduler, head: Int, _ out: inout Outlet) {
        guard let worker = scheduler.dispatcher.workers[id], worker.cancels > 0 else { return }
        out.send(.cancel([], number: worker.cancels), to: worker.route, floor: .turn(head))
    }

    private mutating func receive(
        _ results: JobResults, of worker: Dispatcher.WorkerState, _ scheduler: inout EffectScheduler, _ out: inout Outlet
    ) throws(StopReason) {
        var invalid: Set<Int> = []
        for (number, row) in results.rows.enumerated() {
            let place = scheduler.dispatcher.places.number(of: row.effect, under: row.lease)
            if !isGenuine(row.effect, row.lease, row.token, at: place, scheduler, out.identity) {
                out.drop("worker \(worker.id) answers a job that this store never gave", from: worker.route)
                invalid.insert(number)
            } else if case .other = row.answer, case .streamed(index: 0, message: _, checkpoint: _) = results.answer(of: row) {
                out.misuse("there is no streamed message 0: they are numbered from 1", worker.route)
                invalid.insert(number)
            } else {
                try out.requireTail(provenBy: row.effect.turn, what: "worker \(worker.id)")
                if let place, results.index(of: row) == 0 { scheduler.dispatcher.answered(at: place) }
            }
        }
        let valid = invalid.isEmpty ? results : JobResults(results.indices.filter { !invalid.contains($0) }.map { results[$0] })
        answers.append(valid, of: worker)
        answers.removeRepeated(beyond: settings.answersUnsifted, bytes: settings.answerBytesUnsifted)
    }

    // MARK: Answers

    /// The turn of the next answer. Where the effect is closed already, or the attempt is not current, it changes nothing, and the worker
    /// may forget it. An attempt is current if it is not over on record, and no other holds the effect: so a greater lease fences a smaller
    /// one. A worker that has left meanwhile holds nothing, but its answer counts as long as nobody else has the effect.
    mutating func takeAnswer(
        now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        guard let row = answers.popFirst() else { return }
        aheadOfOthers += 1
        guard case .message(let place) = row.answer else {
            return try take(answers.answer(of: row), of: row, now: now, &scheduler, &turns, &out)
        }
        guard let (root, meter) = current(row, &scheduler, turns), !rejectedStreams.contains(row.lease, of: row.effect) else {
            return reject(row, now, &scheduler, turns)
        }
        let origin = Origin.effect(row.effect, lease: row.lease, index: 0)
        let message = EngineMessage(
            bytes: answers.message(at: place), origin: origin, role: .closes, checkpoint: nil, root: root)
        try apply(.message(message), origin, of: row, root: root, answering: meter, now: now, &scheduler, &turns, &out)
    }

    /// The same for what is not an answer of one message. Never inlined: the code of the usual answer stays together.
    @inline(never)
    private mutating func take(
        _ answer: JobResult.Answer, of row: JobResults.Row, now: Timestamp, _ scheduler: inout EffectScheduler,
        _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        let (id, lease) = (row.effect, row.lease)
        if case .streamed(let index, let message, let checkpoint) = answer {
            return try take(message, index, checkpoint, of: row, now: now, &scheduler, &turns, &out)
        }
        guard let (root, meter) = current(row, &scheduler, turns) else { return reject(row, now, &scheduler, turns) }
        switch answer {
        // Messages that its job has streamed have not all come. Whoever streamed them does not hold the effect any more.
        case .done where rejectedStreams.contains(lease, of: id): reject(row, now, &scheduler, turns)
        case .done(let messages) where messages.isEmpty:
            scheduler.close(answered: id, meter: meter)
            turns.write(.done(id), root: root, now: now)
        case .done(let messages):
            let origin = Origin.effect(id, lease: lease, index: 0)
            let input = EngineInput.answer(messages, id, lease, root: root)
            try apply(input, origin, of: row, root: root, answering: meter, now: now, &scheduler, &turns, &out)
        case .failed(let reason, let text, let isPermanent):
            try scheduler.attemptFailed(id, reason, text, lease: lease, isPermanent: isPermanent, now: now, &turns, &out)
        case .returned: scheduler.giveBack(id, in: turns.state.ledger, now: now)
        case .streamed: break
        }
    }

    /// The root of the effect that was answered, and the number of its queue; nil if this attempt is not current. Inlined, or both parts would
    /// be moved for the call.
    @inline(__always)
    private mutating func current(
        _ row: JobResults.Row, _ scheduler: inout EffectScheduler, _ turns: borrowing Turns
    ) -> (root: Int, meter: Int)? {
        results += 1
        if !scheduler.answeredByGone.isEmpty { scheduler.answeredByGone.remove(row.effect) }
        // Not the effect, whose references would be counted, but what nearly all answers need of it.
        let effect = turns.state.ledger.open.withEffect(row.effect) { ($0.root, $0.isOver(under: row.lease)) }
        guard let (root, isOver) = effect, !isOver else { return outdated(row.lease, isHeldUp: turns.outage != nil) }
        let meter: Int
        switch scheduler.dispatcher.holder(of: row.effect, beside: row.lease) {
        case .same(let number): meter = number
        case .another: return outdated(row.lease, isHeldUp: turns.outage != nil)
        case .nobody: meter = scheduler.meter(ofUnheld: row.effect, in: turns.state.ledger)
        }
        answers.acknowledge(row.lease)
        return (root, meter)
    }

    /// An answer of an attempt that is not current, perhaps one that was taken and is sent again. While commits wait, its worker is not told so:
    /// it would send it again all the same, and what it is told would gather at the gate.
    private mutating func outdated(_ lease: Lease, isHeldUp: Bool) -> (root: Int, meter: Int)? {
        if !isHeldUp { answers.acknowledge(lease) }
        return nil
    }

    /// The answer changes nothing.
    private mutating func reject(
        _ row: JobResults.Row, _ now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: borrowing Turns
    ) {
        lateResults += 1
        if answers.hasEnd(of: row.effect, after: row.lease) { return }
        scheduler.offerIfNowhere(row.effect, in: turns.state.ledger, now: now)
    }

    /// Applies what an attempt has sent, which is current.
    ///
    /// - Parameter meter: the number of the queue of the effect that is answered; nil for a message that is streamed.
    private mutating func apply(
        _ input: borrowing EngineInput, _ origin: Origin, of row: JobResults.Row, root: Int, answering meter: Int?, now: Timestamp,
        _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        let (id, lease) = (row.effect, row.lease)
        let before = turns.head
        switch try turns.take(.answer(id), input, origin, root: root, now: now, &out) {
        case .applied:
            applied += turns.head - before
            if let meter { scheduler.close(answered: id, meter: meter) }
            scheduler.enterOrders(now: now, &turns)
        case .givenUp: scheduler.giveUp(id, in: turns.state.ledger)
        case .refused, .unhandled: break
        case .unreadable(let error):
            // A job that streams has not ended.
            if meter == nil, let holder = scheduler.dispatcher.assignment(of: id) { scheduler.cancel(holder) }
            let what = meter == nil ? "a streamed message is not one" : "the answer is not a message"
            let text = "\(what) of this program: \(error)"
            try scheduler.attemptFailed(id, .unhandled, text, lease: lease, isPermanent: true, now: now, &turns, &out)
        }
    }

    // MARK: Streams

    private mutating func take(
        _ message: [UInt8], _ index: Int, _ checkpoint: [UInt8]?, of row: JobResults.Row, now: Timestamp,
        _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        guard let worker = answers.worker else { return }
        let route = worker.route
        // Who has gone since it sent this is told nothing.
        let isThere = connections[route] != nil
        let (id, lease) = (row.effect, row.lease)
        let mark = StreamMark(lease: lease, index: index)
        let effect = turns.state.ledger.open[id]
        let last = effect?.place?.index ?? 0
        guard let effect, !effect.isOver(under: lease), !scheduler.dispatcher.isHeld(id, underOtherThan: lease),
            index <= last || !scheduler.dispatcher.isOutdated(lease, of: id)
        else {
            if isThere { streamMarks.note(mark, for: route) }
            lateResults += 1
            guard let effect else { return }
            // A duplicate: it was applied, and its acknowledgement was lost. Nothing of this attempt is missing.
            if index <= last, !effect.isOver(under: lease) { return }
            // It leaves before the acknowledgement: a worker that has not heard of it tells all of it again.
            if isThere { scheduler.cancel(lease, at: worker.id) }
            // The answer of one that is over does not count anyway.
            if !effect.isOver(under: lease) { rejectedStreams.insert(lease, of: id) }
            if scheduler.dispatcher.assignment(of: id)?.lease == lease { scheduler.giveBack(id, in: turns.state.ledger, now: now) }
            return
        }
        guard index <= last + 1 else { return }
        if isThere { streamMarks.note(mark, isOfSource: effect.isSource, for: route) }
        guard index > last else { return }
        let origin = Origin.effect(id, lease: lease, index: index)
        let input = EngineInput.message(
            EngineMessage(bytes: message[...], origin: origin, role: .streamed, checkpoint: checkpoint, root: effect.root))
        try apply(input, origin, of: row, root: effect.root, answering: nil, now: now, &scheduler, &turns, &out)
    }

    /// At the end of the items of a round: the last frame may have been taken whole.
    mutating func letGo() { answers.letGo() }

    /// Tells workers of what was taken in this round.
    ///
    /// - Parameter isOverLimit: too many effects are open.
    mutating func acknowledge(head: Int, isOverLimit: Bool, _ out: inout Outlet) {
        let floor = Floor.turn(head)
        for (route, marks) in streamMarks.takeDue(isOverLimit: isOverLimit) {
            out.send(.streamed(marks), to: route, floor: floor)
        }
        for worker in answers.acknowledged where !worker.acknowledged.isEmpty {
            out.send(.acknowledge(worker.acknowledged), isProven: worker.takesProofs, to: worker.route, floor: floor)
            worker.acknowledged = []
        }
        answers.endRound()
    }

    /// Called each tick.
    mutating func watchStreams(_ ledger: EffectLedger) {
        streamMarks.tick(results: results)
        rejectedStreams.keep { ledger.isKept($0) }
    }
}
