import SamovarCore

/// Clients: sessions, inputs, outcomes, requests.
extension StoreMachine {
    mutating func greet(_ hello: Hello, session: SessionID, of seen: Timeline, at route: Route, now: Timestamp) {
        if let mismatch = mismatch(hello.schema, what: "client") {
            return send(.error(PeerError(.schema, mismatch)), to: route, floor: .none)
        }
        if hasLostTail(hello, of: seen, what: "a client") { return }
        if commits.isFull {
            // A client that is sent away is not silent: its session must be there when it comes again.
            clients.heard(session, now: now)
            // A WELCOME would wait at the gate for the disk, and the peer in silence.
            return refuse(route, "the disk of the store is full")
        }
        if let end = state.sessions.end(of: session, witness: seen == timeline ? hello.witness : 0) {
            return send(.error(PeerError(.sessionExpired, end.text)), to: route, floor: .turn(head))
        }
        if clients[session] == nil, clients.count >= settings.sessions { expireIdlest(now: now) }
        if clients[session] == nil, clients.count >= settings.sessions {
            return refuse(route, "the store keeps \(settings.sessions) sessions and has no room for another")
        }
        guard isNewest(hello.epoch, of: session, at: route, clients[session]?.route) else { return }
        if let old = clients[session]?.route, old != route {
            send(.error(PeerError(.superseded, "another connection uses this session")), to: old, floor: .none)
            forget(old)
        }
        if let other = connections[route], other != .client(session) { forget(route) }
        let last = state.sessions.last(of: session)
        let client = clients.join(session, hello, last: last, at: route, now: now)
        connections.connect(.client(session), at: route)
        let welcome = Welcome(
            schema: state.engine.schema, expected: last + 1, credit: credit(of: client), head: commits.durable,
            silence: settings.silence)
        send(.welcome(welcome), isProven: client.takesProofs, to: route, floor: .turn(head))
    }

    mutating func clientSent(_ frame: Frame, _ session: SessionID, at route: Route, now: Timestamp) {
        switch frame {
        case .ping(let confirmed):
            confirm(confirmed, of: session)
            let client = clients[session]
            send(.pong(client.map { credit(of: $0) } ?? 0), isProven: client?.takesProofs ?? false, to: route, floor: .none)
        case .send(let submissions, let confirmed):
            confirm(confirmed, of: session)
            take(submissions, of: session, at: route)
        case .settle(let turn): settle(turn, for: route)
        case .viewRequest(let wanted, let turn):
            guard wanted == instance else { return misuse("there is no instance \(wanted)", route) }
            if commits.isFull, let shown = views.shown, turn <= shown.turn {
                // No newer one can be on disk soon, and this one is.
                let frame = Frame.view(instance: instance, turn: shown.turn, bytes: shown.bytes)
                return send(frame, to: route, floor: .none)
            }
            guard turn > head else { return sendView(to: route) }
            guard waiters.count < settings.waiters else { return refuse(route, "too many requests wait") }
            waiters.view(turn, route: route)
        case .outputsRequest(let wanted, let place, let waits):
            guard wanted == instance else { return misuse("there is no instance \(wanted)", route) }
            ask(outputsAfter: place, waits: waits, for: route)
        case .viewsRequest(let wanted, let turn):
            guard wanted == instance else { return misuse("there is no instance \(wanted)", route) }
            ask(viewsAfter: turn, for: route, now: now)
        case .goodbye:
            forget(route)
            clients.remove(session)
            connections.forget(session)
            // The origin tells that its client ended it. A session without a record is nothing to remember.
            let last = state.sessions.last(of: session)
            if last > 0 { write(.sessionExpired(session), origin: .client(session: session, sequence: last + 1), now: now) }
        default: misuse("\(frame.kind) is not for clients to send", route)
        }
    }

    mutating func sendReceipts() {
        for client in clients.answered {
            // It may have gone meanwhile.
            guard let (outcomes, route) = client.takeOutcomes() else { continue }
            let frame = Frame.receipt(outcomes, credit: credit(of: client))
            send(frame, isProven: client.takesProofs, to: route, floor: .turn(head))
        }
        clients.endRound()
    }

    private func credit(of client: ClientSession) -> Int {
        client.credit(last: state.sessions.last(of: client.id), window: settings.window)
    }

    private mutating func confirm(_ sequence: Int, of session: SessionID) {
        let confirmed = min(sequence, state.sessions.last(of: session))
        guard let client = clients[session], client.confirm(confirmed) else { return }
        state.sessions.confirm(confirmed, in: session)
    }

