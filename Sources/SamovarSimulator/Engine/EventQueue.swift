import HeapModule
import SamovarCore

/// A point in virtual time: microseconds since the world began.
typealias Instant = Int64

let milliseconds: Instant = 1_000
let seconds: Instant = 1_000_000

/// What will happen when: the only queue of the world.
///
/// Events of one instant happen in an order that the seed draws, so that no test depends on the order in which things were
/// planned.
struct EventQueue {
    private struct Entry: Comparable {
        let time: Instant
        let tie: UInt64
        let id: Int
        let event: Event

        static func == (a: Entry, b: Entry) -> Bool { a.id == b.id }
        static func < (a: Entry, b: Entry) -> Bool { (a.time, a.tie, a.id) < (b.time, b.tie, b.id) }
    }

    private var heap = Heap<Entry>()
    private var random: SeededRandom
    private var planned = 0

    init(random: SeededRandom) {
        self.random = random
    }

    mutating func add(_ event: Event, at time: Instant) {
        planned += 1
        heap.insert(Entry(time: time, tie: random.word(), id: planned, event: event))
    }

    mutating func next() -> (time: Instant, event: Event)? {
        heap.popMin().map { ($0.time, $0.event) }
    }
}

/// What can happen. Whoever it concerns may be gone by then: an incarnation or a link that is no more is left alone.
enum Event {
    /// A process does one round of its loop.
    case round(Process, incarnation: Int)
    case connected(Link)
    /// The peer of a link notices that it is broken.
    case broke(Link)
    case arrive(Link, Direction)
    /// Whatever else: it is no part of the trace. The world keeps it, so it must not keep the world.
    case happen(() throws(Violation) -> Void)
}
