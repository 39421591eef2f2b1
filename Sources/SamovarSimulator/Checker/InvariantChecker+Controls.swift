import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// What is dead, what is paused, and what an operator does about it.
extension InvariantChecker {
    // MARK: Records

    /// An effect has failed for good, and stays. If the program makes a message of it, that is told in the same batch.
    func died(_ id: EffectID, _ failure: Failure, _ record: Record) throws(Violation) {
        try failedForGood(id, record)
        guard let order = reference.open[id] else { return }
        try require(
            failure.reason != .workerDied || !order.isOfSource, .i6, expected: "source \(id) to outlive its workers",
            seen: "its end at turn \(record.turn): \(failure)")
        if case .effect(_, let lease, _) = record.origin {
            try fail(id, lease, order, record)
            reference.open[id]?.failed = lease
        }
        let message = ModelProgram.failed(order.effect, failure)
        try require(
            message == nil || order.keepsDead, .i6, expected: "`failed` to make a message of effect \(id)",
            seen: "a dead effect: \(failure)")
        if let message { reference.announced.append((packed(message), .failure(id))) }
        effectsEnded += 1
        reference.bury(id, turn: record.turn)
    }

    /// An effect has failed for good, and the message that the program made of it is its end.
    func failed(_ id: EffectID, closes: Bool, _ record: Record) throws(Violation) {
        try failedForGood(id, record)
        try require(
            closes && reference.open[id]?.keepsDead != true, .i18, expected: "effect \(id) to be dead before the notice of it",
            seen: "its end at turn \(record.turn)")
    }

    /// The notice of an effect that is dead since the turn before.
    func noticed(_ id: EffectID, closes: Bool, _ record: Record) throws(Violation) {
        try require(
            !closes && reference.dead[id] != nil, .i18, expected: "effect \(id) to stay dead with the notice of it",
            seen: "its end at turn \(record.turn)")
        reference.count(.noticed)
    }

    func requeued(_ id: EffectID, _ record: Record) throws(Violation) {
        try done(record)
        guard let order = reference.dead[id] else {
            return try require(
                false, .i18, expected: "a dead effect to be requeued", seen: "effect \(id) at turn \(record.turn), which is none")
        }
        try require(
            !reference.isAbandoned(id, order), .i14, expected: "no source to be requeued that is not wanted any more",
            seen: "effect \(id) at turn \(record.turn)")
        reference.requeue(id, turn: record.turn, now: record.time)
        announce(.requeued(order.effect, id))
    }

    func dropped(_ id: EffectID, _ record: Record) throws(Violation) {
        if case .store = record.origin { return try droppedAbandoned(id, record) }
        try done(record)
        guard let order = reference.dead[id] ?? reference.open[id] else {
            return try require(
                false, .i18, expected: "an open effect or a dead one to be dropped",
                seen: "effect \(id) at turn \(record.turn), which is neither")
        }
        reference.close(id, turn: record.turn)
        if reference.dead[id] != nil { reference.count(.droppedDead) }
        reference.dropDead(id, turn: record.turn)
        announce(.dropped(order.effect, id))
    }

    /// `update` had requeued it, though its source is not wanted any more.
    private func droppedAbandoned(_ id: EffectID, _ record: Record) throws(Violation) {
        let isMeant = reference.open[id].map { $0.wasRequeued && reference.isAbandoned(id, $0) } ?? false
        try require(
            isMeant, .i14, expected: "the store to drop what is requeued of sources that are not wanted any more",
            seen: "effect \(id) at turn \(record.turn)")
        reference.close(id, turn: record.turn)
        reference.count(.sourceDropped)
    }

    func controlled(_ control: Control, _ record: Record) throws(Violation) {
        try done(record)
        reference.take(control, turn: record.turn, now: record.time)
        switch control {
        case .pause(let place): announce(.paused(place))
        case .resume(let place): announce(.resumed(place))
        case .rule(let queue, let rules): announce(.ruled(queue, rules))
        case .requeue, .drop:
            try require(false, .i18, expected: "a record for each effect", seen: "\(control) at turn \(record.turn)")
        }
    }

