import DequeModule
import MessagePack
import SamovarCore
import SamovarWire

/// A client's session as far as it is only in memory. A class, because it stands in several lists.
@dynamicMemberLookup
final class ClientSession {
    struct Fields {
        /// Where its client is; nil while it is away.
        var route: Route?
        /// The key of its newest connection; nil if it needed none.
        var sender: Sender?
        /// The newest number taken into the inbox.
        var received: Int
        /// The turn that its newest WELCOME waits for.
        var welcomeFloor = 0
        var confirmed = 0
        /// Inputs that wait for their turn; the `Inbox` counts them.
        var inbox: Deque<Submission> = []
        var heard: Timestamp
        /// Its client survives its own death. Until it has said so, as after a restart of the store, that is assumed.
        var isDurable = true
        /// Its newest HELLO has asked for proofs.
        var takesProofs = false
        var fingerprints = Fingerprints()
        /// What this round gave, for its client.
        var outcomes: [Outcome] = []
        /// The newest input of whose outcome its newest connection is told, be that as soon as its turn is on disk.
        var told = 0
    }

    let id: SessionID
    /// The name of the key that used it first; nil if that needed none. It belongs to that name from then on.
    let owner: KeyName?
    private let fields: Cell<Fields>

    init(_ id: SessionID, owner: KeyName?, received: Int, heard: Timestamp) {
        self.id = id
        self.owner = owner
        fields = Cell(Fields(received: received, heard: heard))
    }

    subscript<Value>(dynamicMember field: WritableKeyPath<Fields, Value>) -> Value {
        @inline(__always) _read { yield fields.value[keyPath: field] }
        @inline(__always) _modify { yield &fields.value[keyPath: field] }
    }

    /// Its client keeps the outcomes up to this number; false if it said so before.
    func confirm(_ sequence: Int) -> Bool {
        guard sequence > self.confirmed else { return false }
        self.confirmed = sequence
        return true
    }

    func takeInput() -> Submission? { fields.value.inbox.popFirst() }
}

/// Clients: who has a session, whose inputs wait, and who is told of outcomes at the end of a round.
///
/// An input is refused at the listener, where nothing is lost, since its client keeps it and comes again; what is in the inbox is taken
/// for certain. Requests of clients, for views and the like, are for the `Readers`.
///
/// | a session | not here | connected | away |
/// |---|---|---|---|
/// | `restore` (in the journal) | away | – | – |
/// | `greet` | connected | connected; its inbox begins anew | the same |
/// | `disconnect` | – | away; its outcomes of this round are not told | – |
/// | `enqueue` | – | waits in the inbox | – |
/// | `answer` | – | told at the end of the round | – |
/// | `remove` | – | not here; what waits is dropped | the same |
struct ClientSessions {
    private let settings: StoreSettings
    private(set) var connections = Connections()
    private var overflow: Overflow
    private var sessions: [SessionID: ClientSession] = [:]
    /// How many belong to each name of a key.
    private(set) var owned: [KeyName: Int] = [:]
    private(set) var inbox = Inbox()
    /// Sessions with outcomes of this round, in the order in which they got their first.
    private(set) var answered: [ClientSession] = []
    /// Inputs of a session that are known by their hash.
    private var fingerprintLimit: Int

    init(_ settings: StoreSettings) {
        self.settings = settings
        overflow = Overflow(limit: settings.clients ?? .max)
        fingerprintLimit = settings.window
    }

    var count: Int { sessions.count }
    /// Clients that may be connected at a time.
    var limit: Int { min(overflow.limit, settings.sessions) }
    var all: some Collection<ClientSession> { sessions.values }

    subscript(id: SessionID) -> ClientSession? { sessions[id] }

    // MARK: Coming and going

    /// Sessions that are in the journal; their clients have not come back yet.
    mutating func restore(_ table: SessionTable, now: Timestamp) {
        for (id, session) in table.sessions {
            insert(ClientSession(id, owner: session.owner, received: session.last, heard: now))
        }
    }

    /// A client says HELLO. What waited of it is dropped: it sends again what has no outcome.
    ///
    /// - Parameter last: of its inputs, the newest that has an outcome.
    mutating func join(
        _ id: SessionID, _ hello: Hello, by sender: Sender?, last: Int, at route: Route, now: Timestamp
    ) -> ClientSession {
        let session = sessions[id] ?? ClientSession(id, owner: sender?.name, received: last, heard: now)
        insert(session)
        dropInbox(of: session, last: last)
        session.route = route
        session.told = 0
        session.sender = sender
        session.heard = now
        session.isDurable = hello.isDurable
        session.takesProofs = hello.takesProofs
        return session
    }

