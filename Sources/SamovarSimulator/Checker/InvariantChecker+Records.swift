import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// What may stand in the journal.
extension InvariantChecker {
    func take(_ record: Record) throws(Violation) {
        try require(
            record.time >= reference.time, .i8, expected: "turn \(record.turn) not before \(reference.time.microseconds)",
            seen: "\(record.time.microseconds)")
        reference.time = record.time
        reference.endsDrained = false
        try requireSender(record)
        if let next = reference.announced.first {
            guard record.origin == next.origin, case .applied(next.message, _, _) = record.event else {
                return try require(
                    false, .i4, expected: "turn \(record.turn) to be that of \(next.origin), which was announced", seen: "\(record)"
                )
            }
            reference.announced.removeFirst()
            try takeEvent(record, isAnnounced: true)
        } else {
            try takeEvent(record, isAnnounced: false)
        }
        switch record.event {
        case .started, .applied, .streamed: if reference.announced.isEmpty { reference.listen(turn: record.turn, now: record.time) }
        default: break
        }
        reference.append(record)
        reference.moments.append(reference.instant(of: record.time))
    }

    private func takeEvent(_ record: Record, isAnnounced: Bool) throws(Violation) {
        switch record.event {
        case .started(let number, _, _, let seed): try started(number, seed: seed, record)
        case .applied(let bytes, _, let closes): try applied(bytes, closes: closes, isAnnounced: isAnnounced, record)
        case .streamed(let bytes, _, let checkpoint): try streamed(bytes, checkpoint: checkpoint, record)
        case .refused(let verdict): try refused(verdict, record)
        case .attemptFailed(let id, let reason, _, let notBefore):
            try attemptFailed(id, reason, record)
            reference.open[id]?.notBefore = notBefore
        case .done(let id):
            try answered(id, record, messages: [])
            ended(id, record)
        case .dead(let id, let failure): try died(id, failure, record)
        case .requeued(let id): try requeued(id, record)
        case .dropped(let id): try dropped(id, record)
        case .controlled(let control): try controlled(control, record)
        case .workerJoined(let id):
            try require(world.knownWorkers.contains(id), .i2, expected: "a worker of this world", seen: "worker \(id) joins")
            reference.workers.insert(id)
        case .workerLeft(let id):
            try requireReason(toLeave: id, record)
            if let head = world.store.headAtStop, record.turn > head { try requireIdle([id], record) }
            reference.workers.remove(id)
            reference.missing.remove(id)
            for assignment in reference.assignments.values where assignment.worker == id { assignment.isAbandoned = true }
        case .sessionExpired(let id): try expired(id, record)
        case .divergenceAccepted(let turn, _, _):
            try require(false, .i4, expected: "a program that does as it did", seen: "a divergence at turn \(turn)")
        case .quarantined(let text):
            try require(false, .i2, expected: "a program that ends no store", seen: "turn \(record.turn): \(text)")
        // Whoever replays it compares, and ends if it is another.
        case .stateDigest: break
        case .drained:
            try requireIdle(reference.workers, record)
            for id in reference.workers { reference.keys.owners[id] = nil }
            reference.workers.removeAll()
            reference.endsDrained = true
        }
    }

    /// A record of an orderly stop says that these workers hold no job: the next start does not wait for them.
    private func requireIdle(_ workers: Set<WorkerID>, _ record: Record) throws(Violation) {
        guard !world.swarm.isHarsh else { return }
        for (id, order) in reference.open.sorted(by: { $0.key < $1.key }) {
            let running = reference.leases(of: id).first { lease in
                guard order.failed.map({ lease > $0 }) ?? true, let holder = reference.assignments[lease] else { return false }
                return holder.isRunning && !holder.isAbandoned && !holder.isSettled && workers.contains(holder.worker)
            }
            guard let running else { continue }
            try require(
                false, .i6, expected: "no record of an orderly stop while effect \(id) runs",
                seen: "\(record.event), and lease \(running)")
        }
    }

