import SamovarCore

/// What is told of queues from time to time: to the log where no worker serves what waits, and to the host how much waits.
struct QueueWatch {
    /// Where effects wait that no worker serves: each line is warned of once, if it lasts, until a worker has served it.
    private var lines: [LineName: (since: Timestamp, isWarned: Bool)] = [:]

    private var nextBacklog = Timestamp(microseconds: .min)

    mutating func serve(_ worker: Dispatcher.WorkerState) {
        lines = lines.filter { !worker.serves($0.key) }
    }

    /// A tick: looks for lines that have lasted so for a while, and tells the backlog if it is time.
    ///
    /// - Parameter head: nil while commits are held up, for what is told would gather at the gate.
    mutating func tick(
        _ dispatcher: Dispatcher, _ ledger: EffectLedger, _ settings: StoreSettings, head: Int?, now: Timestamp,
        _ out: inout Outlet
    ) {
        warn(dispatcher, ledger, after: settings.unservedWarning, now: now, &out)
        guard let head, let interval = settings.backlogInterval, now >= nextBacklog else { return }
        // Ticks are never early, and may be a little late.
        nextBacklog = now + (interval - settings.tickInterval / 2)
        out.emit(.backlog(dispatcher.backlog(in: ledger, now: now)), floor: .turn(head))
    }

    private mutating func warn(
        _ dispatcher: Dispatcher, _ ledger: EffectLedger, after patience: Duration, now: Timestamp, _ out: inout Outlet
    ) {
        let unserved = dispatcher.unservedLines(in: ledger)
        lines = lines.filter { unserved.contains($0.key) }
        for line in unserved where lines[line] == nil { lines[line] = (now, false) }
        let due = lines.filter { !$0.value.isWarned && now - $0.value.since >= patience }.keys.sorted()
        guard !due.isEmpty else { return }
        // To count looks at all that wait, so it is done once for each line.
        let waiting = dispatcher.waitingByLine(in: ledger)
        for line in due {
            lines[line]?.isWarned = true
            let number = waiting[line] ?? 0
            let what = "\(count(number, "effect")) \(number == 1 ? "waits" : "wait") in queue \(line)"
            out.note(.warning, "\(what), and no worker serves it")
        }
    }
}
