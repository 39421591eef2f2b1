import MessagePack
import SamovarCore
import SamovarWire

/// What operators change: dead effects, and what is paused or has rules. The program is told, in the same batch.
extension Operators {
    /// One thing that is done, and what the program is told of it.
    private struct Change {
        let record: Record.Event
        let notice: OperatorNotice

        /// A number for it, the same after a restart.
        var call: ProgramCall {
            switch notice {
            case .requeued(let id, _): .operated(Self.number(1, id))
            case .dropped(let id, _): .operated(Self.number(2, id))
            case .controlled(let control):
                .operated(control.canonicalBytes.withUnsafeBytes { wyhash($0, seed: 3) })
            }
        }

        private static func number(_ kind: UInt64, _ id: EffectID) -> UInt64 {
            [Int64(id.turn), Int64(id.ordinal)].withUnsafeBytes { wyhash($0, seed: kind) }
        }
    }

    mutating func change(
        _ request: AdminRequest, by sender: Sender?, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns,
        _ out: inout Outlet
    ) throws(StopReason) -> Result<MessagePackValue, AdminRefusal> {
        let word = ["requeue": "requeued", "drop": "dropped"][request.verb]
        let ids: [EffectID]
        let changes: [Change]
        do throws(AdminRefusal) {
            ids = word != nil ? try effects(of: request, turns.state) : []
            changes =
                switch request.verb {
                case "requeue": try requeue(ids, turns.state)
                case "drop": try drop(ids, turns.state.ledger)
                default: try control(request, turns.state.ledger)
                }
        } catch {
            return .failure(error)
        }
        // What ended the store waits until it can be alone.
        for change in changes where !turns.mayTake(change.call) {
            return .failure(AdminRefusal(text: "the store is just finding out what has ended it: ask again"))
        }
        // What the program makes of each belongs to the same batch, which must not grow without a limit. What it made of those before may have
        // been the next one's end, and what ended the store comes alone: either is for the next request.
        var taken = 0
        let former = turns.state.ledger.controls
        while taken < changes.count,
            taken == 0 || turns.canTake && isPossible(changes[taken], turns.state) && turns.mayTake(changes[taken].call)
        {
            try carryOut(changes[taken], by: sender, now: now, &scheduler, &turns, &out)
            taken += 1
        }
        if let word { return .success(done(Array(ids.prefix(taken)), word, request, turns.state.ledger)) }
        let controls = turns.state.ledger.controls
        return .success(
            ["paused": controls.shownPaused, "rules": controls.shownRules, "changed": .bool(controls != former)])
    }

    private func isPossible(_ change: Change, _ state: borrowing StoreState) -> Bool {
        switch change.record {
        case .requeued(let id): state.ledger.dead[id].map { !state.isAbandoned($0.effect) } ?? false
        case .dropped(let id): state.ledger.isKept(id)
        default: true
        }
    }

    private func carryOut(
        _ change: Change, by sender: Sender?, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns,
        _ out: inout Outlet
    ) throws(StopReason) {
        var queue: Queue?
        if case .dropped(let id) = change.record {
            queue = turns.state.ledger.open[id]?.queue ?? turns.state.ledger.dead[id]?.effect.queue
        }
        let taken = try turns.take(
            change.call, .operated(change.notice, sender), .operator, sender: sender, root: nil, after: change.record,
            now: now, &out)
        // The program does not survive to be told; the request stands.
        if case .givenUp = taken { turns.write(change.record, origin: .operator, sender: sender, now: now) }
        if case .dropped(let id) = change.record, let queue { scheduler.close(id, as: .dropped, of: queue) }
        _ = turns.enterOrders()
        scheduler.follow(now: now, &turns)
    }

    private func requeue(_ ids: [EffectID], _ state: StoreState) throws(AdminRefusal) -> [Change] {
        try ids.map { id throws(AdminRefusal) in
            guard let dead = state.ledger.dead[id] else { throw AdminRefusal(text: "effect \(id) is not dead") }
            if state.isAbandoned(dead.effect) {
                throw AdminRefusal(text: "effect \(id) is of a source that the program does not want any more: drop it")
            }
            return Change(record: .requeued(id), notice: .requeued(id, payload: dead.effect.payload))
        }
    }

    private func drop(_ ids: [EffectID], _ ledger: EffectLedger) throws(AdminRefusal) -> [Change] {
        try ids.map { id throws(AdminRefusal) in
            guard let effect = ledger.dead[id]?.effect ?? ledger.open[id] else {
                throw AdminRefusal(text: "effect \(id) is neither open nor dead")
            }
            return Change(record: .dropped(id), notice: .dropped(id, payload: effect.payload))
        }
    }

