import DequeModule
import HeapModule
import SamovarCore

/// Effects that wait and are taken from their labels in turn: the greater priority first, and within one priority each label as often as its
/// weight says.
struct FairQueue {
    private let shares: QueueRules.Shares
    /// The greatest priority first.
    private var levels: [(priority: Int, labels: FairLevel)] = []
    /// Its entries, stale ones included.
    var count: Int { levels.reduce(0) { $0 + $1.labels.count } }

    init(_ shares: QueueRules.Shares) {
        self.shares = shares
    }

    mutating func append(_ entry: PriorityQueue.Entry, of label: Label?, priority: Int) {
        let priority = PriorityQueue.bounded(priority)
        let place = levels.firstIndex { $0.priority <= priority } ?? levels.count
        if place == levels.count || levels[place].priority != priority { levels.insert((priority, FairLevel()), at: place) }
        levels[place].labels.append(entry, of: label, weight: shares.weight(of: label))
    }

    /// The next entry of which this holds; those before it are stale and go.
    mutating func first(where isWaiting: (PriorityQueue.Entry) -> Bool) -> PriorityQueue.Entry? {
        for place in levels.indices {
            if let entry = levels[place].labels.first(where: isWaiting) { return entry }
        }
        return nil
    }

    /// Takes out the entry that `first` has found.
    mutating func removeFirst() {
        if let place = levels.firstIndex(where: { $0.labels.count > 0 }) { _ = levels[place].labels.popFirst() }
    }

    /// All entries with their priorities, label by label.
    var entries: [(entry: PriorityQueue.Entry, priority: Int)] {
        levels.flatMap { level in level.labels.entries.map { ($0, level.priority) } }
    }

    mutating func forgetStale(_ isWaiting: (PriorityQueue.Entry) -> Bool) {
        for place in levels.indices { levels[place].labels.forgetStale(isWaiting) }
    }
}

/// Labels of one priority, in turn.
///
/// Each has a pass, the virtual time of its next turn; the least is next, and then moves on by a stride, which is the shorter the greater its
/// weight. Virtual time moves on by one stride of all labels together, so that a label with its share keeps pace with it. One that has nothing
/// waiting keeps a pass that is still to come: lanes of one effect at a time come and go, and would be new each time. With a pass that is
/// over it is forgotten; when it comes again, it begins at virtual time, like one that is new, so that to be away gives no credit.
///
/// Source: Waldspurger, Weihl, “Stride Scheduling”, 1995, with the credit of those that come back left out.
struct FairLevel {
    /// A class, because its turns lead to it.
    private final class Member {
        let label: Label?
        let weight: Int
        var pass: Double
        var entries: Deque<PriorityQueue.Entry> = []
        /// That of its newest turn: older ones count no more.
        var turn = 0

        init(_ label: Label?, weight: Int, pass: Double) {
            self.label = label
            self.weight = weight
            self.pass = pass
        }
    }

    private struct Turn: Comparable {
        let pass: Double
        /// Between equal passes, who was first.
        let number: Int
        let member: Member

        var isNewest: Bool { member.turn == number }

        static func < (a: Turn, b: Turn) -> Bool { (a.pass, a.number) < (b.pass, b.number) }
        static func == (a: Turn, b: Turn) -> Bool { a.number == b.number }
    }

    /// So many labels that have nothing waiting keep their pass, beside as many as there are others.
    static let idleLimit = 1_024

    private var members: [Label?: Member] = [:]
    /// The next turns of labels in which something stands, one of each.
    private var waiting = Heap<Turn>()
    /// Those of the others, with some that do not count any more.
    private var idle = Heap<Turn>()
    private var virtualTime = 0.0
    /// That of all members.
    private var weight = 0
    private var turns = 0
    /// Entries, stale ones included.
    private(set) var count = 0
    /// How many were left when stale ones were taken out last.
    private var kept = 0

    /// In an order that the same events always give: that of the labels' turns.
    var entries: [PriorityQueue.Entry] { members.values.sorted { $0.turn < $1.turn }.flatMap(\.entries) }

    /// Labels of which something is remembered.
    var labels: Int { members.count }

    mutating func append(_ entry: PriorityQueue.Entry, of label: Label?, weight: Int) {
        let member = members[label] ?? enter(label, weight)
        member.entries.append(entry)
        count += 1
        if member.entries.count == 1 { waiting.insert(nextTurn(of: member)) }
    }

    private mutating func enter(_ label: Label?, _ weight: Int) -> Member {
        let member = Member(label, weight: weight, pass: virtualTime)
        members[label] = member
        self.weight += weight
        return member
    }

    private mutating func nextTurn(of member: Member) -> Turn {
        turns += 1
        member.turn = turns
        return Turn(pass: member.pass, number: turns, member: member)
    }

    /// The next entry of which this holds; those before it are stale and go, and no label pays for them.
    mutating func first(where isWaiting: (PriorityQueue.Entry) -> Bool) -> PriorityQueue.Entry? {
        while let member = waiting.min?.member {
            while let first = member.entries.first {
                if isWaiting(first) { return first }
                member.entries.removeFirst()
                count -= 1
            }
            waiting.removeMin()
            rest(member)
        }
        return nil
    }

    /// Takes the next entry, stale or not.
    mutating func popFirst() -> PriorityQueue.Entry? {
        guard let member = waiting.popMin()?.member, let entry = member.entries.popFirst() else { return nil }
        count -= 1
        // Those that came and went have left a little less than their share; or the others would be behind who comes next, more and more.
        virtualTime = max(virtualTime, member.pass) + 1 / Double(weight)
        member.pass += 1 / Double(member.weight)
        while let first = idle.min, first.pass <= virtualTime { forget(idle.removeMin()) }
        if member.entries.isEmpty { rest(member) } else { waiting.insert(nextTurn(of: member)) }
        return entry
    }

    /// A label has nothing waiting any more.
    private mutating func rest(_ member: Member) {
        let turn = nextTurn(of: member)
        if member.pass > virtualTime { idle.insert(turn) } else { forget(turn) }
        while members.count > 2 * waiting.count + Self.idleLimit, let first = idle.popMin() { forget(first) }
        if idle.count > 2 * members.count + Self.idleLimit { idle = Heap(idle.unordered.filter(\.isNewest)) }
    }

    /// Forgets a label that has nothing waiting, if this is its newest turn.
    private mutating func forget(_ turn: Turn) {
        guard turn.isNewest else { return }
        members[turn.member.label] = nil
        weight -= turn.member.weight
    }

    /// Takes out what does not wait here any more, and what is here twice, if it may be half of what there is.
    mutating func forgetStale(_ isWaiting: (PriorityQueue.Entry) -> Bool) {
        guard count > 2 * kept + 1_024 else { return }
        var seen: Set<EffectID> = []
        for member in members.values { member.entries.removeAll { !isWaiting($0) || !seen.insert($0.effect).inserted } }
        count = members.values.reduce(0) { $0 + $1.entries.count }
        kept = count
        let empty = waiting.unordered.filter { $0.member.entries.isEmpty }
        waiting = Heap(waiting.unordered.filter { !$0.member.entries.isEmpty })
        for turn in empty { rest(turn.member) }
    }
}
