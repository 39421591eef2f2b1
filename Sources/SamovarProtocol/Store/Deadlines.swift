import HeapModule
import SamovarCore

/// When effects will have waited or taken too long. Memory only: it follows from the books, and after a restart is built anew.
struct Deadlines {
    enum Limit: Int {
        /// It waits for a worker.
        case waiting
        /// All attempts together.
        case total
    }

    private struct Deadline: Comparable {
        let time: Timestamp
        let effect: EffectID
        let limit: Limit

        static func < (a: Deadline, b: Deadline) -> Bool {
            (a.time, a.effect, a.limit.rawValue) < (b.time, b.effect, b.limit.rawValue)
        }
    }

    private var heap = Heap<Deadline>()

    /// Those of effects that were closed meanwhile included.
    var count: Int { heap.count }

    /// The earliest of them; it may be that of an effect that was closed meanwhile.
    var nextTime: Timestamp? { heap.min?.time }

    mutating func insert(_ limit: Limit, of effect: EffectID, at time: Timestamp) {
        heap.insert(Deadline(time: time, effect: effect, limit: limit))
    }

    /// The earliest that is due. It may have been met.
    mutating func popDue(now: Timestamp) -> (effect: EffectID, limit: Limit)? {
        guard let first = heap.min, first.time <= now else { return nil }
        heap.removeMin()
        return (first.effect, first.limit)
    }

    /// Forgets the others.
    mutating func keep(where isOpen: (EffectID, Limit, Timestamp) -> Bool) {
        heap = Heap(heap.unordered.filter { isOpen($0.effect, $0.limit, $0.time) })
    }
}
