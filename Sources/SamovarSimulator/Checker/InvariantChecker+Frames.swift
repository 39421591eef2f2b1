import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// What may leave a process.
extension InvariantChecker {
    // MARK: The store

    func storePublishes(_ envelope: Envelope, by store: StoreProcess) throws(Violation) {
        if !isFormer(store) {
            try requireHearers(envelope.frame)
            try requireNewest(envelope.frame)
        }
        try storeSends(envelope, to: nil, on: nil, by: store)
    }

    func storeSends(_ envelope: Envelope, to peer: Process?, on link: Link?, by store: StoreProcess) throws(Violation) {
        if isFormer(store) { return try formerSends(envelope, to: peer, on: link, by: store) }
        try requireMayHear(envelope.frame, on: link)
        try requireOrder(envelope.frame, to: peer, on: link)
        if let proof = envelope.proof { try reached(proof.turn, "a proof") }
        switch envelope.frame {
        case .receipt(let outcomes, _):
            guard let client = peer as? ClientProcess else { return }
            for outcome in outcomes { try check(outcome, of: client.session) }
        case .welcome(let welcome):
            try require(
                (1...max(1, reference.starts)).contains(welcome.start), .i8,
                expected: "WELCOME of a start up to \(reference.starts)", seen: "start \(welcome.start)")
            link?.credit.welcomed()
            link?.tasks.welcomed()
            link?.cancels = 0
            try check(welcome, to: peer)
        case .view(_, let turn, let bytes): try check(view: turn, bytes, .i5)
        case .tick(_, let head, let view, _): try reached(max(head, view), "a tick")
        case .waiting(let turn, _): try reached(turn, "what a settle request waits for")
        case .settled(let turn, _):
            try reached(turn, "a settled answer")
            // What was requeued since is open again.
            try require(
                reference.openByRoot[turn] == nil || reference.reopened[turn] ?? 0 > world.store.heard, .i6,
                expected: "no effect open under turn \(turn)", seen: "it is called settled")
        case .task(let tasks, let number):
            try check(tasks, number: number, on: link)
            // A task for a peer that has gone is handed out, too, and runs out of time.
            let worker = (peer as? WorkerProcess)?.id ?? .zero
            for task in tasks { try handOut(task, to: worker) }
            if let last = tasks.last { world.intruder?.overhears(last) }
        case .acknowledge(let leases): for lease in leases { try acknowledge(lease) }
        case .streamed(let marks): for mark in marks { try check(mark) }
        case .outputs(let page): try reached(page.outputs.last?.id.turn ?? 0, "outputs")
        case .reply(let reply) where world.keyKeeper == nil || link?.peer is OperatorProcess: try check(reply)
        case .cancel(let leases, _): for lease in leases { reference.assignments[lease]?.isSettled = true }
        default: break
        }
    }

    /// Another store has taken the journal since, and this one may not know it.
    private func isFormer(_ store: StoreProcess) -> Bool {
        guard let database = world.database else { return false }
        return store.start < max(reference.starts, database.contents.row.epoch)
    }

    /// What a former owner tells is true as far as it goes: of turns on disk, and with leases of its own start.
    private func formerSends(
        _ envelope: Envelope, to peer: Process?, on link: Link?, by store: StoreProcess
    ) throws(Violation) {
        if let proof = envelope.proof { try reached(proof.turn, "a proof") }
        switch envelope.frame {
        case .receipt(let outcomes, _):
            guard let client = peer as? ClientProcess else { return }
            for outcome in outcomes {
                try requireNext(outcome, of: client.session)
                try check(outcome, of: client.session)
            }
        case .welcome(let welcome):
            link?.credit.welcomed()
            link?.tasks.welcomed()
            link?.cancels = 0
            try reached(welcome.head, "a WELCOME")
        case .view(_, let turn, let bytes): try check(view: turn, bytes, .i5)
        case .tick(_, let head, let view, _): try reached(max(head, view), "a tick")
        case .task(let tasks, let number):
            _ = link?.tasks.send(tasks.count, through: number)
            for task in tasks { try formerHandsOut(task, to: (peer as? WorkerProcess)?.id ?? .zero, by: store) }
        case .cancel(_, let number): link?.cancels = number
        case .acknowledge(let leases): for lease in leases { try acknowledge(lease) }
        case .streamed(let marks): for mark in marks { try check(mark) }
        case .outputs(let page): try reached(page.outputs.last?.id.turn ?? 0, "outputs")
        case .settled(let turn, _), .waiting(let turn, _): try reached(turn, "an answer about effects")
        default: break
        }
    }

