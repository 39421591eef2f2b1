import MessagePack
import SamovarCore

/// The effects that wait in one queue for workers that can do the same. A class, for the workers that serve it share it.
final class WaitingLine {
    let queue: Queue
    /// What its workers must be able to do.
    let needs: Set<String>
    /// Whether effects without options wait here.
    let isDefault: Bool
    /// Empty if labels have shares.
    let effects = Cell(PriorityQueue())
    private let order: Cell<Order>
    var servers = 0

    private struct Order {
        /// Nil if nothing holds the queue back.
        var governor: QueueGovernor?
        /// What waits, if labels have shares.
        var fair: FairQueue?
    }

    init(_ name: LineName, _ governor: QueueGovernor?) {
        queue = name.queue
        needs = name.needs
        isDefault = name == LineName(queue: .default)
        order = Cell(Order(governor: governor, fair: governor?.shares.map { FairQueue($0) }))
    }

    /// Nil if nothing holds the queue back.
    fileprivate(set) var governor: QueueGovernor? {
        @inline(__always) get { order.value.governor }
        set { order.value.governor = newValue }
    }

    var name: LineName { LineName(queue: queue, needs: needs) }

    /// What stands in it, stale or not.
    var count: Int { order.value.fair?.count ?? effects.value.count }

    @inline(__always)
    func append(_ entry: PriorityQueue.Entry, of label: @autoclosure () -> Label?, priority: Int) {
        if order.value.fair == nil { return effects.value.append(entry, priority: priority) }
        order.value.fair?.append(entry, of: label(), priority: priority)
    }

    /// The first entry of which this holds; those before it are stale and go.
    func first(where isWaiting: (PriorityQueue.Entry) -> Bool) -> PriorityQueue.Entry? {
        order.value.fair?.first(where: isWaiting) ?? effects.value.first(where: isWaiting)
    }

    /// Takes out the entry that `first` has found.
    func removeFirst() {
        if order.value.fair == nil { _ = effects.value.popFirst() } else { order.value.fair?.removeFirst() }
    }

    func forgetStale(_ isWaiting: (PriorityQueue.Entry) -> Bool) {
        order.value.fair?.forgetStale(isWaiting)
        effects.value.forgetStale(isWaiting)
    }

    /// Lines what waits up anew, since the shares have changed; what came first is first.
    ///
    /// - Parameter age: since when an effect waits, and its label; nil if it does not.
    fileprivate func rebuild(_ age: (PriorityQueue.Entry) -> (since: Timestamp, label: Label?)?) {
        let former = order.value.fair?.entries ?? effects.value.entries
        let waiting = former.enumerated().compactMap { place, entry in
            age(entry.entry).map { (since: $0.since, place: place, label: $0.label, entry: entry) }
        }
        order.value.fair = governor?.shares.map { FairQueue($0) }
        effects.value = PriorityQueue()
        for waiting in waiting.sorted(by: { ($0.since, $0.place) < ($1.since, $1.place) }) {
            append(waiting.entry.entry, of: waiting.label, priority: waiting.entry.priority)
        }
    }
}

/// The lines in which effects wait, one for each queue, and one more for all that need the same of their workers.
///
/// A worker may name any queue, so lines in which nothing waits and that nobody serves are forgotten. So are those with needs in which nothing
/// waits, whoever serves them: each effect might need something else.
struct WaitingLines {
    /// By their queue, and by what their workers must be able to do.
    private(set) var lines: [Queue: [Set<String>: WaitingLine]] = [:]
    /// The newest line that was asked for: the next effect is likely to wait there, too.
    private var last: WaitingLine?
    /// What holds queues back, whether anything waits in them or not.
    private var governors: [Queue: QueueGovernor] = [:]
    /// The queue of which a token is kept for a suspect.
    private var keeping: Queue?

    var all: [WaitingLine] { lines.values.flatMap(\.values) }

    /// Lets an effect wait in its line; returns the line if it is new and workers may serve it that do not have it.
    mutating func append(_ entry: PriorityQueue.Entry, _ options: RunOptions) -> WaitingLine? {
        var new: WaitingLine?
        if last?.queue != options.queue || last?.needs != options.needs {
            let isNew = !options.needs.isEmpty && lines[options.queue]?[options.needs] == nil
            last = line(LineName(queue: options.queue, needs: options.needs))
            if isNew { new = last }
        }
        last?.append(entry, of: options.id, priority: options.priority)
        return new
    }