    private func announce(_ action: OperatorAction<ModelProgram>) {
        if let message = ModelProgram.operated(action) { reference.announced.append((packed(message), .operator)) }
    }

    /// An operator has asked for what this record says, and in this life of the store it was not done more often.
    private func done(_ record: Record) throws(Violation) {
        let deed = "\(record.event)"
        let asked = world.operatorProcess?.errands.count { $0.covers(record.event) } ?? 0
        reference.deeds[deed, default: 0] += 1
        try require(
            reference.deeds[deed, default: 0] <= asked && record.origin == .operator, .i18,
            expected: "what an operator has asked for, once in each life of the store",
            seen: "\(record.event) of \(record.origin) at turn \(record.turn)")
    }

    // MARK: Frames

    /// What an operator is told to be done is on disk.
    func check(_ reply: AdminReply) throws(Violation) {
        guard reply.refusal == nil, let errand = world.operatorProcess?.errand(reply.id) else { return }
        guard reference.repliesDone.insert(reply.id).inserted else { return reference.count(.toldAgain) }
        guard let events = errand.events(reply) else {
            return try require(
                false, .i18, expected: "a reply to \(errand.request.verb) \(errand.request.arguments)", seen: "\(reply.value)")
        }
        for event in events {
            let deed = "\(event)"
            reference.deedsTold[deed, default: 0] += 1
            try require(
                reference.deeds[deed, default: 0] >= reference.deedsTold[deed, default: 0], .i5,
                expected: "\(event) on disk before an operator hears of it", seen: "the reply to request \(reply.id)")
        }
    }

    /// Nothing is handed out that is over, and nothing whose queue or label is paused. A task that was handed out before may wait for the
    /// disk, and leaves in the round in which the store hears of the commit that also has the pause, or in an earlier one.
    func requireFree(_ task: JobTask) throws(Violation) {
        let heard = world.store.heard
        leases.now.append(task.lease)
        guard let order = reference.open[task.effect] else {
            let turn = reference.closed[task.effect] ?? 0
            return try require(
                turn > heard, reference.dead[task.effect] == nil ? .i15 : .i18,
                expected:
                    "effect \(task.effect) to be left alone, \(reference.dead[task.effect] == nil ? "closed" : "dead") since turn \(turn)",
                seen: "lease \(task.lease), when the store had heard of turn \(heard)")
        }
        if let turn = reference.pausedSince(order) {
            try require(
                turn > heard, .i19, expected: "effect \(task.effect) of queue \(order.queue) to wait, paused since turn \(turn)",
                seen: "lease \(task.lease), when the store had heard of turn \(heard)")
        }
        try require(
            !reference.isAbandoned(task.effect, order) || order.opened > heard, .i14,
            expected: "no task of a source that is not wanted any more",
            seen: "lease \(task.lease) of effect \(task.effect)")
        handedOut.append((task.effect, order.queue, order.label, reference.leases(of: task.effect).isEmpty))
        if order.waitedForResume { reference.count(.waitedForResume) }
        try requireRate(task, order.queue, heard: heard)
        // One that was requeued since has another place now.
        guard !order.wasRequeued || order.opened <= heard else { return }
        let before = reference.predecessor(of: task.effect)
        try require(
            before == nil, .i15,
            expected: "effect \(task.effect) to wait for its place in the lane, which begins with \(before ?? task.effect)",
            seen: "lease \(task.lease)")
        if reference.isAbreast(task.effect) { reference.count(.ranAbreast) }
    }