    private func started(_ number: Int, seed: [UInt8], _ record: Record) throws(Violation) {
        let expected = world.swarm.hasStandby ? reference.epoch : reference.starts + 1
        try require(
            number == expected && number > reference.starts, .i8, expected: "start \(expected), after \(reference.starts)",
            seen: "start \(number)")
        reference.starts = number
        reference.startTime = record.time
        reference.startInstant = world.store.serviceInstant
        reference.startTurn = record.turn
        reference.missing = reference.workers
        reference.timerOracle.returned(now: record.time)
        (reference.deeds, reference.deedsTold, reference.repliesDone) = ([:], [:], [])
        for queue in reference.rates.keys { reference.rates[queue]?.restart(at: reference.startInstant) }
        for queue in reference.shares.keys { reference.shares[queue]?.restart() }
        guard record.turn == 1 else { return }
        let turn = Turn(number: record.turn, now: record.time, origin: .store, secret: reference.secret)
        do {
            let next = try ModelProgram.start(ModelProgram.Seed(viewBytes: reference.state.viewBytes), turn)
            reference.state = next.state
            reference.take(next.command, of: turn, root: record.root)
        } catch {
            try require(false, .i4, expected: "a seed that the program takes", seen: "\(error)")
        }
    }

    // MARK: Messages

    private func applied(_ bytes: [UInt8], closes: Bool, isAnnounced: Bool, _ record: Record) throws(Violation) {
        let message: ModelProgram.Message
        do {
            message = try MessagePackDecoder().decode(ModelProgram.Message.self, from: bytes)
        } catch {
            return try require(false, .i2, expected: "a message at turn \(record.turn)", seen: "\(error)")
        }
        switch record.origin {
        case .client(let session, let sequence):
            let input = try input(session, sequence, record)
            try require(
                input.message == message, .i2, expected: "the message of \(input)", seen: "\(message) at turn \(record.turn)")
            try require(allows(input, record), .i21, expected: "\(input) not to be taken with its key", seen: "\(record)")
            try require(
                closes == input.endsSession, .i3, expected: "the session to \(input.endsSession ? "end" : "go on") with \(input)",
                seen: "closes: \(closes), at turn \(record.turn)")
            try decided(ReferenceModel.Fate(turn: record.turn, inputID: input.inputID, verdict: .applied), session)
            if closes { ended(session) }
        case .effect(let id, _, let index):
            try answered(id, record, message: bytes, at: index, closes: closes)
        case .failure(let id):
            if isAnnounced { try noticed(id, closes: closes, record) } else { try failed(id, closes: closes, record) }
        case .subscription(let id, let nominal): try fired(id, nominal: nominal, message, record)
        case .operator where isAnnounced: reference.count(.heardOfOperator)
        case .followUp where isAnnounced: break
        case .store, .operator, .followUp:
            try require(false, .i2, expected: "somebody who sent it", seen: "\(message) at turn \(record.turn) of \(record.origin)")
        }
        // An effect is closed before its answer orders another with its label.
        switch record.origin {
        case .effect(let id, _, _), .failure(let id): if closes { ended(id, record) }
        default: break
        }
        apply(message, record)
    }

    func apply(_ bytes: [UInt8], _ record: Record) throws(Violation) {
        do {
            apply(try MessagePackDecoder().decode(ModelProgram.Message.self, from: bytes), record)
        } catch {
            try require(false, .i2, expected: "a message at turn \(record.turn)", seen: "\(error)")
        }
    }

    private func apply(_ message: ModelProgram.Message, _ record: Record) {
        let turn = Turn(
            number: record.turn, now: record.time, origin: record.origin, sender: record.sender, secret: reference.secret)
        reference.apply(message, turn, root: record.root)
    }

    private func refused(_ verdict: Outcome.Verdict, _ record: Record) throws(Violation) {
        guard case .client(let session, let sequence) = record.origin else {
            return try require(false, .i2, expected: "an input", seen: "a refusal of \(record.origin)")
        }
        let input = try input(session, sequence, record)
        let isAllowed = allows(input, record)
        if !isAllowed, case .rejected = verdict { reference.count(.rejectedForKey) }
        try require(
            input.message == nil || !isAllowed, .i2, expected: "\(input) to be applied", seen: "\(verdict) at turn \(record.turn)")
        if case .refused(let bytes) = verdict {
            try require(
                bytes == packed(ModelProgram.Refusal(inputID: input.inputID)), .i2, expected: "the refusal of \(input)",
                seen: "another one")
        }
        try decided(ReferenceModel.Fate(turn: record.turn, inputID: input.inputID, verdict: verdict), session)
    }

