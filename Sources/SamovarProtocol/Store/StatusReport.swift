import MessagePack
import SamovarCore

/// The store's health in one value, for `status`.
struct StatusReport {
    let settings: StoreSettings
    let phase: StoreMachine.Phase
    let uptime: Duration
    let state: StoreState
    let commits: CommitPipeline
    let quarantine: Quarantine
    let facts: StoreFacts
    let counts: Turns.Counts
    let out: Outlet
    let clients: ClientSessions
    let scheduler: EffectScheduler
    let workers: Workers
    let firings: Firings
    let readers: Readers
    let viewTopics: ViewTopics

    /// What can be told at once while the disk is full, whatever waits at the gate: the turns on disk, and who is there.
    func onFullDisk(since: Timestamp, now: Timestamp) -> MessagePackValue {
        .map(
            common(commits.durableFacts) + [
                MessagePackPair("diskFullSince", instant(since)),
                MessagePackPair("diskFullSeconds", number(Int((now - since).components.seconds))),
                MessagePackPair("workers", number(scheduler.dispatcher.workers.count)),
            ])
    }

    private func common(_ facts: StoreFacts) -> [MessagePackPair] {
        let schema = state.engine.schema
        return [
            MessagePackPair("program", .string(schema.name)),
            MessagePackPair("schema", .int(Int64(schema.version))),
            MessagePackPair("build", .string(out.identity.build)),
            MessagePackPair("timeline", .string("\(out.identity.timeline)")),
            MessagePackPair("phase", .string(phaseName)),
            MessagePackPair("durability", .string(out.identity.durability)),
            MessagePackPair("turn", number(facts.turn)),
            MessagePackPair("durable", number(out.durable)),
            MessagePackPair("starts", number(state.starts)),
            MessagePackPair("uptimeSeconds", number(Int(uptime.components.seconds))),
            MessagePackPair("clients", number(clients.connections.count)),
            MessagePackPair("sessions", number(facts.sessions)),
            MessagePackPair("inbox", number(clients.inbox.count)),
            MessagePackPair("openEffects", number(facts.openEffects)),
            MessagePackPair("maximumOpenEffects", number(settings.openEffects)),
            MessagePackPair("deadEffects", number(facts.deadEffects)),
            MessagePackPair("maximumDeadEffects", number(settings.deadEffects)),
        ]
    }

    private var phaseName: String {
        switch phase {
        case .recovering: "recovering"
        case .serving: commits.isFull ? "disk full" : "serving"
        case .draining: "draining"
        case .stopped: "stopped"
        }
    }

    /// A timestamp of MessagePack, which texts and JSON show as a date.
    private func instant(_ time: Timestamp) -> MessagePackValue {
        let seconds = UInt32(clamping: time.microseconds / 1_000_000)
        return .extension(type: -1, bytes: (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) })
    }

    func value(now: Timestamp) -> MessagePackValue {
        let dispatcher = scheduler.dispatcher
        let snapshots = quarantine.verdict(on: .maintenance) ?? quarantine.verdict(on: .state)
        let more: [MessagePackPair] = [
            MessagePackPair("views", .string(readers.views.off.map { "off: \($0)" } ?? "on")),
            MessagePackPair("snapshots", .string(snapshots.map { "off: \($0)" } ?? "on")),
            MessagePackPair("suspects", number(quarantine.suspects.list.count)),
            MessagePackPair(
                "workers", .array(dispatcher.workers.sorted { $0.key < $1.key }.map { worker($0.value, now: now) })),
            MessagePackPair("awaitedWorkers", number(scheduler.hold.awaited.count)),
            MessagePackPair("queues", .array(queues)),
            MessagePackPair(
                "viewTopics",
                [
                    "count": number(viewTopics.count), "foreign": number(viewTopics.foreign),
                    "overruns": number(viewTopics.overruns),
                ]),
            MessagePackPair(
                "counters",
                [
                    "applied": number(counts.applied + workers.applied + firings.applied),
                    "refused": number(counts.refused),
                    "results": number(workers.results),
                    "lateResults": number(workers.lateResults),
                    "quarantined": number(counts.quarantined),
                    "deadWorkers": number(workers.deadWorkers),
                    "droppedFrames": number(out.droppedFrames),
                    "unprovenWitnesses": number(out.unprovenWitnesses),
                    "batches": number(counts.batches),
                    "views": number(readers.published),
                ]),
        ]
        return .map(common(facts) + more)
    }

    private func worker(_ worker: Dispatcher.WorkerState, now: Timestamp) -> MessagePackValue {
        [
            "id": .string("\(worker.id)"),
            "slots": number(worker.slots),
            "running": number(worker.running),
            "queues": .array(worker.queues.map { .string($0.name.bounded()) }),
            "progress": .array(progress(of: worker)),
            "silentMilliseconds": number(Int((now - worker.heard).microseconds / 1_000)),
        ]
    }

    /// What the jobs of a worker tell of themselves: at most 16, the oldest first.
    private func progress(of worker: Dispatcher.WorkerState) -> [MessagePackValue] {
        let dispatcher = scheduler.dispatcher
        return dispatcher.jobs(of: worker.id).filter { dispatcher.progress(of: $0) != nil }.sorted().prefix(16).map { id in
            ["effect": .string("\(id)"), "progress": dispatcher.progress(of: id)?.shown ?? .nil]
        }
    }

    private var queues: [MessagePackValue] {
        let waiting = scheduler.dispatcher.waitingByQueue(in: state.ledger)
        let running = scheduler.dispatcher.runningByQueue()
        return Set(waiting.keys).union(running.keys).sorted().map { queue in
            [
                "name": .string(queue.name.bounded()),
                "waiting": number(waiting[queue] ?? 0),
                "running": number(running[queue] ?? 0),
                "served": .bool(scheduler.dispatcher.isServed(queue)),
            ]
        }
    }
}

