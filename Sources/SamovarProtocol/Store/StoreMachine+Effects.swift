import SamovarCore

/// What the books say of effects, carried over to those who wait and run.
extension StoreMachine {
    /// Follows what policies, cancellations and closings did in the ledger.
    mutating func followLedger(now: Timestamp) {
        for index in state.ledger.changes.cancelled.indices { close(state.ledger.changes.cancelled[index], answered: nil) }
        for index in state.ledger.changes.opened.indices {
            let opened = state.ledger.changes.opened[index]
            // So it is with nearly all. A source may have been closed since, by what the state wanted then.
            if opened.isUsual, dispatcher.trustsNewcomers {
                dispatcher.enqueue(usual: opened.id, now: now)
                continue
            }
            guard let effect = state.ledger.open[opened.id] else { continue }
            limit(effect)
            offer(effect, now: now)
        }
        state.ledger.forgetChanges()
    }

    /// Notes until when all attempts of an effect have to be over.
    mutating func limit(_ effect: OpenEffect) {
        if let expiry = effect.expiry { deadlines.insert(.total, of: effect.id, at: expiry) }
    }

    /// Lets an open effect wait for a worker, if it is its turn and no worker of before the restart can be running it unseen.
    ///
    /// Whatever made it available: one that comes to the front of its label may be running if its policy let it, and an attempt that
    /// failed may have an older lease than another worker's.
    mutating func offer(_ effect: OpenEffect, now: Timestamp) {
        guard !hold.holds(effect.id) else { return }
        if effect.isCrowded { return overLimit.append(effect.id) }
        guard !state.ledger.isBehindAnother(effect) else { return }
        dispatcher.enqueue(effect, now: now)
        guard let limit = effect.options.limits.waiting, dispatcher.waits(effect.id) != nil else { return }
        deadlines.insert(.waiting, of: effect.id, at: now + limit)
    }

    mutating func failCrowded(_ id: EffectID, now: Timestamp) {
        guard let effect = state.ledger.open[id], case .serial(let limit) = effect.options.policy else { return }
        let text = "\(limit) effects “\(effect.options.id ?? "")” are open, which is its limit"
        fail(effect, Failure(reason: .crowded, text: text, attempts: 0), now: now)
    }

    /// An effect came to a deadline. One that was met leaves its entry behind, so look again.
    mutating func overrun(_ id: EffectID, _ limit: Deadlines.Limit, now: Timestamp) {
        guard let effect = state.ledger.open[id] else { return }
        let limits = effect.options.limits
        let text: String
        switch limit {
        case .waiting:
            guard let waiting = limits.waiting, let since = dispatcher.waits(id), since + waiting <= now else { return }
            text = "no worker took it within \(waiting)"
        case .total:
            guard let total = limits.total, let expiry = effect.expiry, expiry <= now else { return }
            text = "not done within \(total)"
        }
        close(id, answered: nil)
        fail(effect, Failure(reason: .timedOut, text: text, attempts: effect.failures + effect.deaths), now: now)
    }
}