    /// The owner does not know of it: it lets nobody wait for that worker longer than for any that is silent.
    private func formerHandsOut(_ task: JobTask, to worker: WorkerID, by store: StoreProcess) throws(Violation) {
        try require(
            reference.ordered[task.effect] == Array(task.payload), .i6, expected: "the effect that was ordered",
            seen: "another payload for effect \(task.effect)")
        try require(
            task.lease.start == store.start && reference.assignments[task.lease] == nil, .i8,
            expected: "a new lease of start \(store.start)", seen: "lease \(task.lease)")
        let assignment = Assignment(effect: task.effect, worker: worker)
        assignment.isAbandoned = true
        reference.assignments[task.lease] = assignment
        reference.assignmentsOf[task.effect, default: []].append(task.lease)
        reference.assignmentsOf[task.effect]?.sort()
    }

    /// The law of the gate.
    private func reached(_ turn: Int, _ what: String) throws(Violation) {
        try require(
            turn <= reference.last, .i5, expected: "nothing beyond turn \(reference.last), the last one on disk",
            seen: "\(what) of turn \(turn)")
    }

    private func check(_ outcome: Outcome, of session: SessionID) throws(Violation) {
        try reached(outcome.turn, "a receipt for input \(outcome.sequence)")
        let fates = reference.fates[session] ?? []
        let fate = fates.indices.contains(outcome.sequence - 1) ? fates[outcome.sequence - 1] : nil
        try require(
            fate?.turn == outcome.turn && fate?.verdict == outcome.verdict, .i1,
            expected: "what the journal says of input \(outcome.sequence): \(fate.map { "\($0)" } ?? "nothing")",
            seen: "a receipt: \(outcome)")
    }

    private func check(_ welcome: Welcome, to peer: Process?) throws(Violation) {
        try reached(welcome.head, "a WELCOME")
        if let worker = peer as? WorkerProcess { reference.missing.remove(worker.id) }
        guard let client = peer as? ClientProcess else { return }
        let hasEnded = reference.endedByInput.contains(client.session)
        let taken = reference.isOver(client.session) && !hasEnded ? 0 : reference.fates[client.session]?.count ?? 0
        if hasEnded { reference.count(.welcomedToEnd) }
        try require(
            welcome.expected <= taken + 1, .i5, expected: "WELCOME to expect at most input \(taken + 1) of \(client.name)",
            seen: "input \(welcome.expected)")
    }

    private func check(view turn: Int, _ bytes: [UInt8], _ invariant: Invariant) throws(Violation) {
        try reached(turn, "a view")
        try require(
            bytes == reference.view(at: turn), .i7, expected: "the view of turn \(turn), \(reference.states[turn].tally)",
            seen: "another one")
    }

    private func check(_ tasks: [JobTask], number: Int, on link: Link?) throws(Violation) {
        let limit = world.swarm.store.taskFrameBytes
        let bytes = tasks.reduce(0) { $0 + $1.payload.count }
        try require(
            tasks.count == 1 || bytes <= limit, .i10, expected: "frames of \(limit) bytes of tasks",
            seen: "\(tasks.count) tasks of \(bytes) bytes")
        guard let link, !world.swarm.isHarsh else { return }
        try require(
            number <= link.credit.limit, .i10, expected: "at most task \(link.credit.limit), the worker's credit",
            seen: "task \(number)")
    }

    private func handOut(_ task: JobTask, to worker: WorkerID) throws(Violation) {
        try require(
            reference.ordered[task.effect] != nil, .i5, expected: "tasks of effects that are on disk", seen: "effect \(task.effect)"
        )
        try require(
            reference.ordered[task.effect] == Array(task.payload), .i6, expected: "the effect that was ordered",
            seen: "another payload for effect \(task.effect)")
        try require(
            task.lease.start == reference.starts, .i8, expected: "leases of start \(reference.starts)", seen: "lease \(task.lease)")
        let earlier = reference.leases(of: task.effect)
        try require(
            reference.assignments[task.lease] == nil && earlier.allSatisfy { $0 < task.lease }, .i8,
            expected: "a lease greater than all before it", seen: "\(task.lease) for effect \(task.effect) after \(earlier)")
        try requireFree(task, earlier)
        try requireFree(task)
        try requireItsTurn(task)
        if task.resume != nil { reference.count(.resumed) }
        let assignment = Assignment(effect: task.effect, worker: worker)
        // Its worker was given up while the task waited for the disk.
        assignment.isAbandoned = !reference.workers.contains(worker)
        reference.assignments[task.lease] = assignment
        reference.assignmentsOf[task.effect, default: []].append(task.lease)
    }

