import DequeModule
import SamovarCore

/// Which tasks have left for their workers. Leases rise, and so do the turns for which tasks wait at the gate: the oldest lease there tells
/// of all.
struct Departures {
    /// For each turn that tasks wait for, the oldest lease of these.
    private var atGate: Deque<(floor: Int, oldest: Lease)> = []

    /// The task of the newest lease leaves when this turn is on disk.
    mutating func hold(_ newest: Lease, untilDurable floor: Int) {
        if atGate.last?.floor != floor { atGate.append((floor, newest)) }
    }

    /// Tasks that waited for this turn or an earlier one have left.
    mutating func left(through durable: Int) {
        while let first = atGate.first, first.floor <= durable { atGate.removeFirst() }
    }

    /// Whether the task of a lease that was handed out, in this start or an earlier one, has left.
    func hasLeft(_ lease: Lease) -> Bool { atGate.first.map { lease < $0.oldest } ?? true }
}

extension Dispatcher {
    /// Jobs of a worker whose tasks wait at the gate: it has not seen them.
    func unsent(of worker: WorkerID) -> [EffectID] {
        jobs(of: worker).filter { id in assignment(of: id).map { !departures.hasLeft($0.lease) } ?? false }
    }

    /// Takes them back because their tasks will not leave. Nobody has had them, so that an older attempt may go on.
    mutating func takeBackUnsent(of worker: WorkerID) -> [EffectID] {
        let unsent = unsent(of: worker)
        for id in unsent { forget(id, as: .returned) }
        return unsent
    }
}
