import DequeModule
import SamovarCore

/// Effects that wait: the greater priority first, and within one priority first in, first out.
struct PriorityQueue {
    /// Greater and smaller priorities are taken for these, so that there are never more levels than that.
    static let priorities = -100...100

    /// An effect, and the number of its row among the places.
    struct Entry {
        let effect: EffectID
        let place: Int
    }

    private struct Level {
        let priority: Int
        var effects: Deque<Entry> = []
    }

    /// The greatest priority first; hardly ever more than one.
    private var levels: [Level] = []
    /// Its entries, stale ones included.
    private(set) var count = 0
    /// How many were left when stale ones were taken out last.
    private var kept = 0

    static func bounded(_ priority: Int) -> Int { min(max(priority, priorities.lowerBound), priorities.upperBound) }

    /// All entries with their priorities, in order.
    var entries: [(entry: Entry, priority: Int)] {
        levels.flatMap { level in level.effects.map { ($0, level.priority) } }
    }

    mutating func append(_ entry: Entry, priority: Int) {
        let priority = Self.bounded(priority)
        let place = levels.firstIndex { $0.priority <= priority } ?? levels.count
        if place == levels.count || levels[place].priority != priority { levels.insert(Level(priority: priority), at: place) }
        levels[place].effects.append(entry)
        count += 1
    }

    /// The first entry of which this holds; those before it are stale and go.
    mutating func first(where isWaiting: (Entry) -> Bool) -> Entry? {
        for place in levels.indices {
            while let first = levels[place].effects.first {
                if isWaiting(first) { return first }
                levels[place].effects.removeFirst()
                count -= 1
            }
        }
        return nil
    }

    /// Takes out what does not wait here any more, and what is here twice, if it may be half of what there is.
    mutating func forgetStale(_ isWaiting: (Entry) -> Bool) {
        guard count > 2 * kept + 1_024 else { return }
        var seen: Set<EffectID> = []
        for place in levels.indices {
            levels[place].effects.removeAll { !isWaiting($0) || !seen.insert($0.effect).inserted }
        }
        count = levels.reduce(0) { $0 + $1.effects.count }
        kept = count
    }

    mutating func popFirst() -> Entry? {
        guard let place = levels.firstIndex(where: { !$0.effects.isEmpty }) else { return nil }
        count -= 1
        return levels[place].effects.popFirst()
    }
}
