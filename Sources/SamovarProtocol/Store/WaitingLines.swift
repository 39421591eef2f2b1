import MessagePack
import SamovarCore

/// The effects that wait in one queue. A class, for the workers that serve the queue share it.
final class WaitingLine {
    let queue: Queue
    let isDefault: Bool
    let effects = Cell(PriorityQueue())
    /// How many workers serve it.
    var servers = 0

    init(_ queue: Queue) {
        self.queue = queue
        isDefault = queue == .default
    }
}

/// The lines in which effects wait, one for each queue.
///
/// A worker may name any queue, so lines in which nothing waits and that nobody serves are forgotten.
struct WaitingLines {
    private var lines: [Queue: WaitingLine] = [:]
    /// The newest line that was asked for: the next effect is likely to wait there, too.
    private var last: WaitingLine?

    /// Queues that are remembered.
    var count: Int { lines.count }
    /// What stands in them, stale or not.
    var entries: Int { lines.values.reduce(0) { $0 + $1.effects.value.count } }
    var all: some Collection<WaitingLine> { lines.values }

    mutating func append(_ entry: PriorityQueue.Entry, to queue: Queue, priority: Int) {
        if last?.queue != queue { last = line(of: queue) }
        last?.effects.value.append(entry, priority: priority)
    }

    /// The same for an effect without options.
    mutating func append(usual entry: PriorityQueue.Entry) {
        if last?.isDefault != true { last = line(of: .default) }
        last?.effects.value.append(entry, priority: 0)
    }

    private mutating func line(of queue: Queue) -> WaitingLine {
        let line = lines[queue] ?? WaitingLine(queue)
        lines[queue] = line
        return line
    }

    /// The lines that a worker serves from now on, in place of the former ones.
    mutating func serve(_ queues: [Queue], insteadOf former: [WaitingLine]) -> [WaitingLine] {
        let served = queues.map { line(of: $0) }
        for line in served { line.servers += 1 }
        for line in former { line.servers -= 1 }
        for line in former where line.servers == 0 && line.effects.value.isEmpty { forget(line) }
        return served
    }

    /// Forgets lines that nobody serves and in which nothing waits, and takes stale entries out of the others that nobody serves.
    mutating func forgetStale(_ isWaiting: (PriorityQueue.Entry) -> Bool) {
        for line in lines.values where line.servers == 0 {
            if line.effects.value.first(where: isWaiting) != nil {
                line.effects.value.forgetStale(isWaiting)
            } else {
                forget(line)
            }
        }
    }

    private mutating func forget(_ line: WaitingLine) {
        lines[line.queue] = nil
        if last === line { last = nil }
    }
}
