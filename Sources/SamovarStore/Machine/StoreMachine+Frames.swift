import MessagePack
public import SamovarCore
public import SamovarWire

/// What arrives: decoding, and who may say what at which listener.
extension StoreMachine {
    /// A message on one of the bound sockets, without the routing id. Whatever it holds, it cannot do more than be counted.
    ///
    /// - Parameter identity: who has sent it, as the socket knows and no frame says.
    public mutating func received(_ parts: [[UInt8]], from route: Route, by identity: Identity = .local, now: Timestamp) {
        guard isRunning else { return sendOn(parts, from: route) }
        let now = time(now)
        scheduler.dispatcher.meters.now = now
        guard access.hears(identity, now: now) else { return }
        let envelope: Envelope
        do {
            envelope = try Envelope(parts: parts)
        } catch {
            out.drop("\(error)", from: route)
            return noise(of: identity, now: now)
        }
        if let error = access.refusal(of: envelope.kind, from: identity, at: route.listener, now: now) {
            if error.code == .keyRefused { out.close(route, error) } else { out.send(.error(error), to: route, floor: .none) }
            return error.code == .retryLater ? () : noise(of: identity, now: now)
        }
        let misused = out.misused
        do throws(StopReason) {
            switch route.listener {
            case .front: try receivedAtFront(envelope, from: route, by: identity, now: now)
            case .work: try receivedAtWork(envelope, from: route, by: identity, now: now)
            case .admin: try receivedAtAdmin(envelope, from: route, by: identity, now: now)
            }
        } catch {
            stop(error, now: now)
        }
        if out.misused > misused { noise(of: identity, now: now) }
    }

    /// A message that the socket itself found to be no frame of ours: too many parts, say.
    public mutating func receivedNoise(_ what: String, from route: Route, by identity: Identity = .local, now: Timestamp) {
        guard isRunning, access.hears(identity, now: time(now)) else { return }
        out.drop(what, from: route)
        noise(of: identity, now: time(now))
    }

    private mutating func noise(of identity: Identity, now: Timestamp) {
        guard access.hasMadeNoise(identity, now: now), let sender = access.sender(identity) else { return }
        out.note(
            .warning, "the key \(sender.name) sends what is refused again and again: it is not listened to for \(Access.deafness)")
    }

    /// A worker is dead, as its supervisor saw.
    public mutating func workerDied(_ id: WorkerID, _ evidence: String, now: Timestamp) {
        guard isRunning else { return }
        scheduler.dispatcher.meters.now = time(now)
        do throws(StopReason) {
            try workers.ended(id, evidence: evidence, now: time(now), &scheduler, &turns, &out)
        } catch {
            stop(error, now: time(now))
        }
    }

    // MARK: Clients

    /// Between its last turn and the commit of that: who comes now gets no GOODBYE, and shall not wait for a WELCOME.
    private mutating func sendOn(_ parts: [[UInt8]], from route: Route) {
        // What is no frame is nobody's HELLO.
        guard out.isWaiting, let envelope = try? Envelope(parts: parts), case .hello = envelope.frame else { return }
        out.refuse(route, "the store is about to stop", wait: .zero)
    }

    private mutating func receivedAtFront(
        _ envelope: Envelope, from route: Route, by identity: Identity, now: Timestamp
    ) throws(StopReason) {
        if case .hello(let hello) = envelope.frame {
            guard case .client(let session) = hello.role else { return out.misuse("a worker belongs to the work socket", route) }
            return try greet(hello, session, of: envelope.timeline, by: identity, at: route, now: now)
        }
        guard let session = known(envelope, at: route, by: identity, clients.connections) else { return }
        clients.heard(session, now: now)
        if turns.isInDoubt, refusesInDoubt(envelope.frame, route) { return }
        switch envelope.frame {
        case .ping(let confirmed): clients.ping(confirmed, of: session, at: route, &turns, &out)
        case .send(let submissions, let confirmed):
            clients.submit(
                submissions, confirmed: confirmed, of: session, closing: closing(now: now), at: route, &turns, &out)
        case .settle(let turn): readers.settle(turn, for: route, turns, &out)
        case .viewRequest(let instance, _) where instance != .main, .outputsRequest(let instance, _, _) where instance != .main,
            .viewsRequest(let instance, _) where instance != .main:
            out.misuse("there is no instance \(instance)", route)
        case .viewRequest, .viewsRequest:
            askForViews(envelope.frame, for: route, by: identity, now: now)
        case .outputsRequest(_, let place, let waits):
            readers.ask(outputsAfter: place, waits: waits, for: route, turns, &out)
        case .goodbye: clients.leave(session, from: route, now: now, &readers, &turns, &out)
        default: out.misuse("\(envelope.frame.kind) is not for clients to send", route)
        }
    }