    /// The same for an effect without options.
    mutating func append(usual entry: PriorityQueue.Entry) {
        if last?.isDefault != true { last = line(LineName(queue: .default)) }
        last?.append(entry, of: nil, priority: 0)
    }

    private mutating func line(_ name: LineName) -> WaitingLine {
        if let line = lines[name.queue]?[name.needs] { return line }
        let line = WaitingLine(name, governor(of: name.queue))
        lines[name.queue, default: [:]][name.needs] = line
        return line
    }

    /// The lines that a worker serves from now on, in place of the former ones: queue by queue, and those with most needs first.
    mutating func serve(
        _ queues: [Queue], can capabilities: Set<String> = [], insteadOf former: [WaitingLine]
    ) -> [WaitingLine] {
        var served: [WaitingLine] = []
        for queue in queues {
            _ = line(LineName(queue: queue))
            let able = lines[queue, default: [:]].values.filter { $0.needs.isSubset(of: capabilities) }
            served += able.sorted { $0.name < $1.name }
        }
        for line in served { line.servers += 1 }
        for line in former { line.servers -= 1 }
        for line in former where line.servers == 0 && line.count == 0 { forget(line) }
        return served
    }

    /// Forgets lines in which nothing waits, if nobody serves them or they have needs, and takes stale entries out of the others: who serves
    /// one may have no room for long. Returns lines that workers have still.
    mutating func forgetStale(_ isWaiting: (PriorityQueue.Entry) -> Bool) -> [WaitingLine] {
        var forgotten: [WaitingLine] = []
        for line in all {
            if line.first(where: isWaiting) != nil {
                line.forgetStale(isWaiting)
            } else if line.servers == 0 || !line.needs.isEmpty {
                if line.servers > 0 { forgotten.append(line) }
                forget(line)
            }
        }
        return forgotten
    }

    private mutating func forget(_ line: WaitingLine) {
        lines[line.queue]?[line.needs] = nil
        if lines[line.queue]?.isEmpty == true { lines[line.queue] = nil }
        if last === line { last = nil }
    }

    // MARK: What holds queues back

    /// Nil if nothing does.
    func governor(of queue: Queue) -> QueueGovernor? {
        // A former rate holds nothing back.
        governors.isEmpty ? nil : governors[queue].flatMap { $0.isNeeded ? $0 : nil }
    }

    var governed: some Sequence<(Queue, QueueGovernor)> { governors.lazy.filter { $0.value.isNeeded }.map { ($0.key, $0.value) } }

    mutating func setPaused(_ queue: Queue, _ isPaused: Bool) {
        govern(queue) { $0.isPaused = isPaused }
        // Nothing but the pause is lost with it, or a former rate would be.
        if let governor = governors[queue], governor.isBlank { governors[queue] = nil }
    }

    /// - Parameter age: since when an effect waits, and its label; nil if it does not.
    mutating func rule(
        _ queue: Queue, _ rules: QueueRules, isNew: Bool, now: Timestamp,
        age: (PriorityQueue.Entry) -> (since: Timestamp, label: Label?)?
    ) {
        let former = governors[queue]?.shares
        govern(queue) { $0.rule(rules, isNew: isNew, now: now) }
        if rules.shares != former { for line in lines[queue, default: [:]].values { line.rebuild(age) } }
        // Of those that are not needed any more, former rates may be left, until their buckets are full.
        governors = governors.filter { !$0.value.isOver(at: now) }
    }

    /// Keeps a token of this queue for a suspect, and of no other.
    mutating func keepToken(of queue: Queue?) {
        if let keeping { governors[keeping]?.keepsOne = false }
        if let queue { governors[queue]?.keepsOne = true }
        keeping = queue
    }

    private mutating func govern(_ queue: Queue, _ body: (QueueGovernor) -> Void) {
        let governor = governors[queue] ?? QueueGovernor()
        governors[queue] = governor
        body(governor)
        let needed = self.governor(of: queue)
        for line in lines[queue, default: [:]].values { line.governor = needed }
    }
}
