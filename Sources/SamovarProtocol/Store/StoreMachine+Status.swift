import MessagePack
import SamovarCore

/// The store's health in one value, for `status`.
extension StoreMachine {
    func status(now: Timestamp) -> MessagePackValue {
        let waiting = dispatcher.waitingByQueue(in: state.ledger)
        return [
            "program": .string(state.engine.schema.name),
            "schema": .int(Int64(state.engine.schema.version)),
            "build": .string(build),
            "timeline": .string("\(timeline)"),
            "phase": .string(phaseName),
            "durability": "every accepted message is synced to disk before anybody hears of it",
            "turn": number(head),
            "durable": number(gate.durable),
            "starts": number(state.starts),
            "uptimeSeconds": number(Int((now - startTime).components.seconds)),
            "clients": number(peers.values.count { if case .client = $0 { true } else { false } }),
            "sessions": number(state.sessions.sessions.count),
            "inbox": number(inboxCount),
            "openEffects": number(state.ledger.open.count),
            "maximumOpenEffects": number(settings.openEffects),
            "deadEffects": number(state.ledger.dead.count),
            "views": .string(viewsOff.map { "off: \($0)" } ?? "on"),
            "suspects": number(suspects.list.count),
            "workers": .array(dispatcher.workers.sorted { $0.key < $1.key }.map { worker($0.key, $0.value, now: now) }),
            "awaitedWorkers": number(awaited.count),
            "queues": .array(queues(waiting)),
            "counters": [
                "applied": number(counters.applied),
                "refused": number(counters.refused),
                "results": number(counters.results),
                "lateResults": number(counters.lateResults),
                "quarantined": number(counters.quarantined),
                "deadWorkers": number(counters.deadWorkers),
                "droppedFrames": number(counters.droppedFrames),
                "batches": number(counters.batches),
                "views": number(counters.views),
            ],
        ]
    }

    private var phaseName: String {
        switch phase {
        case .recovering: "recovering"
        case .serving: isJournalFull ? "disk full" : "serving"
        case .draining: "draining"
        case .stopped: "stopped"
        }
    }

    private func worker(_ id: WorkerID, _ desk: Dispatcher.WorkerDesk, now: Timestamp) -> MessagePackValue {
        [
            "id": .string("\(id)"),
            "slots": number(desk.slots),
            "running": number(desk.jobs.count),
            "queues": .array(desk.queues.map { .string($0.name) }),
            "silentMilliseconds": number(Int((now - desk.heard).microseconds / 1_000)),
        ]
    }

    private func queues(_ waiting: [Queue: Int]) -> [MessagePackValue] {
        var running: [Queue: Int] = [:]
        for id in dispatcher.assignments.keys {
            if let queue = state.ledger.open[id]?.queue { running[queue, default: 0] += 1 }
        }
        let names = Set(waiting.keys).union(running.keys)
        return names.sorted().map { queue in
            [
                "name": .string(queue.name),
                "waiting": number(waiting[queue] ?? 0),
                "running": number(running[queue] ?? 0),
                "served": .bool(dispatcher.isServed(queue)),
            ]
        }
    }

    /// At most 1,000 open effects, the oldest first, and every dead one.
    func effects() -> MessagePackValue {
        let open = state.ledger.open.values.sorted { $0.id < $1.id }.prefix(1_000).map { effect in
            let holder = dispatcher.assignments[effect.id]
            return describe(
                effect,
                [
                    MessagePackPair("status", holder == nil ? "waiting" : "running"),
                    MessagePackPair("worker", holder.map { .string("\($0.worker)") } ?? .nil),
                ])
        }
        let dead = state.ledger.dead.values.sorted { $0.effect.id < $1.effect.id }.map { dead in
            describe(
                dead.effect,
                [MessagePackPair("status", "dead"), MessagePackPair("failure", .string("\(dead.failure)"))])
        }
        return ["openCount": number(state.ledger.open.count), "open": .array(open), "dead": .array(dead)]
    }

    private func describe(_ effect: OpenEffect, _ more: [MessagePackPair]) -> MessagePackValue {
        var reader = MessagePackReader(effect.payload)
        // What cannot be shown is shown as bytes: it must not hide the rest of the list.
        let payload = (try? reader.readValue()) ?? .binary(effect.payload)
        let common: [MessagePackPair] = [
            MessagePackPair("effect", .string("\(effect.id)")),
            MessagePackPair("queue", .string(effect.queue.name)),
            MessagePackPair("root", number(effect.root)),
            MessagePackPair("failures", number(effect.failures)),
            MessagePackPair("deaths", number(effect.deaths)),
            MessagePackPair("payload", payload),
        ]
        return .map(common + more)
    }

    private func number(_ number: Int) -> MessagePackValue { .int(Int64(number)) }
}
