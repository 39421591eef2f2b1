import HeapModule
import SamovarCore

/// What is due at some time: the earliest first, and what is due at once in its own order. Memory only: it follows from the books.
///
/// Who is done before its time leaves its entry behind, so whoever takes one looks whether it still counts.
struct TimedQueue<Entry: Comparable & Hashable> {
    private struct Due: Comparable {
        let time: Timestamp
        let entry: Entry

        static func < (a: Due, b: Due) -> Bool { (a.time, a.entry) < (b.time, b.entry) }
    }

    private var heap = Heap<Due>()

    var count: Int { heap.count }
    var nextTime: Timestamp? { heap.min?.time }

    mutating func insert(_ entry: Entry, at time: Timestamp) {
        heap.insert(Due(time: time, entry: entry))
    }

    mutating func popDue(now: Timestamp) -> Entry? {
        guard let first = heap.min, first.time <= now else { return nil }
        heap.removeMin()
        return first.entry
    }

    /// Forgets what does not count any more and what is here twice, if there may be much of it: more entries than so many.
    mutating func keep(ifBeyond limit: Int, where counts: (Entry, Timestamp) -> Bool) {
        guard heap.count > limit else { return }
        var seen: Set<Entry> = []
        heap = Heap(heap.unordered.filter { counts($0.entry, $0.time) && seen.insert($0.entry).inserted })
    }
}
