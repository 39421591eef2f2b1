import SamovarCore

/// Messages that jobs send before their end.
///
/// The messages of an effect are numbered over all its attempts, and applied in order: a number that was applied is
/// acknowledged and not applied again, whoever sends it. A number beyond the next is left alone: what lies between is under
/// way again. Only the newest attempt is believed, or two attempts that differ could mix their messages, also where that one's worker
/// is gone (`FormerLeases`); and where messages of an attempt were not believed, its answer is not, or it would be one that lacks what
/// came before it.
extension StoreMachine {
    mutating func take(
        _ message: [UInt8], number index: Int, checkpoint: [UInt8]?, of id: EffectID, lease: Lease, at route: Route,
        now: Timestamp
    ) {
        guard let effect = state.ledger.open[id], isCurrent(effect, lease),
            index <= effect.place?.index ?? 0 || !scheduler.dispatcher.isOutdated(lease, of: id)
        else {
            streamMarks.note(StreamMark(lease: lease, index: index), for: route)
            counters.lateResults += 1
            guard let effect = state.ledger.open[id] else { return }
            // A duplicate: it was applied, and its acknowledgement was lost. Nothing of this attempt is missing.
            if index <= effect.place?.index ?? 0, !effect.isOver(under: lease) { return }
            // It leaves before the acknowledgement: a worker that has not heard of it tells all of it again.
            cancellations.append(lease, for: route)
            // The answer of one that is over does not count anyway.
            if !effect.isOver(under: lease) { rejectedStreams.reject(id, lease) }
            if scheduler.dispatcher.assignment(of: id)?.lease == lease { giveBack(id, now: now) }
            return
        }
        let last = effect.place?.index ?? 0
        guard index <= last + 1 else { return }
        streamMarks.note(StreamMark(lease: lease, index: index), isOfSource: effect.isSource, for: route)
        guard index > last else { return }
        let call = ProgramCall.answer(id)
        let origin = Origin.effect(id, lease: lease, index: index)
        if giveUp(call, origin, root: effect.root, now: now) != nil { return withdraw(id) }
        begin(call)
        do throws(GroupLimit) {
            let first = head + 1
            let input = EngineInput.message(message[...], origin, .streamed(checkpoint: checkpoint), root: effect.root)
            let result = try state.engine.apply(input, now: now, log: &log)
            end(call)
            if case .unreadable(let why) = result {
                if let holder = scheduler.dispatcher.assignment(of: id) { cancel(holder) }
                let text = "a streamed message is not one of this program: \(why)"
                return attemptFailed(effect, .unhandled, text, lease: lease, isPermanent: true, now: now)
            }
            counters.applied += head - first + 1
            state.time = now
            openLogged(now: now)
        } catch {
            stop(error)
        }
    }

    /// Acknowledges what was streamed.
    mutating func sendStreamMarks() {
        guard !streamMarks.isEmpty else { return }
        for (route, marks) in streamMarks.takeDue(isOverLimit: hasTooManyEffects) {
            send(.streamed(marks), to: route, floor: .turn(head))
        }
    }

    /// Called each tick.
    mutating func watchStreams() {
        streamMarks.tick(results: counters.results)
        rejectedStreams.forget { !state.ledger.isKept($0) }
    }
}
