import MessagePack
import SamovarCore

/// The store's health in one value, for `status`.
extension StoreMachine {
    /// The numbers of the state as it is, on disk or not.
    var facts: StoreFacts {
        StoreFacts(
            turn: head, sessions: state.sessions.sessions.count, openEffects: state.ledger.open.count,
            deadEffects: state.ledger.dead.count)
    }

    /// What `status` can tell at once, whatever waits at the gate: the turns on disk, and who is there.
    func statusOnFullDisk(since: Timestamp, now: Timestamp) -> MessagePackValue {
        .map(
            common(commits.durableFacts, now: now) + [
                MessagePackPair("diskFullSince", instant(since)),
                MessagePackPair("diskFullSeconds", number(Int((now - since).components.seconds))),
                MessagePackPair("workers", number(scheduler.dispatcher.workers.count)),
            ])
    }

    private func common(_ facts: StoreFacts, now: Timestamp) -> [MessagePackPair] {
        [
            MessagePackPair("program", .string(state.engine.schema.name)),
            MessagePackPair("schema", .int(Int64(state.engine.schema.version))),
            MessagePackPair("build", .string(identity.build)),
            MessagePackPair("timeline", .string("\(timeline)")),
            MessagePackPair("phase", .string(phaseName)),
            MessagePackPair("durability", .string(identity.durability)),
            MessagePackPair("turn", number(facts.turn)),
            MessagePackPair("durable", number(commits.durable)),
            MessagePackPair("starts", number(state.starts)),
            MessagePackPair("uptimeSeconds", number(Int((now - clock.started).components.seconds))),
            MessagePackPair("clients", number(connections.clientCount)),
            MessagePackPair("sessions", number(facts.sessions)),
            MessagePackPair("inbox", number(clients.inbox.count)),
            MessagePackPair("openEffects", number(facts.openEffects)),
            MessagePackPair("maximumOpenEffects", number(settings.openEffects)),
            MessagePackPair("deadEffects", number(facts.deadEffects)),
            MessagePackPair("maximumDeadEffects", number(settings.deadEffects)),
        ]
    }

    /// A timestamp of MessagePack, which texts and JSON show as a date.
    private func instant(_ time: Timestamp) -> MessagePackValue {
        let seconds = UInt32(clamping: time.microseconds / 1_000_000)
        return .extension(type: -1, bytes: (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) })
    }

    func status(now: Timestamp) -> MessagePackValue {
        let waiting = scheduler.dispatcher.waitingByQueue(in: state.ledger)
        let more: MessagePackValue = [
            "views": .string(views.off.map { "off: \($0)" } ?? "on"),
            "snapshots": .string((maintenanceIsOff ?? quarantine.verdict(on: .state)).map { "off: \($0)" } ?? "on"),
            "suspects": number(quarantine.suspects.list.count),
            "workers": .array(scheduler.dispatcher.workers.sorted { $0.key < $1.key }.map { worker($0.key, $0.value, now: now) }),
            "awaitedWorkers": number(scheduler.hold.awaited.count),
            "queues": .array(queues(waiting)),
            "viewTopics": [
                "count": number(viewTopics.count), "foreign": number(viewTopics.foreign), "overruns": number(viewTopics.overruns),
            ],
            "counters": [
                "applied": number(counters.applied),
                "refused": number(counters.refused),
                "results": number(counters.results),
                "lateResults": number(counters.lateResults),
                "quarantined": number(counters.quarantined),
                "deadWorkers": number(counters.deadWorkers),
                "droppedFrames": number(counters.droppedFrames),
                "unprovenWitnesses": number(counters.unprovenWitnesses),
                "batches": number(counters.batches),
                "views": number(counters.views),
            ],
        ]
        guard case .map(let pairs) = more else { return more }
        return .map(common(facts, now: now) + pairs)
    }

    private var phaseName: String {
        switch phase {
        case .recovering: "recovering"
        case .serving: commits.isFull ? "disk full" : "serving"
        case .draining: "draining"
        case .stopped: "stopped"
        }
    }

    private func worker(_ id: WorkerID, _ workerState: Dispatcher.WorkerState, now: Timestamp) -> MessagePackValue {
        [
            "id": .string("\(id)"),
            "slots": number(workerState.slots),
            "running": number(workerState.running),
            "queues": .array(workerState.queues.map { .string($0.name.bounded()) }),
            "progress": .array(progress(of: workerState)),
            "silentMilliseconds": number(Int((now - workerState.heard).microseconds / 1_000)),
        ]
    }

    /// What the jobs of a worker tell of themselves: at most 16, the oldest first.
    private func progress(of workerState: Dispatcher.WorkerState) -> [MessagePackValue] {
        scheduler.dispatcher.jobs(of: workerState.id).filter { scheduler.dispatcher.progress(of: $0) != nil }.sorted().prefix(16)
            .map { id in
                ["effect": .string("\(id)"), "progress": scheduler.dispatcher.progress(of: id)?.shown ?? .nil]
            }
    }

    private func queues(_ waiting: [Queue: Int]) -> [MessagePackValue] {
        let running = scheduler.dispatcher.runningByQueue()
        let names = Set(waiting.keys).union(running.keys)
        return names.sorted().map { queue in
            [
                "name": .string(queue.name.bounded()),
                "waiting": number(waiting[queue] ?? 0),
                "running": number(running[queue] ?? 0),
                "served": .bool(scheduler.dispatcher.isServed(queue)),
            ]
        }
    }

    /// At most 1,000 open and 1,000 dead effects, the oldest first, and no more payload than fits a reply.
    func effects() -> MessagePackValue {
        let open = shown(state.ledger.open.values.sorted { $0.id < $1.id }, \.payload).map { effect in
            let holder = scheduler.dispatcher.assignment(of: effect.id)
            return describe(
                effect,
                [
                    MessagePackPair("status", holder == nil ? "waiting" : "running"),
                    MessagePackPair("worker", holder.map { .string("\($0.worker)") } ?? .nil),
                    MessagePackPair("progress", scheduler.dispatcher.progress(of: effect.id)?.shown ?? .nil),
                    MessagePackPair("streamed", number(effect.place?.index ?? 0)),
                ])
        }
        let dead = shown(state.ledger.dead.values.sorted { $0.effect.id < $1.effect.id }, \.effect.payload).map { dead in
            describe(
                dead.effect,
                [MessagePackPair("status", "dead"), MessagePackPair("failure", .string("\(dead.failure)"))])
        }
        return [
            "openCount": number(state.ledger.open.count), "deadCount": number(state.ledger.dead.count), "open": .array(open),
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

    private func number(_ number: Int) -> MessagePackValue { .int(Int64(number)) }
}

/// Numbers of the state that `status` tells, as of one turn.
struct StoreFacts: Equatable {
    var turn = 0
    var sessions = 0
    var openEffects = 0
    var deadEffects = 0
}

extension JobProgress {
    fileprivate var shown: MessagePackValue {
        ["fraction": fraction.map { .double($0) } ?? .nil, "text": text.map { .string($0) } ?? .nil]
    }
}
