import SamovarCore
import SamovarWire

/// How attempts and effects end, and what is measured of it.
extension EffectScheduler {
    /// An effect was answered by an attempt that is current; whoever else runs it in vain is told.
    ///
    /// - Parameter meter: the number of its queue.
    mutating func close(_ effect: EffectID, answered lease: Lease, meter: Int) {
        dispatcher.meters.closed(meter, .done)
        if let holder = dispatcher.forget(effect, unlessBy: lease) { cancel(holder) }
    }

    /// Ends all work on an effect that nobody wants any more; whoever runs it is told.
    mutating func close(_ effect: EffectID, as outcome: ClosingOutcome, of queue: Queue) {
        dispatcher.meters.closed(queue, outcome)
        if let holder = dispatcher.forget(effect) { cancel(holder) }
    }

    /// A message of an effect was given up, and so the effect is dead.
    mutating func giveUp(_ effect: EffectID, in ledger: EffectLedger) {
        if let queue = ledger.dead[effect]?.effect.queue { dispatcher.meters.closed(queue, .failed) }
        withdraw(effect)
    }

    /// The time of this round, for what is measured.
    mutating func begin(round now: Timestamp) { dispatcher.meters.now = now }

    /// The number of a queue in what is measured.
    mutating func meter(of queue: Queue) -> Int { dispatcher.meters.number(of: queue) }

    /// The number of the queue of an open effect that no worker has.
    mutating func meter(ofUnheld effect: EffectID, in ledger: EffectLedger) -> Int {
        dispatcher.meters.number(of: ledger.open[effect]?.queue ?? .default)
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
