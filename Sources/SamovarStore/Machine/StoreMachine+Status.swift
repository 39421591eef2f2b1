import MessagePack
import SamovarCore
import SamovarWire

// The store's health in one value, for `status`. What has many branches is `mutating` without a change: “Methods that borrow a machine” in
// docs/decisions.md says why.
extension StoreMachine {
    /// What can be told at once while nothing is taken, whatever waits at the gate: the turns on disk, and who is there.
    func status(in outage: Outage, since: Timestamp, now: Timestamp) -> MessagePackValue {
        .map(
            common(turns.durableFacts, now: now) + [
                MessagePackPair(.string("\(outage.words.field)Since"), .instant(since)),
                MessagePackPair(.string("\(outage.words.field)Seconds"), .number(Int((now - since).components.seconds))),
                MessagePackPair("workers", .number(scheduler.dispatcher.workers.count)),
            ])
    }

    private func common(_ facts: StoreFacts, now: Timestamp) -> [MessagePackPair] {
        let schema = turns.state.engine.schema
        return [
            MessagePackPair("program", .string(schema.name)),
            MessagePackPair("schema", .number(schema.version)),
            MessagePackPair("build", .string(out.identity.build)),
            MessagePackPair("timeline", .string("\(out.identity.timeline)")),
            MessagePackPair("phase", .string(phaseName)),
            MessagePackPair("durability", .string(out.identity.durability)),
            MessagePackPair("turn", .number(facts.turn)),
            MessagePackPair("durable", .number(out.durable)),
            MessagePackPair("starts", .number(turns.state.starts)),
            MessagePackPair("uptimeSeconds", .number(Int((now - clock.started).components.seconds))),
            MessagePackPair("clients", .number(clients.connections.count)),
            MessagePackPair("maximumClients", .number(clients.limit)),
            MessagePackPair("sessions", .number(facts.sessions)),
            MessagePackPair("inbox", .number(clients.inbox.count)),
            MessagePackPair("openEffects", .number(facts.openEffects)),
            MessagePackPair("maximumOpenEffects", .number(settings.openEffects)),
            MessagePackPair("deadEffects", .number(facts.deadEffects)),
            MessagePackPair("maximumDeadEffects", .number(settings.deadEffects)),
        ]
    }

    var phaseName: String {
        let outage = turns.outage
        return switch phase {
        case .recovering: "recovering"
        case .serving: outage?.outage.words.phase ?? "serving"
        case .draining: "draining"
        case .stopped: "stopped"
        }
    }

    mutating func status(now: Timestamp) -> MessagePackValue {
        let counts = turns.counts
        let recent = recentPast(now: now)
        let snapshots = turns.quarantine.verdict(on: .maintenance) ?? turns.quarantine.verdict(on: .state)
        let more: [MessagePackPair] = [
            MessagePackPair("views", .string(readers.views.off.map { "off: \($0)" } ?? "on")),
            MessagePackPair("snapshots", .string(snapshots.map { "off: \($0)" } ?? "on")),
            MessagePackPair("stateDigestTurn", digests.written.map { .number($0.turn) } ?? .nil),
            MessagePackPair("stateDigestSeconds", digests.written.map { .number(Int((now - $0.time).components.seconds)) } ?? .nil),
            MessagePackPair("snapshotTurn", .number(self.snapshots.newest?.turn ?? 0)),
            MessagePackPair("snapshotTime", self.snapshots.newest.map { .instant($0.time) } ?? .nil),
            MessagePackPair("trimmedTurn", .number(measured.trimmed)),
            MessagePackPair(
                "lag", ["turns": .number(head - durable), "seconds": turns.commitAge(now: now).map { .seconds($0) } ?? .nil]),
            MessagePackPair("process", shownProcess),
            MessagePackPair("follower", followers.newest.map { describe($0, now: now) } ?? .nil),
            MessagePackPair("suspects", .number(turns.quarantine.suspects.list.count)),
            MessagePackPair("invariants", turns.invariants.map(\.shown) ?? .nil),
            MessagePackPair(
                "workers", .array(scheduler.dispatcher.workers.sorted { $0.key < $1.key }.map { describe($0.value, now: now) })),
            MessagePackPair("awaitedWorkers", .number(scheduler.awaited.count)),
            MessagePackPair("queues", .array(queues(recent, now: now))),
            MessagePackPair("paused", turns.state.ledger.controls.shownPaused),
            MessagePackPair("rules", turns.state.ledger.controls.shownRules),
            MessagePackPair(
                "viewTopics",
                [
                    "count": .number(viewTopics.count), "foreign": .number(viewTopics.foreign),
                    "overruns": .number(viewTopics.overruns),
                ]),
            MessagePackPair("keys", .array(access.keys.keys.map { describe($0, now: now) })),
            MessagePackPair("countersSince", .instant(clock.started)),
            MessagePackPair(
                "counters",
                [
                    "applied": .number(counts.applied + workers.applied + counts.kinds.firings),
                    "refused": .number(counts.refused),
                    "results": .number(workers.results),
                    "lateResults": .number(workers.lateResults),
                    "quarantined": .number(counts.quarantined),
                    "deadWorkers": .number(workers.deadWorkers),
                    "droppedFrames": .number(out.droppedFrames),
                    "refusedByKey": .number(access.refused),
                    "unprovenWitnesses": .number(out.unprovenWitnesses),
                    "laterStarts": .number(out.laterStarts),
                    "batches": .number(counts.batches),
                    "views": .number(readers.published),
                ]),
        ]
        return .map(common(turns.facts, now: now) + more + Self.shown(recent))
    }