    private mutating func dropInbox(of session: ClientSession, last: Int) {
        inbox.remove(session)
        session.received = last
        session.fingerprints.drop(after: last)
    }

    private mutating func insert(_ session: ClientSession) {
        guard sessions.updateValue(session, forKey: session.id) == nil, let owner = session.owner else { return }
        owned[owner, default: 0] += 1
    }

    /// - Parameters:
    ///   - identity: with which the client came.
    ///   - key: of that identity.
    mutating func greet(
        _ hello: Hello, _ session: SessionID, of seen: Timeline, by identity: Identity, _ key: Key?, at route: Route,
        now: Timestamp, _ readers: inout Readers, _ turns: inout Turns, _ out: inout Outlet
    ) {
        let isOthers =
            if let known = sessions[session] { known.owner != key?.name } else {
                turns.state.sessions.hasEnded(session, ofOtherThan: key?.name)
            }
        if isOthers { return out.send(.error(.notYours("session")), to: route, floor: .none) }
        if sessions[session] == nil, let key, owned[key.name, default: 0] >= key.limits.sessions {
            let sessions = SamovarStore.count(key.limits.sessions, "session")
            return out.refuse(route, "the key \(key.name) has \(sessions), which is its limit")
        }
        let witness = seen == out.identity.timeline ? hello.witness : 0
        if let end = turns.state.sessions.end(of: session, witness: witness, mayHaveEnded: hello.mayHaveEnded) {
            return out.send(.error(PeerError(.sessionExpired, end.text)), to: route, floor: .turn(turns.head))
        }
        guard sessions[session]?.route != nil || connections[route] != nil || overflow.admits(key, beside: connections.count) else {
            // A client that is sent away is not silent: its session must be there when it comes again.
            heard(session, now: now)
            return overflow.sendAway(route, now: now, &out)
        }
        if sessions[session] == nil, count >= settings.sessions { expireIdlest(now: now, &turns, &out) }
        if sessions[session] == nil, count >= settings.sessions {
            return out.refuse(route, "the store keeps \(settings.sessions) sessions and has no room for another")
        }
        let current = sessions[session]?.route
        guard connections.isNewest(hello.epoch, of: session, at: route, current: current) else {
            return out.send(.error(.superseded), to: route, floor: .none)
        }
        if let current, current != route {
            out.send(.error(PeerError(.superseded, "another connection uses this session")), to: current, floor: .none)
            forget(current, &readers, &out)
        }
        if let other = connections[route], other != session { forget(route, &readers, &out) }
        let last = turns.state.sessions.last(of: session)
        let client = join(session, hello, by: key?.sender, last: last, at: route, now: now)
        client.welcomeFloor = turns.head
        connections.connect(session, identity, at: route)
        let welcome = Welcome(
            schema: turns.state.engine.schema, start: turns.state.starts, expected: last + 1,
            credit: credit(of: client, turns.state.sessions), head: out.durable, silence: settings.silence)
        out.open(route)
        out.send(.welcome(welcome), isProven: client.takesProofs, to: route, floor: .turn(turns.head))
    }

    /// A connection is gone; what it asked for is not answered any more, and nothing is told there.
    private mutating func forget(_ route: Route, _ readers: inout Readers, _ out: inout Outlet) {
        out.mute(route)
        if let session = connections.disconnect(route) { disconnect(session, from: route) }
        readers.forget(route)
    }

    /// A client says goodbye. The origin tells that its client ended it. A session without a record is nothing to remember.
    mutating func leave(
        _ session: SessionID, from route: Route, now: Timestamp, _ readers: inout Readers, _ turns: inout Turns, _ out: inout Outlet
    ) {
        forget(route, &readers, &out)
        end(session, origin: .client(session: session, sequence: turns.state.sessions.last(of: session) + 1), now: now, &turns)
    }

    private mutating func end(_ session: SessionID, origin: Origin = .store, now: Timestamp, _ turns: inout Turns) {
        remove(session)
        if turns.state.sessions.isOpen(session) { turns.write(.sessionExpired(session), origin: origin, now: now) }
    }

    /// The connection is gone, unless the client has another by now.
    func disconnect(_ id: SessionID, from route: Route) {
        guard let session = sessions[id], session.route == route else { return }
        session.route = nil
        session.outcomes = []
    }

    mutating func remove(_ id: SessionID) {
        if let session = sessions.removeValue(forKey: id) {
            inbox.remove(session)
            if let owner = session.owner { owned[owner]? -= 1 }
        }
        connections.forget(id)
    }

    // MARK: Keys