    /// While another store may serve: whoever hears no PONG looks for that one.
    private mutating func refusesInDoubt(_ frame: Frame, _ route: Route) -> Bool {
        switch frame {
        case .goodbye: return false
        case .ping: break
        default: out.refuse(route, Outage.leaseInDoubt.words.text)
        }
        return true
    }

    /// Within the budget of the key; see `Access`.
    private mutating func askForViews(_ frame: Frame, for route: Route, by identity: Identity, now: Timestamp) {
        if let pause = access.viewPause(identity, now: now) {
            return out.refuse(route, "the key has asked for as many bytes of views as it may", wait: pause)
        }
        switch frame {
        case .viewRequest(_, let turn): readers.ask(viewAtLeast: turn, for: route, &turns, &out)
        case .viewsRequest(_, let turn): readers.ask(viewsAfter: turn, for: route, now: now, &turns, &out)
        default: break
        }
    }

    private mutating func greet(
        _ hello: Hello, _ session: SessionID, of seen: Timeline, by identity: Identity, at route: Route, now: Timestamp
    ) throws(StopReason) {
        // What it has seen, the other store may have written.
        guard !turns.isInDoubt else { return out.refuse(route, Outage.leaseInDoubt.words.text) }
        if let schema = hello.schema, schema != self.schema {
            return refuse("this store runs \(self.schema); the client is built for \(schema)", route)
        }
        guard try out.admits(hello, of: seen, start: starts, what: "a client", route) else { return }
        if let why = turns.outage?.outage {
            // A client that is sent away is not silent: its session must be there when it comes again.
            clients.heard(session, now: now)
            // A WELCOME would wait at the gate, and the peer in silence.
            return out.refuse(route, why.words.text)
        }
        let key = access.key(of: identity)
        clients.greet(hello, session, of: seen, by: identity, key, at: route, now: now, &readers, &turns, &out)
    }

    // MARK: Workers

    private mutating func receivedAtWork(
        _ envelope: Envelope, from route: Route, by identity: Identity, now: Timestamp
    ) throws(StopReason) {
        if case .hello(let hello) = envelope.frame {
            guard case .worker(let offer) = hello.role else { return out.misuse("a client belongs to the front socket", route) }
            if let error = access.objection(to: offer.queues, by: identity) {
                access.noteRefusal()
                return out.send(.error(error), to: route, floor: .none)
            }
            return try greet(hello, offer, of: envelope.timeline, by: identity, at: route, now: now)
        }
        guard let id = known(envelope, at: route, by: identity, workers.connections) else { return }
        if turns.isInDoubt, case .ping(let credit) = envelope.frame {
            return scheduler.dispatcher.heard(id, credit: credit, now: now)
        }
        try workers.received(envelope.frame, from: id, at: route, now: now, &scheduler, &turns, &out)
        // In an outage they would gather at the gate; and who begins anew while the store closes is not let in with its answers.
        if case .ping = envelope.frame, turns.outage == nil, closing(now: now) == nil {
            workers.countCancels(of: id, scheduler, head: head, &out)
        }
    }