    private func control(_ request: AdminRequest, _ ledger: EffectLedger) throws(AdminRefusal) -> [Change] {
        let arguments = request.arguments
        let control: Control =
            switch request.verb {
            case "pause": .pause(try Self.place(arguments))
            case "resume": .resume(try Self.place(arguments))
            default: try Self.rule(arguments)
            }
        var controls = ledger.controls
        controls.take(control)
        guard controls.count <= max(settings.operatorControls, ledger.controls.count) else {
            throw AdminRefusal(text: "\(settings.operatorControls) pauses and rules are the most that operators may set")
        }
        // What is set with a longer one, as by the program, can be taken away.
        guard controls.count < ledger.controls.count || Self.names(in: control).allSatisfy(Self.isShort) else {
            throw AdminRefusal(text: "a name has at most 1,024 bytes")
        }
        return [Change(record: .controlled(control), notice: .controlled(control))]
    }

    /// No longer than the name of a worker's queue. Each start and each snapshot reads or writes what is set.
    private static func isShort(_ name: String) -> Bool { name.utf8.count <= WorkerOffer.queueLimit }

    private static func names(in control: Control) -> [String] {
        switch control {
        case .requeue, .drop: []
        case .pause(.queue(let queue)), .resume(.queue(let queue)): [queue.name]
        case .pause(.label(let label)), .resume(.label(let label)): [label.text]
        case .rule(let queue, let rules): [queue.name] + (rules.shares?.weights.keys.map(\.text) ?? [])
        }
    }

    private static func place(_ arguments: MessagePackValue) throws(AdminRefusal) -> QueueOrLabel {
        if let queue = try EffectFilter.text("queue", arguments) { return .queue(Queue(queue)) }
        if let label = try EffectFilter.text("label", arguments) { return .label(Label(label)) }
        throw AdminRefusal(text: "which one? name a queue or a label")
    }

    /// What is not named is as without a rule.
    private static func rule(_ arguments: MessagePackValue) throws(AdminRefusal) -> Control {
        guard let queue = try EffectFilter.text("queue", arguments) else { throw AdminRefusal(text: "which queue?") }
        var rules = QueueRules()
        let count = try number("rate", arguments, 1...QueueRules.Rate.limit)
        let interval = try number("milliseconds", arguments, 1...QueueRules.Rate.longestInterval)
        let burst = try number("burst", arguments, 1...1_000_000)
        if let count {
            rules.rate = QueueRules.Rate(count, per: .milliseconds(interval ?? 1_000), burst: burst)
        } else if interval != nil || burst != nil {
            // Passed over, they would take the rate of the queue away.
            throw AdminRefusal(text: "milliseconds and burst are for a rate: name the rate, too")
        }
        let others = try number("others", arguments, QueueRules.Shares.range)
        switch arguments["shares"] {
        case nil: if let others { rules.shares = QueueRules.Shares(others: others) }
        case .map(let pairs)?:
            var weights: [Label: Int] = [:]
            for pair in pairs {
                guard case .string(let label) = pair.key, case .int(let weight) = pair.value,
                    QueueRules.Shares.range.contains(Int(weight))
                else { throw AdminRefusal(text: "shares are a map from labels to weights, from 1 to 1,000") }
                weights[Label(label)] = Int(weight)
            }
            rules.shares = QueueRules.Shares(weights, others: others ?? 1)
        default: throw AdminRefusal(text: "shares are a map from labels to weights, from 1 to 1,000")
        }
        return .rule(Queue(queue), rules)
    }

    private static func number(
        _ name: String, _ arguments: MessagePackValue, _ range: ClosedRange<Int>
    ) throws(AdminRefusal) -> Int? {
        switch arguments[name] {
        case nil: return nil
        case .int(let number)? where range.contains(Int(number)): return Int(number)
        default: throw AdminRefusal(text: "\(name) is a number from \(range.lowerBound) to \(range.upperBound)")
        }
    }
}

extension QueueControls {
    var shownPaused: MessagePackValue {
        .array(
            controls.compactMap { control in
                switch control {
                case .pause(.queue(let queue)): ["queue": .string(queue.name.bounded())]
                case .pause(.label(let label)): ["label": .string(label.text.bounded())]
                default: nil
                }
            })
    }

    var shownRules: MessagePackValue {
        .array(controls.compactMap { if case .rule = $0 { $0.shown } else { nil } })
    }
}
