import SamovarCore

/// Messages that jobs send before their end.
///
/// The messages of an effect are numbered over all its attempts, and applied in order: a number that was applied is
/// acknowledged and not applied again, whoever sends it. A number beyond the next is left alone: what lies between is under
/// way again. Only the newest attempt is believed, or two attempts that differ could mix their messages.
extension StoreMachine {
    mutating func take(
        _ message: [UInt8], number index: Int, checkpoint: [UInt8]?, of id: EffectID, lease: Lease, at route: Route,
        now: Timestamp
    ) {
        guard let effect = state.ledger.open[id], isCurrent(effect, lease) else {
            streamMarks.note(StreamMark(lease: lease, index: index), for: route)
            if state.ledger.open[id] != nil { cancellations.append(lease, for: route) }
            counters.lateResults += 1
            return
        }
        let last = effect.place?.index ?? 0
        guard index <= last + 1 else { return }
        streamMarks.note(StreamMark(lease: lease, index: index), for: route)
        guard index > last else { return }
        let call = ProgramCall.answer(id)
        let origin = Origin.effect(id, lease: lease, index: index)
        if quarantine(call, origin, root: effect.root, now: now) != nil { return close(id, answered: nil) }
        begin(call)
        do {
            let first = head + 1
            try state.engine.take(
                streamed: message, checkpoint: checkpoint, origin: origin, root: effect.root, now: now, log: log)
            end(call)
            counters.applied += head - first + 1
            state.time = now
            openLogged(now: now)
        } catch let limit as GroupLimit {
            stop(limit)
        } catch {
            end(call)
            if let holder = dispatcher.assignments[id] { cancel(holder) }
            let text = "a streamed message is not one of this program: \(error)"
            attemptFailed(effect, .unhandled, text, lease: lease, isPermanent: true, now: now)
        }
    }

    /// Acknowledges what was streamed; but not while too many effects are open, for streams would open more. Jobs that wait for
    /// an acknowledgement stream no more than their window.
    mutating func sendStreamMarks() {
        guard !streamMarks.isEmpty, state.ledger.open.count < settings.openEffectsAtDoor else { return }
        for (route, marks) in streamMarks.takeAll() { send(.streamed(marks), to: route, floor: .turn(head)) }
    }
}

/// The newest acknowledgement of each job, gathered during a round.
struct StreamMarks {
    private var marks: [Route: [Lease: Int]] = [:]

    var isEmpty: Bool { marks.isEmpty }

    mutating func note(_ mark: StreamMark, for route: Route) {
        let known = marks[route]?[mark.lease] ?? 0
        marks[route, default: [:]][mark.lease] = max(known, mark.index)
    }

    mutating func remove(_ route: Route) {
        marks[route] = nil
    }

    /// In a fixed order: the same events always give the same frames.
    mutating func takeAll() -> [(route: Route, marks: [StreamMark])] {
        defer { marks.removeAll(keepingCapacity: true) }
        return marks.sorted { $0.key < $1.key }.map { route, leases in
            (route, leases.sorted { $0.key < $1.key }.map { StreamMark(lease: $0.key, index: $0.value) })
        }
    }
}
