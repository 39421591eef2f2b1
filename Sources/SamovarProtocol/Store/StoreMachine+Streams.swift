import SamovarCore

/// Messages that jobs send before their end.
///
/// The messages of an effect are numbered over all its attempts, and applied in order: a number that was applied is
/// acknowledged and not applied again, whoever sends it. A number beyond the next is left alone: what lies between is under
/// way again. Only the newest attempt is believed, or two attempts that differ could mix their messages; and where messages of an
/// attempt were not believed, its answer is not, or it would be one that lacks what came before it.
extension StoreMachine {
    mutating func take(
        _ message: [UInt8], number index: Int, checkpoint: [UInt8]?, of id: EffectID, lease: Lease, at route: Route,
        now: Timestamp
    ) {
        guard let effect = state.ledger.open[id], isCurrent(effect, lease) else {
            streamMarks.note(StreamMark(lease: lease, index: index), for: route)
            counters.lateResults += 1
            guard let effect = state.ledger.open[id] else { return }
            // Applied before, and told again for want of an acknowledgement: nothing of this attempt is missing.
            if index <= effect.place?.index ?? 0, !effect.hasFailed(under: lease) { return }
            // It leaves before the acknowledgement: a worker that has not heard of it tells all of it again.
            cancellations.append(lease, for: route)
            unheard[id] = max(lease, unheard[id] ?? lease)
            return
        }
        let last = effect.place?.index ?? 0
        guard index <= last + 1 else { return }
        streamMarks.note(StreamMark(lease: lease, index: index), isOfSource: effect.isSource, for: route)
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
            if let holder = dispatcher.assignment(of: id) { cancel(holder) }
            let text = "a streamed message is not one of this program: \(error)"
            attemptFailed(effect, .unhandled, text, lease: lease, isPermanent: true, now: now)
        }
    }

    /// Whether an answer comes after messages of its attempt that were not applied.
    func lacksMessages(_ effect: EffectID, _ lease: Lease) -> Bool { unheard[effect].map { lease <= $0 } ?? false }

    /// Acknowledges what was streamed; but not while too many effects are open, for streams would open more. Jobs that wait for
    /// an acknowledgement stream no more than their window.
    ///
    /// Yet such a job holds a slot that the open effects may be waiting for. So where no job has ended from one tick to the next,
    /// those that have an end may go on for another window; sources have none, and wait.
    mutating func sendStreamMarks() {
        let isCrowded = hasTooManyEffects
        guard !streamMarks.isEmpty, !isCrowded || noJobEnds else { return }
        noJobEnds = false
        resultsAtTick = nil
        for (route, marks) in streamMarks.takeAll(withSources: !isCrowded) {
            send(.streamed(marks), to: route, floor: .turn(head))
        }
    }

    /// Called each tick.
    mutating func watchStreams() {
        noJobEnds = !streamMarks.isEmpty && resultsAtTick == counters.results
        resultsAtTick = streamMarks.isEmpty ? nil : counters.results
        if !unheard.isEmpty { unheard = unheard.filter { state.ledger.open[$0.key] != nil } }
    }
}

/// The newest acknowledgement of each job, gathered during a round.
struct StreamMarks {
    private var marks: [Route: [Lease: Int]] = [:]
    private var ofSources: Set<Lease> = []

    var isEmpty: Bool { marks.isEmpty }

    mutating func note(_ mark: StreamMark, isOfSource: Bool = false, for route: Route) {
        if isOfSource { ofSources.insert(mark.lease) }
        let known = marks[route]?[mark.lease] ?? 0
        marks[route, default: [:]][mark.lease] = max(known, mark.index)
    }

    mutating func remove(_ route: Route) {
        marks[route] = nil
    }

    /// In a fixed order: the same events always give the same frames.
    mutating func takeAll(withSources: Bool) -> [(route: Route, marks: [StreamMark])] {
        var taken = marks
        if withSources || ofSources.isEmpty {
            marks.removeAll(keepingCapacity: true)
            ofSources.removeAll(keepingCapacity: true)
        } else {
            taken = marks.mapValues { $0.filter { !ofSources.contains($0.key) } }.filter { !$0.value.isEmpty }
            marks = marks.mapValues { $0.filter { ofSources.contains($0.key) } }.filter { !$0.value.isEmpty }
        }
        return taken.sorted { $0.key < $1.key }.map { route, leases in
            (route, leases.sorted { $0.key < $1.key }.map { StreamMark(lease: $0.key, index: $0.value) })
        }
    }
}