/// The effects that are open or dead, for `effects`.
struct EffectsReport {
    private let settings: StoreSettings
    private let ledger: EffectLedger
    private let dispatcher: Dispatcher

    init(_ settings: StoreSettings, _ ledger: EffectLedger, _ dispatcher: Dispatcher) {
        self.settings = settings
        self.ledger = ledger
        self.dispatcher = dispatcher
    }

    /// At most 1,000 open and 1,000 dead effects, the oldest first, and no more payload than fits a reply.
    var value: MessagePackValue {
        let open = shown(ledger.open.values.sorted { $0.id < $1.id }, \.payload).map { effect in
            let holder = dispatcher.assignment(of: effect.id)
            return describe(
                effect,
                [
                    MessagePackPair("status", holder == nil ? "waiting" : "running"),
                    MessagePackPair("worker", holder.map { .string("\($0.worker)") } ?? .nil),
                    MessagePackPair("progress", dispatcher.progress(of: effect.id)?.shown ?? .nil),
                    MessagePackPair("streamed", number(effect.place?.index ?? 0)),
                ])
        }
        let dead = shown(ledger.dead.values.sorted { $0.effect.id < $1.effect.id }, \.effect.payload).map { dead in
            describe(
                dead.effect,
                [MessagePackPair("status", "dead"), MessagePackPair("failure", .string("\(dead.failure)"))])
        }
        return [
            "openCount": number(ledger.open.count), "deadCount": number(ledger.dead.count), "open": .array(open),
            "dead": .array(dead),
        ]
    }

    private func shown<Entry>(_ entries: [Entry], _ payload: (Entry) -> [UInt8]) -> ArraySlice<Entry> {
        var room = settings.adminReplyBytes
        return entries.prefix(1_000).prefix {
            room -= payload($0).count
            return room >= 0
        }
    }

    private func describe(_ effect: OpenEffect, _ more: [MessagePackPair]) -> MessagePackValue {
        var reader = MessagePackReader(effect.payload)
        // What cannot be shown is shown as bytes: it must not hide the rest of the list.
        let payload = (try? reader.readValue()) ?? .binary(effect.payload)
        let common: [MessagePackPair] = [
            MessagePackPair("effect", .string("\(effect.id)")),
            MessagePackPair("queue", .string(effect.queue.name.bounded())),
            MessagePackPair("root", number(effect.root)),
            MessagePackPair("failures", number(effect.failures)),
            MessagePackPair("deaths", number(effect.deaths)),
            MessagePackPair("payload", payload),
        ]
        return .map(common + more)
    }
}

private func number(_ number: Int) -> MessagePackValue { .int(Int64(number)) }

extension JobProgress {
    fileprivate var shown: MessagePackValue {
        ["fraction": fraction.map { .double($0) } ?? .nil, "text": text.map { .string($0) } ?? .nil]
    }
}