    private func input(_ session: SessionID, _ sequence: Int, _ record: Record) throws(Violation) -> ClientProcess.Input {
        try require(
            !reference.isOver(session), .i3, expected: "no input of session \(session), which is over",
            seen: "input \(sequence) at turn \(record.turn)")
        let next = reference.fates[session, default: []].count + 1
        try require(
            sequence == next, .i3, expected: "input \(next) of session \(session)", seen: "input \(sequence) at turn \(record.turn)"
        )
        guard let input = wire[session]?[reference.timeline]?[sequence] else {
            throw Violation(
                invariant: .i2, time: world.now, expected: "an input that its client sent",
                seen: "input \(sequence) of session \(session) at turn \(record.turn)")
        }
        return input
    }

    private func decided(_ fate: ReferenceModel.Fate, _ session: SessionID) throws(Violation) {
        try require(
            reference.inputIDs.insert(fate.inputID).inserted, .i3, expected: "input \(fate.inputID) once",
            seen: "it again at turn \(fate.turn)")
        reference.fates[session, default: []].append(fate)
        reference.fateAt[fate.turn] = fate
    }

    private func ended(_ session: SessionID) {
        reference.expired.insert(session)
        reference.endedByInput.insert(session)
        reference.count(.endedByInput)
    }

    private func expired(_ session: SessionID, _ record: Record) throws(Violation) {
        try require(
            reference.fates[session] != nil && !reference.isOver(session), .i3, expected: "a session that there is",
            seen: "the end of \(session)")
        let silence = silence(of: session, at: record) ?? .max
        let hasLeft = world.leavers.contains(session) || reference.keys.farewells.contains(session)
        let isRevoked = isRevoked(session, at: record.turn)
        if isRevoked { reference.count(.endedByRevocation) }
        try require(
            hasLeft || isRevoked || silence >= world.swarm.store.sessionIdle.microseconds * 9 / 10, .i3,
            expected: "session \(session) to be kept, it was heard of \(describe(silence)) s ago", seen: "its end")
        reference.expired.insert(session)
    }

    // MARK: Effects

    /// An effect ends with an answer that its worker gave under this lease.
    private func answered(_ id: EffectID, _ record: Record, messages: MessageList) throws(Violation) {
        try require(reference.open[id] != nil, .i6, expected: "effect \(id) to end once", seen: "its end at turn \(record.turn)")
        // `done` does not say by which lease; one of them must have answered so.
        let answers = reference.leases(of: id).filter { reference.assignments[$0]?.answer == .done(messages) }
        if let last = answers.last, !answers.contains(where: { missingDrop(id, $0) == nil }) { try requireWhole(id, last, record) }
        try require(!answers.isEmpty, .i2, expected: "a worker that answered so", seen: "effect \(id) done at turn \(record.turn)")
        let fences = answers.compactMap { fence(of: id, $0) }
        try require(
            fences.count < answers.count, .i6, expected: "the answer of a current lease of effect \(id)",
            seen: "its end at turn \(record.turn), \(fences.first ?? "")")
    }

    private func answered(
        _ id: EffectID, _ record: Record, message: [UInt8], at index: Int, closes: Bool
    ) throws(Violation) {
        guard case .effect(_, let lease, _) = record.origin else { return }
        try require(
            reference.open[id] != nil, .i6, expected: "effect \(id) to be completed once",
            seen: "a second time at turn \(record.turn), lease \(lease)")
        guard let assignment = reference.assignments[lease], assignment.effect == id, case .done(let messages)? = assignment.answer,
            messages.indices.contains(index), messages[index].elementsEqual(message)
        else {
            return try require(
                false, .i2, expected: "an answer that a worker gave for effect \(id) under lease \(lease)",
                seen: "turn \(record.turn) with message \(index) of it")
        }
        try requireWhole(id, lease, record)
        let fence = fence(of: id, lease)
        try require(
            fence == nil, .i6, expected: "the answer of a current lease of effect \(id)",
            seen: "that of \(lease) at turn \(record.turn), \(fence ?? "")")
        try require(
            closes == (index == messages.count - 1), .i6, expected: "the last message to end effect \(id)",
            seen: "message \(index) of \(messages.count), closes: \(closes)")
    }

