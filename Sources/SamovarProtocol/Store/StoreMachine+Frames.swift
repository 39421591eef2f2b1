public import SamovarCore

/// What arrives: decoding, and who may say what at which listener.
extension StoreMachine {
    /// A message on one of the bound sockets, without the routing id. Whatever it holds, it cannot do more than be counted.
    public mutating func received(_ parts: [[UInt8]], from route: Route, now: Timestamp) {
        guard phase != .stopped, phase != .recovering else { return }
        let envelope: Envelope
        do {
            envelope = try Envelope(parts: parts)
        } catch {
            return drop("\(error)", from: route)
        }
        let now = time(now)
        switch route.listener {
        case .front: receivedAtFront(envelope, from: route, now: now)
        case .work: receivedAtWork(envelope, from: route, now: now)
        case .admin: receivedAtAdmin(envelope, from: route, now: now)
        }
    }

    /// A message that the socket itself found to be no frame of ours: too many parts, say.
    public mutating func receivedNoise(_ what: String, from route: Route) {
        drop(what, from: route)
    }

    mutating func drop(_ what: String, from route: Route) {
        counters.droppedFrames += 1
        // The first of them, and then fewer and fewer: a flood of noise must not become a flood of log lines.
        if counters.droppedFrames.nonzeroBitCount == 1 {
            note(.warning, "dropped a message at \(route.listener): \(what) (\(counters.droppedFrames) so far)")
        }
    }

    private mutating func receivedAtFront(_ envelope: Envelope, from route: Route, now: Timestamp) {
        switch (envelope.frame, connections[route]) {
        case (.hello(let hello), _):
            guard case .client(let session) = hello.role else { return misuse("a worker belongs to the work socket", route) }
            greet(hello, session: session, of: envelope.timeline, at: route, now: now)
        case (_, .none), (_, .worker):
            send(.error(PeerError(.unknownPeer, "say HELLO first")), to: route, floor: .none)
        case (let frame, .client(let session)):
            guard envelope.timeline == timeline else { return wrongTimeline(route) }
            clients.heard(session, now: now)
            clientSent(frame, session, at: route, now: now)
        }
    }

    private mutating func receivedAtWork(_ envelope: Envelope, from route: Route, now: Timestamp) {
        switch (envelope.frame, connections[route]) {
        case (.hello(let hello), _):
            guard case .worker(let offer) = hello.role else { return misuse("a client belongs to the front socket", route) }
            greet(hello, offer: offer, of: envelope.timeline, at: route, now: now)
        case (_, .none), (_, .client):
            send(.error(PeerError(.unknownPeer, "say HELLO first")), to: route, floor: .none)
        case (let frame, .worker(let id)):
            guard envelope.timeline == timeline else { return wrongTimeline(route) }
            workerSent(frame, id, at: route, now: now)
        }
    }

    private mutating func wrongTimeline(_ route: Route) {
        send(.error(PeerError(.unknownPeer, "this is timeline \(timeline): say HELLO")), to: route, floor: .none)
    }

    mutating func misuse(_ what: String, _ route: Route) {
        drop(what, from: route)
        send(.error(PeerError(.misuse, what)), to: route, floor: .none)
    }

    /// Whether a HELLO may be taken; its sender is told if not.
    mutating func isNewest(_ epoch: Int, of peer: UniqueID, at route: Route, _ current: Route?) -> Bool {
        if connections.isNewest(epoch, of: peer, at: route, current: current) { return true }
        send(.error(PeerError(.superseded, "a newer connection uses this identity")), to: route, floor: .none)
        return false
    }

    /// Says in one sentence why the two builds do not fit; nil if they do.
    func mismatch(_ schema: Schema?, what: String) -> String? {
        guard let schema, schema != state.engine.schema else { return nil }
        return "this store runs \(state.engine.schema); the \(what) is built for \(schema)"
    }

    /// What a peer was told of, if it can prove it. A number alone proves nothing: whoever reaches the socket could end the store.
    mutating func hasLostTail(_ hello: Hello, of seen: Timeline, what: @autoclosure () -> String) -> Bool {
        guard seen == timeline, hello.witness > commits.durable else { return false }
        guard let proof = hello.proof, proof == identity.proof(of: hello.witness).code else {
            counters.unprovenWitnesses += 1
            // Bounded as in `drop`.
            if counters.unprovenWitnesses.nonzeroBitCount == 1 {
                let text = "\(what()) says that it has seen turn \(hello.witness), the journal ends at \(commits.durable)"
                note(.warning, "\(text): it cannot prove that, and is served (\(counters.unprovenWitnesses) so far)")
            }
            return false
        }
        return hasLostTail(provenBy: hello.witness, what: what())
    }

    /// A peer that saw turns which the journal does not hold proves that its end is lost: going on would use their numbers again.
    mutating func hasLostTail(provenBy witness: Int, what: @autoclosure () -> String) -> Bool {
        guard witness > commits.durable else { return false }
        stop(.lostTail("\(what()) has seen turn \(witness), the journal ends at \(commits.durable)"))
        return true
    }
}