    private mutating func greet(
        _ hello: Hello, _ offer: WorkerOffer, of seen: Timeline, by identity: Identity, at route: Route, now: Timestamp
    ) throws(StopReason) {
        guard !turns.isInDoubt else { return out.refuse(route, Outage.leaseInDoubt.words.text) }
        guard hello.schema == schema else {
            let what = hello.schema.map { "is built for \($0)" } ?? "names no program"
            let text = "this store runs \(schema); the worker \(what)"
            out.note(.warning, "refused worker \(offer.id): \(text)")
            return refuse(text, route)
        }
        guard try out.admits(hello, of: seen, start: starts, what: "worker \(offer.id)", route) else { return }
        let sender = access.sender(identity)
        guard workers.admits(offer.id, by: sender, turns) else {
            return out.send(.error(.notYours("worker's identity")), to: route, floor: .none)
        }
        if let why = turns.outage?.outage {
            // A worker that is sent away is not silent: its jobs must be there when it comes again.
            scheduler.dispatcher.heard(offer.id, credit: nil, now: now)
            // A WELCOME would wait at the gate, and the peer in silence.
            return out.refuse(route, why.words.text)
        }
        if let closing = closing(now: now) { return out.refuse(route, "the store is about to stop", wait: closing) }
        try workers.greet(hello, offer, of: seen, by: identity, sender, at: route, now: now, &scheduler, &turns, &out)
    }

    private mutating func refuse(_ mismatch: String, _ route: Route) {
        out.send(.error(PeerError(.schema, mismatch)), to: route, floor: .none)
    }

    /// The peer that has said HELLO at a route; whoever has not, or speaks of another timeline, is told to.
    private mutating func known(
        _ envelope: Envelope, at route: Route, by identity: Identity, _ connections: Connections
    ) -> UniqueID? {
        let timeline = out.identity.timeline
        let problem: String
        if let peer = connections[route], connections.identity(at: route) == identity {
            guard envelope.timeline != timeline else { return peer }
            problem = "this is timeline \(timeline): say HELLO"
        } else {
            problem = "say HELLO first"
        }
        out.send(.error(PeerError(.unknownPeer, problem)), to: route, floor: .none)
        return nil
    }

    // MARK: Operators

    /// Everything that tells of turns passes the gate, like any other answer.
    private mutating func receivedAtAdmin(
        _ envelope: Envelope, from route: Route, by identity: Identity, now: Timestamp
    ) throws(StopReason) {
        guard case .request(let request) = envelope.frame else {
            return out.misuse("\(envelope.frame.kind) is not for the admin socket", route)
        }
        out.open(route)
        // Whoever fills the disk can be sent away.
        if request.verb == "reloadKeys" { return askForKeys(request, from: route, by: identity) }
        // With arguments that it does not know, it is refused below, as all others are.
        if request.verb == "metrics", (try? request.requireKnownArguments()) != nil {
            return askForMetrics(request, from: route, by: identity)
        }
        if request.verb == HistoryRequest.verb { return tellHistory(request, from: route, by: identity, now: now) }
        if let (outage, since) = turns.outage, request.verb != "drain" {
            // The gate may stay closed for hours: what is told now tells of nothing but turns on disk.
            let reply = Operators.reply(
                to: request, in: outage, status: status(in: outage, since: since, now: now), since: since, now: now)
            return out.send(.reply(reply), to: route, floor: .none)
        }
        let reply = try reply(to: request, by: access.sender(identity), now: now)
        // That it drains tells of no turn, and a store whose disk is full may end before another one is on disk.
        if request.verb == "drain" { return out.send(.reply(reply), to: route, floor: .none) }
        if head > durable { waiting.answers[route] = (identity, head) }
        out.send(.reply(reply), to: route, floor: .turn(head))
    }

    private mutating func reply(to request: AdminRequest, by sender: Sender?, now: Timestamp) throws(StopReason) -> AdminReply {
        if let known = operators.replies.reply(to: request, by: sender, now: now) { return known }
        let reply =
            switch try answer(request, by: sender, now: now) {
            case .success(let value): AdminReply(id: request.id, value: value)
            case .failure(let refusal): AdminReply(id: request.id, refusal: refusal.text)
            }
        operators.replies.keep(reply, to: request, by: sender, now: now)
        return reply
    }

    private mutating func answer(
        _ request: AdminRequest, by sender: Sender?, now: Timestamp
    ) throws(StopReason) -> Result<MessagePackValue, AdminRefusal> {
        do throws(AdminRefusal) { try request.requireKnownArguments() } catch { return .failure(error) }
        switch request.verb {
        case "status": return .success(status(now: now))
        case "drain":
            beginDrain(within: settings.drain, now: now)
            return .success(["draining": true])
        default:
            return try operators.answer(
                request, by: sender, isServing: phase == .serving, started: clock.started, now: now, &scheduler, &turns, &out)
        }
    }
}
