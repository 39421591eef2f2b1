import SamovarCore
import SamovarWire

/// What workers say they hold, and what proves it.
extension Workers {
    /// Believes what a worker says it holds, if it can prove it.
    func adopt(
        _ offer: WorkerOffer, at route: Route, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: borrowing Turns,
        _ out: inout Outlet
    ) throws(StopReason) -> Set<EffectID> {
        var claimed: Set<EffectID> = []
        for claim in offer.running {
            let place = scheduler.dispatcher.places.number(of: claim.effect, under: claim.lease)
            guard isGenuine(claim.effect, claim.lease, claim.token, at: place, scheduler, out.identity) else {
                out.drop("worker \(offer.id) claims a job that this store never gave", from: route)
                continue
            }
            try out.requireTail(provenBy: claim.effect.turn, what: "worker \(offer.id)")
            // An answer of a newer attempt may wait, whose worker has left: it counts as long as nobody else has the effect.
            guard let effect = turns.state.ledger.open[claim.effect], !effect.isOver(under: claim.lease),
                !rejectedStreams.contains(claim.lease, of: effect.id),
                !scheduler.dispatcher.isOutdated(claim.lease, of: effect.id) || !answers.hasEnd(of: effect.id, after: claim.lease),
                scheduler.adopt(effect, claim, by: offer.id, now: now)
            else {
                scheduler.cancel(claim.lease, at: offer.id)
                continue
            }
            claimed.insert(claim.effect)
        }
        return claimed
    }

    /// Effects that this worker holds, and whose answers by it wait for their turn. What it says once more of an earlier attempt is
    /// no answer of the one that it holds now.
    func answered(by id: WorkerID, _ scheduler: EffectScheduler) -> Set<EffectID> {
        var answered: Set<EffectID> = []
        for result in answers.of(id) where !result.answer.isStreamed {
            if scheduler.dispatcher.assignment(of: result.effect)?.lease == result.lease { answered.insert(result.effect) }
        }
        return answered
    }

    /// - Parameter place: of the job, if somebody has it under this lease; then the token is known.
    func isGenuine(
        _ effect: EffectID, _ lease: Lease, _ token: UInt64, at place: Int?, _ scheduler: EffectScheduler, _ identity: StoreIdentity
    ) -> Bool {
        token == place.map { scheduler.dispatcher.places[$0].token } ?? identity.jobProof.token(of: effect, under: lease)
    }
}