    /// An effect that is still open when its task leaves has to be one that may run now, from where its stream ends.
    private func requireItsTurn(_ task: JobTask) throws(Violation) {
        guard let order = reference.open[task.effect], order.opened <= world.store.heard || !order.wasRequeued else { return }
        try require(
            task.resume == order.place, .i16,
            expected: "effect \(task.effect) to go on from \(order.place.map { "\($0)" } ?? "its beginning")",
            seen: "lease \(task.lease) from \(task.resume.map { "\($0)" } ?? "its beginning")")
        try require(
            !order.isOverLimit, .i15, expected: "effect \(task.effect) to fail, for it is one too many", seen: "lease \(task.lease)"
        )
        let early = (order.notBefore - reference.storeTime(at: world.now)).microseconds
        try require(
            early <= reference.drift(at: world.now), .i15, expected: "effect \(task.effect) to wait for its time",
            seen: "lease \(task.lease), \(early) µs early")
    }

    /// While a worker that is not known to be gone runs an effect, nobody else gets it.
    private func requireFree(_ task: JobTask, _ earlier: [Lease]) throws(Violation) {
        guard !world.swarm.isHarsh else { return }
        let failed = reference.open[task.effect]?.failed
        for lease in earlier {
            guard let assignment = reference.assignments[lease], assignment.isRunning, !assignment.isAbandoned,
                !assignment.isSettled
            else {
                continue
            }
            if let failed, lease <= failed { continue }
            try require(
                false, .i6,
                expected: "effect \(task.effect) to stay with worker \(assignment.worker), which runs it under lease \(lease)",
                seen: "it is handed out again under lease \(task.lease)")
        }
    }

    private func acknowledge(_ lease: Lease) throws(Violation) {
        guard let assignment = reference.assignments[lease] else {
            return try require(false, .i6, expected: "a lease that was handed out", seen: "acknowledgement of \(lease)")
        }
        assignment.isSettled = true
        // An attempt that was taken back, and its answer comes too late: another goes on.
        guard case .done? = assignment.answer, !reference.isFenced(lease, of: assignment.effect) else { return }
        try require(
            reference.closed[assignment.effect] != nil, .i5,
            expected: "the end of effect \(assignment.effect) to be on disk before its answer is acknowledged",
            seen: "acknowledgement of lease \(lease)")
    }

    // MARK: Peers

    func clientSends(_ envelope: Envelope, _ client: ClientProcess) throws(Violation) {
        try requireGreatestStart(envelope, client)
        guard case .send(let submissions, let confirmed) = envelope.frame else { return }
        for submission in submissions {
            guard let input = client.input(submission) else {
                try require(false, .i2, expected: "an input of \(client.name)", seen: "\(submission)")
                continue
            }
            let known = wire[client.session]?[envelope.timeline]?[submission.sequence]
            try require(
                known == nil || known?.inputID == input.inputID, .i12,
                expected: "input \(submission.sequence) to stay \(known.map { "\($0)" } ?? "")", seen: "\(input)")
            wire[client.session, default: [:]][envelope.timeline, default: [:]][submission.sequence] = input
            try require(
                submission.sequence <= confirmed + world.swarm.store.window, .i10,
                expected: "inputs within a window of \(world.swarm.store.window) beyond \(confirmed)",
                seen: "input \(submission.sequence)")
        }
    }

    func workerSends(_ envelope: Envelope, _ worker: WorkerProcess, on link: Link?) throws(Violation) {
        try requireGreatestStart(envelope, worker)
        switch envelope.frame {
        case .ping(let credit), .credit(let credit), .result(_, let credit): link?.credit.raise(to: credit)
        case .hello(let hello):
            link?.credit.greeted()
            guard case .worker(let offer) = hello.role, envelope.timeline == reference.timeline else { return }
            try requireClaims(Set(offer.running.map(\.lease)), of: worker)
        default: break
        }
    }

    /// As long as a peer lives, the start that it knows of a timeline never falls: it believes no store of an earlier one.
    private func requireGreatestStart(_ envelope: Envelope, _ peer: Process) throws(Violation) {
        guard case .hello(let hello) = envelope.frame, envelope.timeline != .zero else { return }
        let life = PeerLife(name: peer.name, incarnation: peer.incarnation, timeline: envelope.timeline)
        let known = starts[life] ?? 1
        try require(
            hello.start >= known, .i8, expected: "HELLO of \(peer.name) with start \(known) or later", seen: "start \(hello.start)")
        starts[life] = hello.start
    }

    /// A worker claims every job whose answer it owes.
    private func requireClaims(_ claims: Set<Lease>, of worker: WorkerProcess) throws(Violation) {
        for lease in worker.owed.sorted() {
            try require(
                claims.contains(lease), .i6, expected: "HELLO to claim lease \(lease), which is not acknowledged",
                seen: "claims of \(claims.sorted())")
        }
    }
}
