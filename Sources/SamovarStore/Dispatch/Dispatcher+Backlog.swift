import DequeModule
import SamovarCore
import SamovarWire

/// What waits, and for whom.
extension Dispatcher {
    func isServed(_ queue: Queue) -> Bool { isServed(LineName(queue: queue)) }

    func isServed(_ line: LineName) -> Bool {
        workers.values.contains { !$0.isLeaving && $0.serves(line) }
    }

    /// Lines in which something waits, suspects included, and that nobody serves; those of queues that are paused wait for something else.
    func unservedLines(in ledger: EffectLedger) -> Set<LineName> {
        var names: Set<LineName> = []
        for line in lines.all where line.governor?.isPaused != true && (line.servers == 0 || !isServed(line.name)) {
            if line.first(where: { places.isWaiting($0.effect, at: $0.place) }) != nil { names.insert(line.name) }
        }
        for id in suspects where waits(id) != nil {
            guard let line = ledger.open[id]?.line, !names.contains(line), !isPaused(line.queue), !isServed(line) else { continue }
            names.insert(line)
        }
        return names
    }

    /// How many effects wait in each line, suspects included. Looks at all of them.
    func waitingByLine(in ledger: EffectLedger) -> [LineName: Int] {
        var counts: [LineName: Int] = [:]
        for place in places.taken where place.isWaiting {
            if let line = place.effect.flatMap({ ledger.open[$0]?.line }) { counts[line, default: 0] += 1 }
        }
        return counts
    }

    /// How it stands with each queue in which something waits or runs, that has rules or is paused, or that a worker serves, by name. Looks at
    /// all that waits or runs.
    func backlog(in ledger: EffectLedger, now: Timestamp) -> [QueueBacklog] {
        var tallies: [Queue: (waiting: Int, running: Int, since: Timestamp?, slots: Int)] = [:]
        func change(_ queue: Queue, _ body: (inout (waiting: Int, running: Int, since: Timestamp?, slots: Int)) -> Void) {
            body(&tallies[queue, default: (0, 0, nil, 0)])
        }
        for place in places.taken {
            guard place.isWaiting else {
                change(place.queue) { $0.running += 1 }
                continue
            }
            guard let queue = place.effect.flatMap({ ledger.open[$0]?.queue }) else { continue }
            change(queue) {
                $0.waiting += 1
                $0.since = min(place.since, $0.since ?? place.since)
            }
        }
        for (queue, _) in lines.governed { change(queue) { _ in } }
        for worker in workers.values where !worker.isLeaving {
            for queue in worker.queues { change(queue) { $0.slots += min(worker.slots, worker.limits[queue] ?? .max) } }
        }
        return tallies.sorted { $0.key < $1.key }.map { queue, tally in
            QueueBacklog(
                queue: queue, waiting: tally.waiting, running: tally.running, oldest: tally.since.map { now - $0 },
                slots: tally.slots, isPaused: isPaused(queue))
        }
    }
}
