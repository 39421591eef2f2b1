import DequeModule
import SamovarCore

/// A client's session as far as it is only in memory. A class, because each input changes it several times. Part of one value that one
/// thread has, so nothing overlaps that would have to be checked each time.
final class ClientSession {
    let id: SessionID
    /// Where its client is; nil while it is away.
    @exclusivity(unchecked) fileprivate(set) var route: Route?
    /// The newest number taken into the inbox.
    @exclusivity(unchecked) fileprivate(set) var received: Int
    @exclusivity(unchecked) fileprivate(set) var confirmed = 0
    /// Inputs that wait for their turn; the `Inbox` counts them.
    @exclusivity(unchecked) var inbox: Deque<Submission> = []
    @exclusivity(unchecked) fileprivate(set) var heard: Timestamp
    /// Its client survives its own death. Until it has said so, as after a restart of the store, that is assumed.
    @exclusivity(unchecked) fileprivate(set) var isDurable = true
    /// Its newest HELLO has asked for proofs.
    @exclusivity(unchecked) fileprivate(set) var takesProofs = false
    @exclusivity(unchecked) fileprivate(set) var fingerprints = Fingerprints()
    /// What this round gave, for its client.
    @exclusivity(unchecked) fileprivate var outcomes: [Outcome] = []

    init(_ id: SessionID, received: Int, heard: Timestamp) {
        self.id = id
        self.received = received
        self.heard = heard
    }

    /// The number up to which its client may send: a window beyond what it has confirmed.
    ///
    /// - Parameter last: of its inputs, the newest that has an outcome.
    func credit(last: Int, window: Int) -> Int {
        // Before the first confirmation after a restart, the client's own numbers tell how far it was.
        max(confirmed, last - window) + window
    }

    /// Its client keeps the outcomes up to this number; false if it said so before.
    func confirm(_ sequence: Int) -> Bool {
        guard sequence > confirmed else { return false }
        confirmed = sequence
        return true
    }

    /// What its client has to be told, if it is there.
    func takeOutcomes() -> (outcomes: [Outcome], route: Route)? {
        guard let route, !outcomes.isEmpty else { return nil }
        defer { outcomes = [] }
        return (outcomes, route)
    }
}

/// Who has a session, whose inputs wait, and who is told of outcomes at the end of a round.
///
/// | a session | not here | connected | away |
/// |---|---|---|---|
/// | `restore` (in the journal) | away | – | – |
/// | `join` | connected | connected; its inbox begins anew | the same |
/// | `disconnect` | – | away; its outcomes of this round are not told | – |
/// | `enqueue` | – | waits in the inbox | – |
/// | `answer` | – | told at the end of the round | – |
/// | `remove` | – | not here; what waits is dropped | the same |
struct ClientSessions {
    private var sessions: [SessionID: ClientSession] = [:]
    private(set) var inbox = Inbox()
    /// Sessions with outcomes of this round, in the order in which they got their first.
    private(set) var answered: [ClientSession] = []
    /// Inputs of a session that are known by their hash.
    private var fingerprintLimit: Int

    /// - Parameter window: inputs of a session that wait or are not confirmed, at most.
    init(window: Int) {
        fingerprintLimit = window
    }

    var count: Int { sessions.count }
    var all: some Collection<ClientSession> { sessions.values }

    subscript(id: SessionID) -> ClientSession? { sessions[id] }

    // MARK: Coming and going

    /// A session that is in the journal; its client has not come back yet.
    mutating func restore(_ id: SessionID, received: Int, now: Timestamp) {
        sessions[id] = ClientSession(id, received: received, heard: now)
    }

    /// A client says HELLO. What waited of it is dropped: it sends again what has no outcome.
    ///
    /// - Parameter last: of its inputs, the newest that has an outcome.
    mutating func join(_ id: SessionID, _ hello: Hello, last: Int, at route: Route, now: Timestamp) -> ClientSession {
        let session = sessions[id] ?? ClientSession(id, received: last, heard: now)
        sessions[id] = session
        inbox.remove(session)
        session.route = route
        session.received = last
        session.fingerprints.drop(after: last)
        session.heard = now
        session.isDurable = hello.isDurable
        session.takesProofs = hello.takesProofs
        return session
    }

    /// The connection is gone, unless the client has another by now.
    func disconnect(_ id: SessionID, from route: Route) {
        guard let session = sessions[id], session.route == route else { return }
        session.route = nil
        session.outcomes = []
    }

    mutating func remove(_ id: SessionID) {
        if let session = sessions.removeValue(forKey: id) { inbox.remove(session) }
    }

    // MARK: Inputs and outcomes

    /// Lets the next input of a session wait for its turn.
    mutating func enqueue(_ submission: Submission, of session: ClientSession) {
        session.received = submission.sequence
        session.fingerprints.append(submission, limit: fingerprintLimit)
        inbox.append(submission, of: session)
    }

    /// Takes the input whose turn it is.
    mutating func popFirst() -> (client: ClientSession, submission: Submission)? { inbox.popFirst() }

    /// Tells a client at the end of the round what became of an input, if it is there.
    mutating func answer(_ session: ClientSession, _ outcome: Outcome) {
        guard session.route != nil else { return }
        if session.outcomes.isEmpty { answered.append(session) }
        session.outcomes.append(outcome)
    }

    /// All of `answered` have been told.
    mutating func endRound() {
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

    /// Those that were silent for longer.
    func silent(for limit: Duration, now: Timestamp) -> [ClientSession] {
        sessions.values.filter { now - $0.heard > limit }
    }

    /// Those that have said nothing for so long that they expire.
    func expired(_ settings: StoreSettings, now: Timestamp) -> [SessionID] {
        let expired = sessions.values.filter { session in
            let idle = session.isDurable ? settings.durableSessionIdle : settings.sessionIdle
            return session.inbox.isEmpty && now - session.heard > idle
        }
        return expired.map(\.id).sorted()
    }

    /// The one that nobody was connected to for the longest time; nil if each has a client that may be there.
    func idlest(_ settings: StoreSettings, now: Timestamp) -> SessionID? {
        silent(for: settings.silence, now: now).filter { $0.route == nil && $0.inbox.isEmpty }
            .min { ($0.heard, $0.id) < ($1.heard, $1.id) }?.id
    }

    /// Each session keeps as many hashes as all of them leave for it.
    mutating func limitFingerprints(_ settings: StoreSettings) {
        fingerprintLimit = min(settings.window, max(1, settings.fingerprints / max(1, count)))
        guard fingerprintLimit < settings.window else { return }
        for session in sessions.values { session.fingerprints.keep(newest: fingerprintLimit) }
    }
}
