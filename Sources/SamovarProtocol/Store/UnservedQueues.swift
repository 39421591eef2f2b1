import SamovarCore

/// Queues in which effects wait and that no worker serves: each is warned of once, if it lasts.
struct UnservedQueues {
    private var queues: [Queue: (since: Timestamp, isWarned: Bool)] = [:]

    /// Those to be warned of now, in order.
    ///
    /// - Parameter unserved: all that there are; of the others nothing is remembered.
    mutating func due(of unserved: Set<Queue>, now: Timestamp, after pause: Duration) -> [Queue] {
        queues = queues.filter { unserved.contains($0.key) }
        var due: [Queue] = []
        for queue in unserved.sorted() {
            let entry = queues[queue] ?? (since: now, isWarned: false)
            let isDue = !entry.isWarned && now - entry.since >= pause
            if isDue { due.append(queue) }
            queues[queue] = (entry.since, entry.isWarned || isDue)
        }
        return due
    }

    /// A worker serves it now.
    mutating func forget(_ queue: Queue) {
        queues[queue] = nil
    }
}