    /// A round of the store has ended, and what left in it is known.
    func roundEnded() throws(Violation) {
        defer { handedOut.removeAll() }
        let unseen = unseenHandOuts()
        for queue in reference.shares.keys { reference.shares[queue]?.unseen += unseen }
        for (queue, shares) in reference.shares where shares.since <= world.store.heard {
            let tasks = handedOut.filter { $0.queue == queue }
            guard !tasks.isEmpty else { continue }
            let heard = world.store.heard
            let waiting = witnesses(of: queue, heard: heard)
            let unfair = reference.shares[queue]?.round(tasks.map { ($0.label, $0.isFirst) }, waiting: waiting) { id in
                tasks.contains { $0.effect == id } || reference.open[id].map { isWitness(id, $0, heard: heard) } ?? false
            }
            if let longest = reference.shares[queue]?.longest, longest >= 6 { reference.count(.sharesCompared) }
            guard let unfair else { continue }
            try require(
                false, .i20, expected: "queue \(queue) to keep its shares: \(reference.rules[queue] ?? .none)",
                seen: "\(unfair.count) of \(unfair.label.map { "“\($0)”" } ?? "no label") while "
                    + "\(unfair.otherCount) of \(unfair.other.map { "“\($0)”" } ?? "no label") were handed out, and both waited")
        }
    }

    /// How many leases are missing between those that left now and before: their tasks waited for the disk, and their workers have gone meanwhile.
    private func unseenHandOuts() -> Int {
        defer { leases.now = [] }
        guard let newest = leases.now.max() else { return 0 }
        let before = leases.newest?.start == newest.start ? leases.newest?.counter ?? 0 : 0
        leases.newest = newest
        return max(0, newest.counter - before - leases.now.count)
    }

    private func witnesses(of queue: Queue, heard: Int) -> [Label?: EffectID] {
        var witnesses: [Label?: EffectID] = [:]
        for (id, order) in reference.open where order.queue == queue && isWitness(id, order, heard: heard) {
            witnesses[order.label] = max(id, witnesses[order.label] ?? id)
        }
        return witnesses
    }

    /// Whether an effect must have been in line for all that leaves now: nothing else than its turn keeps it from being handed out.
    private func isWitness(_ id: EffectID, _ order: ReferenceModel.Order, heard: Int) -> Bool {
        order.policy == .all && order.effect.work.delay == .zero && !order.wasRequeued && order.opened > reference.startTurn
            && order.inLine <= heard && reference.leases(of: id).isEmpty && reference.pausedSince(order) == nil
    }

    private func requireRate(_ task: JobTask, _ queue: Queue, heard: Int) throws(Violation) {
        guard let rate = reference.rates[queue], rate.since <= heard else { return }
        // It waited for a turn that is on disk only now, if it waited at all.
        let now = world.store.localInstant
        let earliest = heard < reference.last ? min(reference.moments[heard + 1], now) : now
        switch reference.rates[queue]?.handOut(from: earliest, to: now) {
        case .early(let time):
            try require(
                false, .i20, expected: "queue \(queue) to keep its rate of \(reference.rules[queue] ?? .none)",
                seen: "lease \(task.lease), \(time) µs early")
        case .held: reference.count(.heldByRate)
        case .free, nil: break
        }
    }
}

extension Errand {
    /// Whether this record can come of it.
    func covers(_ event: Record.Event) -> Bool {
        switch event {
        case .requeued(let id): request.verb == "requeue" && effects?.contains(id) ?? true
        case .dropped(let id): request.verb == "drop" && effects?.contains(id) ?? true
        case .controlled(let control): self.control == control
        default: false
        }
    }

    /// The records of what a reply says is done; nil if it names what was not asked for, or nothing although something was.
    func events(_ reply: AdminReply) -> [Record.Event]? {
        if let control { return [.controlled(control)] }
        let names: [MessagePackValue] =
            switch reply.value[request.verb == "requeue" ? "requeued" : "dropped"] {
            case .array(let names)?: names
            case let name?: [name]
            case nil: []
            }
        let ids = names.compactMap { name -> EffectID? in
            if case .string(let text) = name { EffectID(named: text) } else { nil }
        }
        guard ids.count == names.count, effects.map({ !ids.isEmpty && $0.isSuperset(of: ids) }) ?? true else { return nil }
        return ids.map { request.verb == "requeue" ? .requeued($0) : .dropped($0) }
    }
}