    /// Ends the connections of keys that do not allow them any more, and the sessions of names that have no key left.
    ///
    /// - Parameters:
    ///   - objection: why a key may not be here with a session of this owner; nil if it may.
    ///   - mayStillSend: whether what waits of a key, inputs and requests that are for senders alone, may be taken. If not it is
    ///     dropped, and its client may send it again with a better one.
    ///   - isRevoked: no key has this name any more.
    mutating func enforce(
        _ objection: (Identity, _ owner: KeyName?) -> PeerError?, mayStillSend: (Identity) -> Bool,
        isRevoked: (KeyName) -> Bool, now: Timestamp, _ readers: inout Readers, _ turns: inout Turns, _ out: inout Outlet
    ) {
        for session in sessions.values where !session.inbox.isEmpty {
            guard let sender = session.sender, !mayStillSend(.key(sender.fingerprint)) else { continue }
            dropInbox(of: session, last: turns.state.sessions.last(of: session.id))
        }
        readers.forgetSettlesAndOutputs { route in connections.identity(at: route).map { mayStillSend($0) } ?? false }
        for route in connections.routes {
            guard let identity = connections.identity(at: route), let session = connections[route],
                let error = objection(identity, sessions[session]?.owner)
            else { continue }
            out.close(route, error)
            forget(route, &readers, &out)
        }
        for owner in owned.keys.sorted() where isRevoked(owner) {
            for session in sessions.values.filter({ $0.owner == owner }).map(\.id).sorted() { end(session, now: now, &turns) }
            owned[owner] = nil
        }
    }

    // MARK: Inputs and outcomes

    mutating func ping(_ confirmed: Int, of session: SessionID, at route: Route, _ turns: inout Turns, _ out: inout Outlet) {
        confirm(confirmed, of: session, &turns)
        let client = sessions[session]
        let credit = client.map { self.credit(of: $0, turns.state.sessions) } ?? 0
        out.send(.pong(credit), isProven: client?.takesProofs ?? false, to: route, floor: .none)
    }

    /// - Parameter closing: how long the store may still be there; nil if it takes inputs.
    mutating func submit(
        _ submissions: [Submission], confirmed: Int, of session: SessionID, closing: Duration?, at route: Route,
        _ turns: inout Turns, _ out: inout Outlet
    ) {
        confirm(confirmed, of: session, &turns)
        guard let client = sessions[session] else { return }
        let last = turns.state.sessions.last(of: session)
        let credit = self.credit(of: client, turns.state.sessions)
        var repeated: Set<Int> = []
        for submission in submissions {
            guard submission.sequence > 0 else {
                let text = "there is no input \(submission.sequence): the inputs of a session are numbered from 1"
                return out.misuse(text, route)
            }
            let received = client.received
            if client.fingerprints.differs(submission) {
                let text = "input \(submission.sequence) of this session was another one: do two processes use it?"
                return out.send(.error(PeerError(.misuse, text)), to: route, floor: .turn(turns.head))
            }
            if submission.sequence <= last {
                // Sent again: the same answer again, when the turn that it tells of is on disk. While commits wait, once for each connection, or
                // answers would gather at the gate.
                // A number that comes twice in one frame is answered once.
                if turns.outage == nil || submission.sequence > client.told,
                    let outcome = turns.state.sessions.outcome(of: submission.sequence, in: session),
                    repeated.insert(submission.sequence).inserted
                {
                    answer(client, outcome)
                }
            } else if submission.sequence > received {
                guard submission.sequence == received + 1 else {
                    let error = PeerError(.resync, "number \(received + 1) is next", expected: received + 1)
                    return out.send(.error(error), to: route, floor: .none)
                }
                if let end = turns.state.sessions.end(of: session, witness: 0) {
                    return out.send(.error(PeerError(.sessionExpired, end.text)), to: route, floor: .turn(turns.head))
                }
                if client.inbox.last?.endsSession ?? false {
                    let text = "input \(submission.sequence) comes after one that ends the session and has no outcome yet"
                    return out.misuse(text, route, isNoise: false)
                }
                if let closing { return out.refuse(route, "the store is about to stop", wait: closing) }
                if let reason = reasonToRefuse(submission, credit: credit, turns) {
                    return out.refuse(route, reason)
                }
                enqueue(submission, of: client)
            }
        }
    }

    /// Inlined: this part and the turns, though not what they refer to, would be copied for the call.
    @inline(__always)
    private func reasonToRefuse(_ submission: Submission, credit: Int, _ turns: borrowing Turns) -> String? {
        if let why = turns.outage?.outage { return why.words.text }
        if submission.sequence > credit { return "the session's window is full" }
        if !inbox.hasRoom(for: submission, settings) { return "the store's inbox is full" }
        let (open, dead) = (turns.state.ledger.open.count, turns.state.ledger.dead.count)
        if open >= settings.openEffectsAtDoor { return "\(open) effects are open; inputs are taken again when fewer are" }
        if dead >= settings.deadEffects {
            return "\(dead) effects are dead; inputs are taken again when an operator has requeued or dropped some"
        }
        return nil
    }