    private mutating func take(_ submissions: [Submission], of session: SessionID, at route: Route) {
        guard let client = clients[session] else { return }
        let last = state.sessions.last(of: session)
        let credit = credit(of: client)
        for submission in submissions {
            guard submission.sequence > 0 else {
                let text = "there is no input \(submission.sequence): the inputs of a session are numbered from 1"
                return misuse(text, route)
            }
            let received = client.received
            if submission.sequence <= received, client.fingerprints.differs(submission) {
                let text = "input \(submission.sequence) of this session was another one: do two processes use it?"
                return send(.error(PeerError(.misuse, text)), to: route, floor: .turn(head))
            }
            if submission.sequence <= last {
                // Sent again: the same answer again, when the turn that it tells of is on disk.
                if let outcome = state.sessions.outcome(of: submission.sequence, in: session) { clients.answer(client, outcome) }
            } else if submission.sequence > received {
                guard submission.sequence == received + 1 else {
                    let error = PeerError(.resync, "number \(received + 1) is next", expected: received + 1)
                    return send(.error(error), to: route, floor: .none)
                }
                if let reason = reasonToRefuse(submission, credit: credit) { return refuse(route, reason) }
                clients.enqueue(submission, of: client)
            }
        }
    }

    /// Refused at the listener, nothing is lost: the client keeps it and comes again. What is in the inbox is taken for certain.
    private func reasonToRefuse(_ submission: Submission, credit: Int) -> String? {
        if phase != .serving { return "the store is about to stop" }
        if commits.isFull { return "the disk of the store is full" }
        if submission.sequence > credit { return "the session's window is full" }
        if !clients.inbox.hasRoom(for: submission, settings) { return "the store's inbox is full" }
        if state.ledger.open.count >= settings.openEffectsAtDoor {
            return "\(state.ledger.open.count) effects are open; inputs are taken again when fewer are"
        }
        if state.ledger.dead.count >= settings.deadEffects {
            return
                "\(state.ledger.dead.count) effects are dead; inputs are taken again when an operator has requeued or dropped some"
        }
        return nil
    }

    /// There are so many effects, open or dead, that nothing may order more which can wait.
    var hasTooManyEffects: Bool {
        state.ledger.open.count >= settings.openEffectsAtDoor || state.ledger.dead.count >= settings.deadEffects
    }

    mutating func refuse(_ route: Route, _ reason: String) {
        send(.error(PeerError(.retryLater, reason, wait: .seconds(1))), to: route, floor: .none)
    }

    private mutating func settle(_ turn: Int, for route: Route) {
        guard turn > 0, turn <= head else { return misuse("there is no turn \(turn) yet", route) }
        if state.ledger.isSettled(turn) {
            let frame = Frame.settled(turn: turn, dead: state.ledger.report(of: turn))
            return send(frame, to: route, floor: .turn(head))
        }
        guard waiters.count < settings.waiters else { return refuse(route, "too many requests wait") }
        waiters.settle(turn, route: route)
    }

    /// A connection is gone; what it asked for is not answered any more.
    mutating func forget(_ route: Route) {
        switch connections.disconnect(route) {
        case .client(let session): clients.disconnect(session, from: route)
        case .worker, nil: answers.disconnect(route)
        }
        waiters.forget(route)
        feed.leave(route)
        cancellations.remove(route)
        streamMarks.remove(route)
    }

    /// What a root still waits for, in one sentence.
    func waitReport(of root: Int) -> String {
        waiters.reports[root] ?? "\(count(state.ledger.openCount(of: root), "effect")) open"
    }

    /// Makes the reports of all roots anew, in one look at the open effects.
    mutating func remakeWaitReportsIfDue() {
        guard waiters.reportsAreDue(effects: state.ledger.open.count, perTick: settings.reportedEffects) else { return }
        var tallies: [Int: [Queue: (running: Int, waiting: Int)]] = [:]
        for effect in state.ledger.open.values where waiters.settling[effect.root] != nil {
            let isRunning = scheduler.dispatcher.assignment(of: effect.id) != nil
            tallies[effect.root, default: [:]][effect.queue, default: (0, 0)].running += isRunning ? 1 : 0
            tallies[effect.root, default: [:]][effect.queue, default: (0, 0)].waiting += isRunning ? 0 : 1
        }
        waiters.report(tallies.mapValues { waitReport(of: $0) })
    }

    private func waitReport(of tallies: [Queue: (running: Int, waiting: Int)]) -> String {
        var parts: [String] = []
        for (queue, (running, waiting)) in tallies.sorted(by: { $0.key < $1.key }) {
            if running > 0 { parts.append("\(count(running, "effect")) running in queue \(queue)") }
            if waiting > 0 {
                let why = scheduler.dispatcher.isServed(queue) ? "" : ", no worker serves it"
                parts.append("\(count(waiting, "effect")) \(waiting == 1 ? "waits" : "wait") in queue \(queue)\(why)")
            }
        }
        return parts.joined(separator: "; ").bounded()
    }
}

func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
