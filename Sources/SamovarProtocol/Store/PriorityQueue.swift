import DequeModule
import SamovarCore

/// Effects that wait: the greater priority first, and within one priority first in, first out.
struct PriorityQueue {
    /// Greater and smaller priorities are taken for these, so that there are never more lanes than that.
    static let priorities = -100...100

    /// An effect, and the number of its row among the places.
    struct Entry {
        let effect: EffectID
        let place: Int
    }

    private struct Lane {
        let priority: Int
        var effects: Deque<Entry> = []
    }

    /// The greatest priority first; hardly ever more than one.
    private var lanes: [Lane] = []
    /// Its entries, stale ones included.
    private(set) var count = 0
    /// How many were left when stale ones were taken out last.
    private var kept = 0

    var isEmpty: Bool { lanes.allSatisfy(\.effects.isEmpty) }

    mutating func append(_ entry: Entry, priority: Int) {
        let priority = min(max(priority, Self.priorities.lowerBound), Self.priorities.upperBound)
        let place = lanes.firstIndex { $0.priority <= priority } ?? lanes.count
        if place == lanes.count || lanes[place].priority != priority { lanes.insert(Lane(priority: priority), at: place) }
        lanes[place].effects.append(entry)
        count += 1
    }

    /// The first entry of which this holds; those before it are stale and go.
    mutating func first(where isWaiting: (Entry) -> Bool) -> Entry? {
        for place in lanes.indices {
            while let first = lanes[place].effects.first {
                if isWaiting(first) { return first }
                lanes[place].effects.removeFirst()
                count -= 1
            }
        }
        return nil
    }

    /// Takes out what does not wait here any more, if it may be half of what there is.
    mutating func forgetStale(_ isWaiting: (Entry) -> Bool) {
        guard count > 2 * kept + 1_024 else { return }
        for place in lanes.indices { lanes[place].effects = lanes[place].effects.filter(isWaiting) }
        count = lanes.reduce(0) { $0 + $1.effects.count }
        kept = count
    }

    mutating func popFirst() -> Entry? {
        guard let place = lanes.firstIndex(where: { !$0.effects.isEmpty }) else { return nil }
        count -= 1
        return lanes[place].effects.popFirst()
    }
}
