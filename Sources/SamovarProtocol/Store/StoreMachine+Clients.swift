import SamovarCore

/// Clients: sessions, inputs, outcomes, requests.
extension StoreMachine {
    mutating func greet(_ hello: Hello, session: SessionID, of seen: Timeline, at route: Route, now: Timestamp) {
        if let mismatch = mismatch(hello.schema, what: "client") {
            return send(.error(PeerError(.schema, mismatch)), to: route, floor: .none)
        }
        if hasLostTail(hello, of: seen, what: "a client") { return }
        if isJournalFull {
            // A client that is sent away is not silent: its session must be there when it comes again.
            clients[session]?.heard = now
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
        guard isNewest(hello.attempt, of: session, at: route, clients[session]?.route) else { return }
        if let old = clients[session]?.route, old != route {
            send(.error(PeerError(.superseded, "another connection uses this session")), to: old, floor: .none)
            forget(old)
        }
        if let other = peers[route], other != .client(session) { forget(route) }
        clearInbox(of: session)
        let last = state.sessions.last(of: session)
        let client = clients[session] ?? ClientSession(session, route: route, received: last, heard: now)
        client.route = route
        client.received = last
        client.fingerprints.drop(after: last)
        client.heard = now
        client.isDurable = hello.isDurable
        client.takesProofs = hello.takesProofs
        clients[session] = client
        peers[route] = .client(session)
        let welcome = Welcome(
            schema: state.engine.schema, expected: last + 1, credit: credit(of: client), head: gate.durable,
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
            if isJournalFull, let shownView, turn <= shownView.turn {
                // No newer one can be on disk soon, and this one is.
                let frame = Frame.view(instance: instance, turn: shownView.turn, bytes: shownView.bytes)
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
            clearInbox(of: session)
            clients[session] = nil
            attempts[session] = nil
            // The origin tells that its client ended it. A session without a record is nothing to remember.
            let last = state.sessions.last(of: session)
            if last > 0 { write(.sessionExpired(session), origin: .client(session: session, sequence: last + 1), now: now) }
        default: misuse("\(frame.kind) is not for clients to send", route)
        }
    }

    /// Tells a client at the end of the round what became of an input, if it is there.
    mutating func answer(_ client: ClientSession, _ outcome: Outcome) {
        guard client.route != nil else { return }
        if client.outcomes.isEmpty { answered.append(client) }
        client.outcomes.append(outcome)
    }

    mutating func sendReceipts() {
        for client in answered {
            // It may have gone meanwhile.
            guard let route = client.route, !client.outcomes.isEmpty else { continue }
            let frame = Frame.receipt(client.outcomes, credit: credit(of: client))
            send(frame, isProven: client.takesProofs, to: route, floor: .turn(head))
            client.outcomes = []
        }
        answered.removeAll(keepingCapacity: true)
    }

    /// The number up to which a client may send: a window beyond what it has confirmed.
    func credit(of client: ClientSession) -> Int {
        // Before the first confirmation after a restart, the client's own numbers tell how far it was.
        let confirmed = max(client.confirmed, state.sessions.last(of: client.session) - settings.window)
        return confirmed + settings.window
    }

    private mutating func confirm(_ sequence: Int, of session: SessionID) {
        let confirmed = min(sequence, state.sessions.last(of: session))
        guard let client = clients[session], confirmed > client.confirmed else { return }
        clients[session]?.confirmed = confirmed
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
                if let outcome = state.sessions.outcome(of: submission.sequence, in: session) { answer(client, outcome) }
            } else if submission.sequence > received {
                guard submission.sequence == received + 1 else {
                    let error = PeerError(.resync, "number \(received + 1) is next", expected: received + 1)
                    return send(.error(error), to: route, floor: .none)
                }
                if let reason = reasonToRefuse(submission, credit: credit) { return refuse(route, reason) }
                enqueue(submission, at: client)
            }
        }
    }

    /// Refused at the listener, nothing is lost: the client keeps it and comes again. What is in the inbox is taken for certain.
    private func reasonToRefuse(_ submission: Submission, credit: Int) -> String? {
        if phase != .serving { return "the store is about to stop" }
        if isJournalFull { return "the disk of the store is full" }
        if submission.sequence > credit { return "the session's window is full" }
        if !inbox.hasRoom(for: submission, settings) { return "the store's inbox is full" }
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

    private mutating func enqueue(_ submission: Submission, at client: ClientSession) {
        client.received = submission.sequence
        client.fingerprints.append(submission, limit: fingerprintLimit)
        inbox.append(submission, of: client)
    }

    mutating func refuse(_ route: Route, _ reason: String) {
        send(.error(PeerError(.retryLater, reason, wait: .seconds(1))), to: route, floor: .none)
    }

    private mutating func clearInbox(of session: SessionID) {
        if let client = clients[session] { inbox.remove(client) }
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
        switch peers.removeValue(forKey: route) {
        case .client(let session):
            guard let client = clients[session], client.route == route else { break }
            client.route = nil
            client.outcomes = []
        case .worker, nil:
            for workerState in acknowledged where workerState.route == route { workerState.acknowledged = [] }
        }
        waiters.forget(route)
        feed.leave(route)
        cancellations.remove(route)
        streamMarks.remove(route)
    }

    /// What a root still waits for, in one sentence.
    func waitReport(of root: Int) -> String {
        waitReports.texts[root] ?? "\(count(state.ledger.openCount(of: root), "effect")) open"
    }

    /// Makes the reports of all roots anew, in one look at the open effects: each second, or less often where there are so many.
    mutating func remakeWaitReportsIfDue() {
        guard !waiters.settling.isEmpty else {
            waitReports = WaitReports()
            return
        }
        waitReports.ticks += 1
        guard state.ledger.open.count <= waitReports.ticks * settings.reportedEffects else { return }
        var tallies: [Int: [Queue: (running: Int, waiting: Int)]] = [:]
        for effect in state.ledger.open.values where waiters.settling[effect.root] != nil {
            let isRunning = dispatcher.assignment(of: effect.id) != nil
            tallies[effect.root, default: [:]][effect.queue, default: (0, 0)].running += isRunning ? 1 : 0
            tallies[effect.root, default: [:]][effect.queue, default: (0, 0)].waiting += isRunning ? 0 : 1
        }
        waitReports = WaitReports(texts: tallies.mapValues { waitReport(of: $0) })
    }

    private func waitReport(of tallies: [Queue: (running: Int, waiting: Int)]) -> String {
        var parts: [String] = []
        for (queue, (running, waiting)) in tallies.sorted(by: { $0.key < $1.key }) {
            if running > 0 { parts.append("\(count(running, "effect")) running in queue \(queue)") }
            if waiting > 0 {
                let why = dispatcher.isServed(queue) ? "" : ", no worker serves it"
                parts.append("\(count(waiting, "effect")) \(waiting == 1 ? "waits" : "wait") in queue \(queue)\(why)")
            }
        }
        return parts.joined(separator: "; ").bounded()
    }
}

func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
