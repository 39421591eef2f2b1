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

    /// The earliest of them; it may be that of an effect that was closed meanwhile.
    var nextTime: Timestamp? { heap.min?.time }

    mutating func insert(_ limit: Limit, of effect: EffectID, at time: Timestamp) {
        heap.insert(Deadline(time: time, effect: effect, limit: limit))
    }

    mutating func takeDue(now: Timestamp) -> [(EffectID, Limit)] {
        var due: [(EffectID, Limit)] = []
        while let first = heap.min, first.time <= now {
            due.append((first.effect, first.limit))
            heap.removeMin()
        }
        return due
    }
}
