import MessagePack
public import SamovarCore
import SamovarWire

// The store's numbers for a monitoring system, for `metrics`. What can be derived is derived when it is asked for.
// What has many branches is `mutating` without a change: “Methods that borrow a machine” in docs/decisions.md says why.
extension StoreMachine {
    /// Queues of which times are told by name; the others share theirs, or there would be too many series.
    private static let timedQueues = 20

    /// An operator asks for metrics, of which the host knows some.
    mutating func askForMetrics(_ request: AdminRequest, from route: Route, by identity: Identity) {
        guard waiting.metrics.count < settings.waiters else { return out.refuse(route, "too many requests wait") }
        waiting.metrics.append((request.id, route, identity))
        out.emit(.measureProcess, floor: .none)
    }

    /// The host has measured its process, for those who have asked and for `status`. While commits wait they are told of nothing but turns on disk.
    public mutating func processMeasured(_ facts: ProcessFacts, now: Timestamp) {
        measured.process = facts
        tellOfClock(facts.clockStep)
        guard isRunning, !waiting.metrics.isEmpty else { return waiting.metrics.removeAll() }
        let isHeldUp = turns.outage != nil
        let families = common(isHeldUp: isHeldUp) + process(facts) + (isHeldUp ? [] : counted() + byQueue(now: time(now)))
        let value: MessagePackValue = ["families": .array(families.map(\.value))]
        for (id, route, identity) in waiting.metrics {
            if !isHeldUp, head > durable { waiting.answers[route] = (identity, head) }
            out.send(.reply(AdminReply(id: id, value: value)), to: route, floor: isHeldUp ? .none : .turn(head))
        }
        waiting.metrics.removeAll()
    }

    private mutating func tellOfClock(_ step: Duration) {
        guard isRunning, let seconds = clock.strayed(step)?.components.seconds else { return }
        let way = seconds < 0 ? "\(-seconds) s behind" : "\(seconds) s ahead of"
        let consequence = "timers, and the ends of keys, go by that; a restart takes a later time, and no earlier one"
        out.note(.warning, "the clock of this machine was set, and is \(way) the store's time: \(consequence)")
    }

    // MARK: What can be told at any time

    private mutating func common(isHeldUp: Bool) -> [MetricFamily] {
        var build = MetricFamily(.gauge, "build_info", "The program, the version of its types, and its build; always 1.")
        build.add(
            1,
            [
                ("program", schema.name.bounded()), ("schema", "\(schema.version)"), ("build", out.identity.build.bounded()),
            ])
        var phase = MetricFamily(.gauge, "phase", "1 for the phase that the store is in, 0 for the others.")
        for name in Self.phases { phase.add(phaseName == name ? 1 : 0, [("phase", name.replacing(" ", with: "_"))]) }
        return [
            .one(.gauge, "up", "1: the store has answered.", 1), build, phase,
            .one(
                .counter, "starts", "The number of the newest start; with a journal in PostgreSQL there are gaps.",
                turns.state.starts),
            .one(.gauge, "start_time_seconds", "When this process began to serve, since 1970.", Self.seconds(clock.started)),
            .one(
                .gauge, "turn", "The newest turn; while commits wait, the newest on disk.",
                isHeldUp ? turns.durableFacts.turn : head),
            .one(.gauge, "durable_turn", "The newest turn on disk.", durable),
            .one(.gauge, "disk_full", "1 while the journal has no space.", turns.outage?.outage == .diskFull ? 1 : 0),
            .one(.gauge, "workers", "Workers that are connected.", scheduler.dispatcher.workers.count),
            .one(.gauge, "clients", "Clients that are connected.", clients.connections.count),
            .one(
                .counter, "frames_dropped", "Messages on the store's sockets that were no frames of a known peer.",
                out.droppedFrames),
        ]
    }

    private static let phases = [
        "recovering", "serving", "draining", "stopped", Outage.diskFull.words.phase, Outage.databaseAway.words.phase,
        Outage.leaseInDoubt.words.phase,
    ]

    private func process(_ facts: ProcessFacts) -> [MetricFamily] {
        let role = [("role", "store")]
        var cpu = MetricFamily(.counter, "process_cpu_seconds", "Processor time of the store's process.")
        cpu.add(.double(facts.process.processorSeconds), role)
        var memory = MetricFamily(.gauge, "process_resident_bytes", "Resident memory of the store's process.")
        memory.add(Int(facts.process.residentBytes), role)
        let file = facts.journalBytes.map {
            MetricFamily.one(.gauge, "journal_file_bytes", "Size of the journal's files; not told where it is in a database.", $0)
        }
        let free = facts.freeBytes.map {
            MetricFamily.one(.gauge, "disk_free_bytes", "What is free where the data folder is, for the store's user.", $0)
        }
        return [cpu, memory] + [file, free].compactMap(\.self)
    }

    private static func seconds(_ time: Timestamp) -> MessagePackValue { .double(Double(time.microseconds) / 1_000_000) }

    // MARK: What tells of turns