    private func confirm(_ sequence: Int, of session: SessionID, _ turns: inout Turns) {
        let confirmed = min(sequence, turns.state.sessions.last(of: session))
        guard let client = sessions[session], client.confirm(confirmed) else { return }
        turns.confirm(confirmed, in: session)
    }

    /// The number up to which a client may send: a window beyond what it has confirmed.
    func credit(of client: ClientSession, _ table: SessionTable) -> Int {
        // Before the first confirmation after a restart, the client's own numbers tell how far it was.
        max(client.confirmed, table.last(of: client.id) - settings.window) + settings.window
    }

    mutating func enqueue(_ submission: Submission, of session: ClientSession) {
        session.received = submission.sequence
        session.fingerprints.append(submission, limit: fingerprintLimit)
        inbox.append(submission, of: session)
    }

    mutating func popFirst() -> (client: ClientSession, submission: Submission)? { inbox.popFirst() }

    /// Tells a client at the end of the round what became of an input, if it is there.
    mutating func answer(_ session: ClientSession, _ outcome: Outcome) {
        guard session.route != nil else { return }
        if session.outcomes.isEmpty { answered.append(session) }
        session.outcomes.append(outcome)
        session.told = max(session.told, outcome.sequence)
    }

    mutating func sendReceipts(_ table: SessionTable, head: Int, _ out: inout Outlet) {
        for client in answered {
            // It may have gone meanwhile.
            guard let route = client.route, !client.outcomes.isEmpty else { continue }
            let credit = credit(of: client, table)
            client.outcomes.forEachPart { part in
                out.send(.receipt(part, credit: credit), isProven: client.takesProofs, to: route, floor: .turn(head))
            }
            client.outcomes = []
        }
        answered.removeAll(keepingCapacity: true)
    }

    // MARK: Time

    func heard(_ id: SessionID, now: Timestamp) {
        sessions[id]?.heard = now
    }

    /// The store was away, so that nobody's silence means anything.
    func forgiveSilence(now: Timestamp) {
        for session in sessions.values { session.heard = now }
    }

    /// Forgets the connections of clients that are silent, but for those to which WELCOME has not left yet. A session without a record, or that
    /// has ended, is nothing to keep.
    mutating func buryTheSilent(_ table: SessionTable, now: Timestamp, _ readers: inout Readers, _ out: inout Outlet) {
        for client in silent(now: now) where client.welcomeFloor <= out.durable {
            if let route = client.route { forget(route, &readers, &out) }
            if !table.isOpen(client.id), client.inbox.isEmpty { remove(client.id) }
        }
    }

    /// Those that were silent for longer than a peer may be.
    func silent(now: Timestamp) -> [ClientSession] {
        sessions.values.filter { now - $0.heard > settings.silence }
    }

    /// Those that have said nothing for so long that they expire.
    func expired(now: Timestamp) -> [SessionID] {
        let expired = sessions.values.filter { session in
            let idle = session.isDurable ? settings.durableSessionIdle : settings.sessionIdle
            return session.inbox.isEmpty && now - session.heard > idle
        }
        return expired.map(\.id).sorted()
    }

    /// Ends them. Each may be a record; those beyond what a round may take are ended at the next tick.
    mutating func expire(now: Timestamp, _ turns: inout Turns) {
        for session in expired(now: now).prefix(settings.turnsPerRound) { end(session, now: now, &turns) }
    }

    /// The one that nobody was connected to for the longest time; nil if each has a client that may be there.
    func idlest(now: Timestamp) -> SessionID? {
        silent(now: now).filter { $0.route == nil && $0.inbox.isEmpty }.min { ($0.heard, $0.id) < ($1.heard, $1.id) }?.id
    }

    /// Makes room for another session, at the cost of that one.
    private mutating func expireIdlest(now: Timestamp, _ turns: inout Turns, _ out: inout Outlet) {
        guard let idlest = idlest(now: now) else { return }
        out.note(.warning, "there are \(settings.sessions) sessions: the one that was silent for longest has expired")
        end(idlest, now: now, &turns)
    }

    /// Each session keeps as many hashes as all of them leave for it.
    mutating func limitFingerprints() {
        fingerprintLimit = min(settings.window, max(1, settings.fingerprints / max(1, count)))
        for session in sessions.values { session.fingerprints.keep(newest: fingerprintLimit) }
    }
}
