import SamovarCore
import SamovarWire

/// What a turn orders, and what labels and policies make of it.
extension ReferenceModel {
    func take(_ command: Command<ModelProgram>, of turn: Turn, root: Int) {
        for (ordinal, order) in command.enumerated() {
            let id = EffectID(turn: turn.number, ordinal: ordinal)
            switch order {
            case .then(let message): announced.append((packed(message), .followUp(of: turn.number)))
            case .emit(let output): outputs.append(EmittedOutput(id: id, bytes: packed(output)))
            case .cancel(let label):
                dropDead(label, turn: turn.number)
                for other in labels[label] ?? [] {
                    close(other, turn: turn.number)
                    count(.cancelled)
                }
            case .control(let control): take(control, turn: turn.number, now: turn.now)
            case .run(let effect, let options):
                let order = Order(
                    root: root, effect: effect, payload: packed(effect), label: options.id, policy: options.policy,
                    begins: turn.now + options.delay, notBefore: turn.now + options.delay, opened: turn.number,
                    inLine: turn.number)
                run(order, id)
            }
        }
    }

    func run(_ order: Order, _ id: EffectID) {
        var order = order
        if let label = order.label {
            if case .latest = order.policy { dropDead(label, turn: order.opened) }
            let places = labels[label] ?? []
            let others = places.filter { open[$0] != nil }
            switch order.policy {
            case .all: break
            case .latest:
                for other in others {
                    close(other, turn: order.opened)
                    count(.replaced)
                }
            case .first:
                guard others.isEmpty else { return count(.passedOver) }
            case .serial(let limit), .lane(_, let limit, _):
                order.isOverLimit = places.count >= limit
                if !places.isEmpty { count(order.isOverLimit ? .overLimit : .queued) }
                if !order.isOverLimit, let first = places.first, dead[first] != nil { count(.stoppedBehindDead) }
            }
            if !order.isOverLimit { labels[label, default: []].append(id) }
        }
        ordered[id] = order.payload
        enter(order, id)
    }

    private func enter(_ order: Order, _ id: EffectID) {
        open[id] = order
        openByRoot[order.root, default: 0] += 1
    }

    private func leave(_ id: EffectID, turn: Int) -> Order? {
        guard let order = open.removeValue(forKey: id) else { return nil }
        closed[id] = turn
        let count = openByRoot[order.root, default: 1] - 1
        openByRoot[order.root] = count > 0 ? count : nil
        return order
    }

    private func givePlaceUp(_ id: EffectID, _ order: Order) {
        guard let label = order.label else { return }
        labels[label]?.removeAll { $0 == id }
        if labels[label]?.isEmpty == true { labels[label] = nil }
    }

    func close(_ id: EffectID, turn: Int) {
        if let order = leave(id, turn: turn) { givePlaceUp(id, order) }
    }

    // MARK: Dead effects

    /// An open effect has failed for good, and stays.
    func bury(_ id: EffectID, turn: Int) {
        guard let order = leave(id, turn: turn) else { return }
        dead[id] = order
        guard !order.isOverLimit, case .lane(_, _, .stops) = order.policy else { return givePlaceUp(id, order) }
    }

    /// Whether an effect has a place among those with its label.
    func hasPlace(_ id: EffectID) -> Bool {
        guard let label = (open[id] ?? dead[id])?.label else { return false }
        return labels[label]?.contains(id) ?? false
    }

    func requeue(_ id: EffectID, turn: Int, now: Timestamp) {
        guard var order = dead[id] else { return }
        count(hasPlace(id) ? .requeuedInPlace : .requeued)
        if let label = order.label, !hasPlace(id) { labels[label, default: []].append(id) }
        dead[id] = nil
        closed[id] = nil
        (order.failures, order.deaths) = (0, 0)
        (order.begins, order.notBefore, order.opened, order.inLine) = (now, now, turn, turn)
        (order.isOverLimit, order.wasRequeued) = (false, true)
        reopened[order.root] = turn
        enter(order, id)
    }

    /// A dead effect is forgotten: it never runs again.
    func dropDead(_ id: EffectID, turn: Int) {
        guard let order = dead.removeValue(forKey: id) else { return }
        closed[id] = turn
        givePlaceUp(id, order)
    }

    private func dropDead(_ label: Label, turn: Int) {
        for (id, order) in dead where order.label == label {
            dropDead(id, turn: turn)
            count(.cancelledDead)
        }
    }

    // MARK: Queues and labels

    func take(_ control: Control, turn: Int, now: Timestamp) {
        switch control {
        case .requeue(let effects): for id in meant(effects) { requeue(id, turn: turn, now: now) }
        case .drop(let effects):
            for id in meant(effects) {
                dropDead(id, turn: turn)
                count(.droppedDead)
            }
        case .pause(let place):
            guard paused[place] == nil else { return }
            paused[place] = turn
            if case .queue = place { count(.pausedQueue) } else { count(.pausedLabel) }
        case .resume(let place):
            guard paused.removeValue(forKey: place) != nil else { return }
            for (id, order) in open where leases(of: id).isEmpty && order.isAt(place) {
                open[id]?.waitedForResume = true
                open[id]?.inLine = turn
            }
        case .rule(let queue, let rules):
            guard rules != self.rules[queue] ?? .none else { return }
            self.rules[queue] = rules == .none ? nil : rules
            rates[queue] = rules.rate.map { RateOracle($0, since: turn) }
            shares[queue] = rules.shares.map { ShareOracle($0, since: turn) }
            count(.ruled)
        }
    }

    private func meant(_ effects: DeadEffects) -> [EffectID] {
        switch effects {
        case .effect(let id): dead[id] == nil ? [] : [id]
        case .label(let label): dead.filter { $0.value.label == label }.keys.sorted()
        case .queue(let queue): dead.filter { $0.value.queue == queue }.keys.sorted()
        }
    }

    /// Since which turn an effect is not to be handed out, because of its queue or its label; nil if it may be.
    func pausedSince(_ order: Order) -> Int? {
        let turns = [paused[.queue(order.queue)], order.label.flatMap { paused[.label($0)] }]
        return turns.compactMap { $0 }.min()
    }

    /// Whether an attempt of an open effect has failed, or another was made or goes on in its place since.
    func isFenced(_ lease: Lease, of id: EffectID) -> Bool {
        guard let order = open[id] else { return false }
        return order.isOvertaken(lease) || order.failed.map { lease <= $0 } ?? false
            || leases(of: id).last.map { lease < $0 } ?? false
    }

    /// Whether an effect may run beside another that is before it in its lane.
    func isAbreast(_ id: EffectID) -> Bool {
        guard let order = open[id], case .lane = order.policy, let first = order.label.flatMap({ labels[$0]?.first }) else {
            return false
        }
        return first != id && open[first] != nil
    }

    /// An effect that has to give its place up before this one may run; nil if there is none.
    func predecessor(of id: EffectID) -> EffectID? {
        guard let order = open[id], let label = order.label, let places = labels[label] else { return nil }
        let width: Int
        switch order.policy {
        case .all, .latest, .first: return nil
        case .serial: width = 1
        case .lane(let lanes, _, _): width = lanes
        }
        return places.prefix(width).contains(id) ? nil : places.first
    }
}
