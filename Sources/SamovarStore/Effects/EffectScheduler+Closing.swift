import SamovarCore
import SamovarWire

/// How attempts and effects end, and what is measured of it.
extension EffectScheduler {
    // MARK: Taking back

    /// Takes an effect back from its worker, if one has it, and offers it again.
    mutating func giveBack(_ effect: EffectID, in ledger: EffectLedger, now: Timestamp) {
        if dispatcher.assignment(of: effect) != nil { dispatcher.takeBack(effect, as: .returned) }
        offer(effect, in: ledger, now: now)
    }

    /// Offers an effect whose answer changed nothing: its worker may have left with that, and then the effect is nowhere.
    mutating func offerIfNowhere(_ effect: EffectID, in ledger: EffectLedger, now: Timestamp) {
        if dispatcher.places.number(of: effect) == nil { offer(effect, in: ledger, now: now) }
    }

    /// The same for those that a worker has not seen, and will not.
    mutating func giveBackUnsent(of worker: WorkerID, in ledger: EffectLedger, now: Timestamp) {
        for effect in dispatcher.takeBackUnsent(of: worker) { offer(effect, in: ledger, now: now) }
    }

    // MARK: Closing

    /// An effect was answered by an attempt that is current, so that nobody else has it.
    ///
    /// - Parameter meter: the number of its queue.
    mutating func close(answered effect: EffectID, meter: Int) {
        dispatcher.meters.closed(meter, .done)
        dispatcher.forget(effect, as: .answered)
    }

    /// Ends all work on an effect that nobody wants any more; whoever runs it is told.
    mutating func close(_ effect: EffectID, as outcome: ClosingOutcome, of queue: Queue) {
        dispatcher.meters.closed(queue, outcome)
        if let holder = dispatcher.forget(effect) { cancel(holder) }
    }

    /// Drops an effect that `update` has requeued though its source is not wanted any more; false for any other.
    ///
    /// By a record of its own: what requeues mean for the books is the same in every journal, and in those of builds that let such an effect run
    /// its answers follow.
    mutating func drop(abandoned effect: OpenEffect, now: Timestamp, _ turns: inout Turns) -> Bool {
        guard turns.state.isAbandoned(effect) else { return false }
        turns.write(.dropped(effect.id), now: now)
        close(effect.id, as: .dropped, of: effect.queue)
        return true
    }

    /// A message of an effect was given up, and so the effect is dead.
    mutating func giveUp(_ effect: EffectID, in ledger: EffectLedger) {
        if let queue = ledger.dead[effect]?.effect.queue { dispatcher.meters.closed(queue, .failed) }
        withdraw(effect)
    }

    /// The number of the queue of an open effect that no worker has.
    mutating func meter(ofUnheld effect: EffectID, in ledger: EffectLedger) -> Int {
        dispatcher.meters.number(of: ledger.open[effect]?.queue ?? .default)
    }
}

extension OpenEffect {
    /// The pause before another attempt, when so many have failed, the last one for this reason; nil if there is none. To a source
    /// the death of its worker is a failure, but never the last one: pauses grow on, and are long enough that it does not take one
    /// worker after the other.
    func pause(after failures: Int, _ reason: Failure.Reason, secret: Secret) -> Duration? {
        let pause = retry.pause(after: failures, of: id, secret: secret)
        guard pause == nil, isSource, reason == .workerDied else { return pause }
        let endless = Retry(attempts: .max, first: retry.first, factor: retry.factor, maximum: retry.maximum)
        return max(endless.pause(after: failures, of: id, secret: secret) ?? .zero, .milliseconds(100))
    }
}

extension AttemptOutcome {
    /// Of one that has failed.
    init(_ reason: Failure.Reason) {
        self =
            switch reason {
            case .timedOut: .timedOut
            case .workerDied: .lost
            default: .failed
            }
    }
}

extension Origin {
    /// Of what ends an attempt: the store, if that has not said so itself.
    static func attempt(_ effect: EffectID, _ lease: Lease?) -> Origin {
        lease.map { .effect(effect, lease: $0, index: 0) } ?? .store
    }
}