    private func describe(_ follower: Followers.Newest, now: Timestamp) -> MessagePackValue {
        [
            "turn": .number(follower.turn),
            "comparedTurn": follower.compared > 0 ? .number(follower.compared) : .nil,
            "seconds": .number(Int((now - follower.heard).components.seconds)),
        ]
    }

    private mutating func describe(_ key: Key, now: Timestamp) -> MessagePackValue {
        [
            "name": .string("\(key.name)"),
            "fingerprint": .string("\(key.fingerprint)"),
            "roles": .array(key.roles.map(\.rawValue).sorted().map { .string($0) }),
            "valid": .bool(key.isValid(now: now)),
            "sessions": .number(clients.owned[key.name] ?? 0),
            "workers": .number(turns.state.workerKeys.values.count { $0 == key.name }),
        ]
    }

    private func describe(_ worker: Dispatcher.WorkerState, now: Timestamp) -> MessagePackValue {
        [
            "id": .string("\(worker.id)"),
            "key": turns.state.workerKeys[worker.id].map { .string("\($0)") } ?? .nil,
            "slots": .number(worker.slots),
            "running": .number(worker.running),
            "queues": .array(worker.queues.map { .string($0.name.bounded()) }),
            "can": .array(worker.capabilities.sorted().map { .string($0) }),
            "progress": .array(progress(of: worker)),
            "silentMilliseconds": .number(Int((now - worker.heard).microseconds / 1_000)),
        ]
    }

    /// What the jobs of a worker tell of themselves: at most 16, the oldest first.
    private func progress(of worker: Dispatcher.WorkerState) -> [MessagePackValue] {
        scheduler.dispatcher.progress(of: worker.id).prefix(16).map { effect, progress in
            ["effect": .string("\(effect)"), "progress": progress.shown]
        }
    }

    private mutating func queues(_ recent: RecentPast.Span?, now: Timestamp) -> [MessagePackValue] {
        let elsewhere = waitingElsewhere(now: now)
        let backlog = scheduler.dispatcher.backlog(in: turns.state.ledger, now: now)
        let known = Set(backlog.map(\.queue))
        let others = elsewhere.keys.filter { !known.contains($0) }.map {
            QueueBacklog(queue: $0, waiting: 0, running: 0, oldest: nil, slots: 0, isPaused: scheduler.dispatcher.isPaused($0))
        }
        return (backlog + others).sorted { $0.queue < $1.queue }.map { line in
            let more = elsewhere[line.queue] ?? (delayed: 0, behind: 0)
            let times = Self.shown(recent, line.queue)
            return [
                "name": .string(line.queue.name.bounded()),
                "waiting": .number(line.waiting),
                "oldestSeconds": line.oldest.map { .double(Double($0.microseconds / 1_000) / 1_000) } ?? .nil,
                "behind": .number(more.behind),
                "delayed": .number(more.delayed),
                "running": .number(line.running),
                "slots": .number(line.slots),
                "served": .bool(scheduler.dispatcher.isServed(line.queue)),
                "paused": .bool(line.isPaused),
                "wait": times?.wait ?? .nil,
                "attempt": times?.attempt ?? .nil,
            ]
        }
    }

    /// What waits for no worker, by queue: until a time, or behind another with its label or until that is resumed. Looks at all that is open, if
    /// there is any.
    mutating func waitingElsewhere(now: Timestamp) -> [Queue: (delayed: Int, behind: Int)] {
        let ledger = turns.state.ledger
        guard scheduler.dispatcher.placed < ledger.open.count else { return [:] }
        var counts: [Queue: (delayed: Int, behind: Int)] = [:]
        for effect in ledger.open.values {
            if ledger.isBlocked(effect) {
                // One that came to the front by a requeue may run behind another.
                if scheduler.dispatcher.assignment(of: effect.id) == nil { counts[effect.queue, default: (0, 0)].behind += 1 }
            } else if effect.notBefore > now {
                counts[effect.queue, default: (0, 0)].delayed += 1
            }
        }
        return counts
    }
}

extension MessagePackValue {
    /// A timestamp of MessagePack in whole seconds, which texts and JSON show as a date.
    static func instant(_ time: Timestamp) -> MessagePackValue {
        let seconds = UInt32(clamping: time.microseconds / 1_000_000)
        return .extension(type: -1, bytes: (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (24 - 8 * $0)) })
    }
}
