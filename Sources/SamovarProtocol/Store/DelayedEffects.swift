import HeapModule
import SamovarCore

/// Effects that wait for some time before another attempt.
struct DelayedEffects {
    private struct Due: Comparable {
        let time: Timestamp
        let effect: EffectID

        static func < (a: Due, b: Due) -> Bool { (a.time, a.effect) < (b.time, b.effect) }
    }

    private var heap = Heap<Due>()

    /// When the earliest is due; it may be closed by then.
    var nextTime: Timestamp? { heap.min?.time }

    mutating func insert(_ effect: EffectID, until time: Timestamp) {
        heap.insert(Due(time: time, effect: effect))
    }

    /// Those whose delay is over.
    mutating func takeDue(now: Timestamp) -> [EffectID] {
        var due: [EffectID] = []
        while let first = heap.min, first.time <= now {
            due.append(first.effect)
            heap.removeMin()
        }
        return due
    }

    /// Forgets those that were closed meanwhile, if they are many.
    mutating func forgetClosed(exceptOf ledger: EffectLedger) {
        guard heap.count > 2 * ledger.open.count + 1_024 else { return }
        heap = Heap(heap.unordered.filter { ledger.open[$0.effect]?.notBefore == $0.time })
    }
}
