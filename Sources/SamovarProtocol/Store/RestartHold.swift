import SamovarCore

/// The open effects of before a restart, which wait until nobody can be running them unseen.
///
/// A worker of an earlier start may still hold a job. So its effect is offered only when all of those workers have spoken, are known to be
/// gone, or have been silent for too long.
struct RestartHold: Equatable {
    /// The workers that have not spoken yet.
    private(set) var awaited: Set<WorkerID>
    private var effects: Set<EffectID>

    /// Nothing is held without a worker that may run it.
    init(awaiting workers: Set<WorkerID> = [], effects: @autoclosure () -> [EffectID] = []) {
        awaited = workers
        self.effects = workers.isEmpty ? [] : Set(effects())
    }

    var isEmpty: Bool { awaited.isEmpty && effects.isEmpty }

    /// Whether an effect waits here, whatever else would let it be offered.
    func holds(_ effect: EffectID) -> Bool { effects.contains(effect) }

    /// A worker has spoken, or is known to be gone. Whether it was awaited.
    mutating func heard(_ worker: WorkerID) -> Bool { awaited.remove(worker) != nil }

    /// Lets everything go: the workers that have not spoken, and the effects, both in order.
    mutating func release() -> (missing: [WorkerID], effects: [EffectID]) {
        defer { self = RestartHold() }
        return (awaited.sorted(), effects.sorted())
    }
}
