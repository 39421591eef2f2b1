import SamovarCore
import SamovarWire

/// Where an effect is.
extension Dispatcher {
    /// Since when an effect waits for a worker; nil if it does not.
    func waits(_ id: EffectID) -> Timestamp? {
        guard let number = places.number(of: id), places[number].isWaiting else { return nil }
        return places[number].since
    }

    /// Who runs an effect, and under which lease; nil if nobody does.
    func assignment(of id: EffectID) -> Assignment? {
        places.number(of: id).flatMap { places[$0].assignment }
    }

    /// Who has an effect whose attempt has answered.
    enum Holder {
        /// That attempt; with the number of the queue.
        case same(meter: Int)
        case another
        case nobody
    }

    /// Who has an effect, beside this lease. Asked for each answer: inlined, or the whole dispatcher would be moved for the call.
    @inline(__always)
    func holder(of id: EffectID, beside lease: Lease) -> Holder {
        guard let number = places.number(of: id), !places[number].isWaiting else { return .nobody }
        return places[number].lease == lease ? .same(meter: places[number].meter) : .another
    }

    /// Whether a worker has an effect under another lease than this one.
    @inline(__always)
    func isHeld(_ id: EffectID, underOtherThan lease: Lease) -> Bool {
        if case .another = holder(of: id, beside: lease) { true } else { false }
    }

    /// Whether a worker can take an effect of a queue once what ends has ended. Nobody knows when a suspect does, and sources do not. Nor
    /// do the handlers of a worker that has no job of this store and still grants no credit.
    func mayEmpty(_ workerState: WorkerState, for queue: Queue, _ ledger: EffectLedger) -> Bool {
        guard !workerState.isLeaving, !workerState.isIsolated, workerState.sources < workerState.slots else { return false }
        guard workerState.running > workerState.sources || workerState.sent < workerState.credit else { return false }
        guard workerState.sources > 0, let limit = workerState.limits[queue] else { return true }
        return places.effects(of: workerState).count { $0.isOfSource && ledger.open[$0]?.queue == queue } < limit
    }

    /// The jobs of a worker in the order in which it was given them, and so starts them.
    func jobs(of worker: WorkerID) -> [EffectID] { workers[worker].map { places.effects(of: $0) } ?? [] }

    /// How many jobs of each queue a worker has.
    func held(by workerState: WorkerState) -> [Queue: Int] {
        places.effects(of: workerState).reduce(into: [:]) { held, job in
            if let number = places.number(of: job) { held[places[number].queue, default: 0] += 1 }
        }
    }

    /// Jobs of a worker whose tasks wait at the gate: it has not seen them.
    func unsent(of worker: WorkerID) -> [EffectID] {
        jobs(of: worker).filter { job in places.number(of: job).map { places[$0].floor > departed } ?? false }
    }

    /// Takes them back because their tasks will not leave. Nobody has had them, so that an older attempt may go on.
    mutating func takeBackUnsent(of worker: WorkerID) -> [EffectID] {
        let unsent = unsent(of: worker)
        for id in unsent { forget(id, as: .returned) }
        return unsent
    }

    /// Whether the answer of whoever has an effect waits for its turn.
    func isAnswered(_ id: EffectID) -> Bool {
        places.number(of: id).map { !places[$0].isWaiting && places[$0].isAnswered } ?? false
    }
}