    private func attemptFailed(_ id: EffectID, _ reason: Failure.Reason, _ record: Record) throws(Violation) {
        guard var order = reference.open[id] else {
            return try require(false, .i6, expected: "an open effect", seen: "a failed attempt of \(id) at turn \(record.turn)")
        }
        if reason == .workerDied, !order.isOfSource {
            order.deaths += 1
            try require(
                order.deaths <= world.swarm.store.suspectDeaths, .i6, expected: "effect \(id) to be parked after its last death",
                seen: "death \(order.deaths) at turn \(record.turn)")
        } else {
            order.failures += 1
            // No death of its worker gives a source up.
            try require(
                reason == .workerDied || order.failures < order.effect.work.retry.attempts, .i6,
                expected: "effect \(id) to fail for good after \(order.effect.work.retry.attempts) attempts",
                seen: "failure \(order.failures) and another attempt, at turn \(record.turn)")
        }
        if case .effect(_, let lease, _) = record.origin {
            try fail(id, lease, order, record)
            order.failed = lease
        }
        reference.open[id] = order
    }

    /// A failed attempt counts once, and only the newest.
    func fail(_ id: EffectID, _ lease: Lease, _ order: ReferenceModel.Order, _ record: Record) throws(Violation) {
        guard let assignment = reference.assignments[lease], assignment.effect == id else {
            return try require(false, .i2, expected: "a lease of effect \(id)", seen: "\(lease) at turn \(record.turn)")
        }
        try require(
            order.failed.map { lease > $0 } ?? true, .i6, expected: "a lease of effect \(id) to fail once",
            seen: "\(lease) at turn \(record.turn) after \(order.failed.map { "\($0)" } ?? "")")
        let newer = newerHolder(of: id, than: lease)
        try require(
            newer == nil, .i6, expected: "lease \(newer.map { "\($0)" } ?? "") of effect \(id) to count",
            seen: "a failure of the older \(lease) at turn \(record.turn)")
    }

    /// Why an answer under this lease must not count; nil if it may.
    private func fence(of id: EffectID, _ lease: Lease) -> String? {
        if let failed = reference.open[id]?.failed, lease <= failed { return "and lease \(failed) has failed" }
        if let streamed = reference.open[id]?.streamedBy, lease < streamed { return "and the newer \(streamed) has streamed" }
        return newerHolder(of: id, than: lease).map { "and the newer \($0) runs" }
    }

    /// The newer lease that runs by a worker which the store knows. A store that was started since has to hear of a lease from its
    /// worker first, and may hear of an older one before.
    private func newerHolder(of id: EffectID, than lease: Lease) -> Lease? {
        guard !world.swarm.isHarsh else { return nil }
        return reference.leases(of: id).last { newer in
            guard newer > lease, newer.start == reference.starts, let holder = reference.assignments[newer] else { return false }
            return holder.isRunning && !holder.isAbandoned && !holder.isSettled
        }
    }

    func failedForGood(_ id: EffectID, _ record: Record) throws(Violation) {
        guard let order = reference.open[id] else {
            return try require(false, .i6, expected: "effect \(id) to end once", seen: "its failure at turn \(record.turn)")
        }
        let isPermanent = reference.leases(of: id).contains { lease in
            switch reference.assignments[lease]?.answer {
            case .failed(_, _, permanent: true): true
            case .done(let messages): messages.contains([0xc1])
            default: false
            }
        }
        let isSpent = order.failures + 1 >= order.effect.work.retry.attempts
        let isParked = order.deaths + 1 > world.swarm.store.suspectDeaths
        if let total = order.effect.work.total, !isParked, !order.isOverLimit {
            try require(
                record.time >= order.begins + total, .i6, expected: "effect \(id) to have \(total) for its attempts",
                seen: "its end at turn \(record.turn), after \(record.time - order.begins)")
            reference.count(.ranOutOfTime)
        }
        try require(
            isPermanent || isSpent || isParked || order.isOverLimit, .i6,
            expected: "further attempts of effect \(id) (\(order.effect.work.rawValue))",
            seen: "its failure for good at turn \(record.turn), after \(order.failures) failures and \(order.deaths) deaths")
    }
}
