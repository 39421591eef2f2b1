import SamovarCore

/// What the books say of effects, carried over to those who wait and run.
extension StoreMachine {
    /// Follows what policies, cancellations and closings did in the ledger.
    mutating func followLedger(now: Timestamp) {
        for index in state.ledger.changes.cancelled.indices { close(state.ledger.changes.cancelled[index], answered: nil) }
        for index in state.ledger.changes.opened.indices {
            let opened = state.ledger.changes.opened[index]
            // So it is with nearly all. A source may have been closed since, by what the state wanted then.
            if opened.isUsual, scheduler.offer(usual: opened.id, now: now) { continue }
            guard let effect = state.ledger.open[opened.id] else { continue }
            scheduler.limit(effect)
            scheduler.offer(effect, in: state.ledger, now: now)
        }
        state.ledger.forgetChanges()
    }

    /// Takes an effect back from its worker, if one has it, and offers it again.
    mutating func giveBack(_ effect: EffectID, now: Timestamp) {
        scheduler.dispatcher.release(effect)
        scheduler.offer(effect, in: state.ledger, now: now)
    }

    mutating func failCrowded(_ id: EffectID, now: Timestamp) {
        guard let effect = state.ledger.open[id], case .serial(let limit) = effect.options.policy else { return }
        let text = "\(limit) effects “\(effect.options.id ?? "")” are open, which is its limit"
        fail(effect, Failure(reason: .crowded, text: text, attempts: 0), now: now)
    }

    /// Takes one of those that have taken too long: an item like any other, because it may be a turn, and thousands may come at once.
    mutating func takeOverdue(now: Timestamp) {
        switch scheduler.popOverdue(now: now) {
        case .worker(let id):
            guard let worker = scheduler.dispatcher.workers[id], worker.isSilent(for: settings.silence, now: now) else { return }
            workerLost(id, now: now)
        case .attempt(let id): expire(id, now: now)
        case .effect(let id, let limit):
            guard let effect = state.ledger.open[id], let text = scheduler.overrun(effect, limit, now: now) else { return }
            withdraw(id)
            fail(effect, Failure(reason: .timedOut, text: text, attempts: effect.failures + effect.deaths), now: now)
        case nil: break
        }
    }

    // MARK: After a restart

    /// When the last worker of before has been missing for as long as silence may last.
    var heldUntil: Timestamp {
        (scheduler.hold.awaited.compactMap { state.missing[$0] }.max() ?? clock.started) + settings.silence
    }

    /// Lets the effects of before go, once nobody can be running them unseen.
    mutating func releaseHeld(now: Timestamp) {
        guard !scheduler.hold.isEmpty, scheduler.hold.awaited.isEmpty || now >= heldUntil else { return }
        let (missing, effects) = scheduler.release()
        for id in missing {
            note(.warning, "worker \(id) of before the restart has not come back; its jobs go to others")
            write(.workerLeft(id), now: now)
        }
        for id in effects { scheduler.offer(id, in: state.ledger, now: now) }
    }

    /// A worker of before has spoken, or is known to be gone.
    mutating func noLongerAwaited(_ id: WorkerID, now: Timestamp) {
        guard scheduler.heard(id) else { return }
        releaseHeld(now: now)
    }
}