    private mutating func counted() -> [MetricFamily] {
        let (counts, facts, kinds) = (turns.counts, turns.facts, turns.counts.kinds)
        var turnKinds = MetricFamily(.counter, "turns", "Turns of this process, by what was taken.")
        for (kind, count) in [
            ("input", kinds.inputs), ("answer", kinds.answers), ("failure", kinds.failures), ("timer", kinds.firings),
            ("operator", kinds.operated), ("follow_up", kinds.followUps), ("record", head - measured.firstTurn - kinds.sum),
        ] { turnKinds.add(count, [("kind", kind)]) }
        var inputs = MetricFamily(.counter, "inputs", "Inputs of clients, by what became of them.")
        for (verdict, count) in [
            ("applied", counts.applied), ("refused", counts.refused - counts.rejected), ("rejected", counts.rejected),
        ] { inputs.add(count, [("verdict", verdict)]) }
        var slots = MetricFamily(.gauge, "worker_slots", "Slots of all workers.")
        let workers = scheduler.dispatcher.workers.values
        let busy = workers.reduce(0) { $0 + min($1.running, $1.slots) }
        slots.add(busy, [("state", "busy")])
        slots.add(workers.reduce(0) { $0 + $1.slots } - busy, [("state", "free")])
        return [
            turnKinds, inputs,
            .one(.counter, "commits", "Batches that the journal has confirmed.", counts.commitTimes.count),
            .one(.counter, "journal_bytes", "Bytes of all batches that were given to the journal.", counts.journalBytes),
            .one(.counter, "worker_deaths", "Workers that died, or fell silent.", self.workers.deadWorkers),
            .one(.counter, "views", "Views that were published.", readers.published),
            .one(.gauge, "inbox_inputs", "Inputs that wait for their turn.", clients.inbox.count), slots,
            .one(.gauge, "sessions", "Sessions of clients that are remembered.", facts.sessions),
            .one(.gauge, "suspects", "Items that are suspected of having ended the store.", turns.quarantine.suspects.list.count),
            .one(
                .gauge, "invariants_broken", "Invariants that were seen broken since the start; 0, too, where nobody looks.",
                turns.invariants?.breaches.count ?? 0),
            .one(.gauge, "views_enabled", "1 while views are made.", readers.views.off == nil ? 1 : 0),
            .one(.gauge, "snapshot_turn", "The turn of the newest snapshot; 0 before the first.", snapshots.newest?.turn ?? 0),
            .one(
                .gauge, "snapshot_time_seconds", "When that turn was, since 1970; 0 before the first snapshot.",
                snapshots.newest.map { Self.seconds($0.time) } ?? .number(0)),
            .one(
                "commit_seconds", "From the round that ends a batch until the store hears that it is on disk.", counts.commitTimes),
            .one("round_seconds", "A round of the store's loop, from the events that woke it.", measured.rounds),
            .one("view_seconds", "Making a view.", measured.views),
        ]
    }

    // MARK: Queues

    private mutating func byQueue(now: Timestamp) -> [MetricFamily] {
        let states = effects(now: now)
        let meters = scheduler.dispatcher.meters
        var effects = MetricFamily(.gauge, "effects", "Effects that are open or dead.")
        var served = MetricFamily(.gauge, "queue_served", "1 if a worker serves the queue.")
        var closed = MetricFamily(.counter, "effects_closed", "Effects that ended, by how.")
        var attempts = MetricFamily(.counter, "attempts", "Attempts that ended, by how.")
        var waits = MetricFamily(.histogram, "effect_wait_seconds", "How long an effect waited before it was handed out.")
        var runs = MetricFamily(.histogram, "attempt_seconds", "From handing out an effect to the end of the attempt.")
        var (otherWaits, otherRuns) = (DurationHistogram(), DurationHistogram())
        for (number, queue) in meters.all {
            let label = [("queue", queue.name)]
            let isRest = number == QueueMeters.limit
            let known = states[number] ?? [:]
            for state in EffectState.allCases { effects.add(known[state] ?? 0, label + [("state", state.rawValue)]) }
            if !isRest { served.add(scheduler.dispatcher.isServed(queue) ? 1 : 0, label) }
            for outcome in ClosingOutcome.allCases {
                closed.add(meters.closings(number, outcome), label + [("outcome", outcome.name)])
            }
            for outcome in AttemptOutcome.allCases {
                attempts.add(meters.attempts(number, outcome), label + [("outcome", outcome.name)])
            }
            if number < Self.timedQueues {
                waits.add(meters.waits(number), label)
                runs.add(meters.runs(number), label)
            } else {
                otherWaits.add(meters.waits(number))
                otherRuns.add(meters.runs(number))
            }
        }
        let label = [("queue", QueueMeters.rest.name)]
        waits.add(otherWaits, label)
        runs.add(otherRuns, label)
        return [effects, served, closed, attempts, waits, runs]
    }

    private enum EffectState: String, CaseIterable {
        case waiting, running, delayed, behind, dead
    }

    /// How many effects there are of each queue, by its number. Looks at all that are open or dead.
    private mutating func effects(now: Timestamp) -> [Int: [EffectState: Int]] {
        var states: [Int: [EffectState: Int]] = [:]
        func add(_ count: Int, _ state: EffectState, _ number: Int) {
            if count > 0 { states[number, default: [:]][state, default: 0] += count }
        }
        for line in scheduler.dispatcher.backlog(in: turns.state.ledger, now: now) {
            let number = scheduler.dispatcher.meters.number(of: line.queue)
            add(line.waiting, .waiting, number)
            add(line.running, .running, number)
        }
        for (queue, counts) in waitingElsewhere(now: now).sorted(by: { $0.key < $1.key }) {
            let number = scheduler.dispatcher.meters.number(of: queue)
            add(counts.delayed, .delayed, number)
            add(counts.behind, .behind, number)
        }
        let dead = turns.state.ledger.dead.values.reduce(into: [Queue: Int]()) { $0[$1.effect.queue, default: 0] += 1 }
        for (queue, count) in dead.sorted(by: { $0.key < $1.key }) {
            add(count, .dead, scheduler.dispatcher.meters.number(of: queue))
        }
        return states
    }
}
