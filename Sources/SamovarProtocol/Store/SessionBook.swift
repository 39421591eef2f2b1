import DequeModule
import SamovarCore

/// What clients have sent and what became of it: state that the journal determines.
///
/// Numbers of a session are contiguous, so “which inputs were taken” is one number, whatever was sent twice. Outcomes are kept
/// until the client confirms them, and never more than a window, for a client cannot be further ahead.
struct SessionBook: Equatable, Sendable {
    struct Session: Equatable, Sendable {
        /// The number of the newest input that has a turn.
        var last = 0
        /// Outcomes of the newest inputs, ending with `last`.
        var outcomes: Deque<Outcome> = []

        fileprivate mutating func append(_ outcome: Outcome, window: Int) {
            last = outcome.sequence
            outcomes.append(outcome)
            if outcomes.count > window { outcomes.removeFirst() }
        }
    }

    /// A session that was silent for too long.
    struct Expired: Equatable, Sendable {
        let id: SessionID
        /// The turn of its end.
        let turn: Int
    }

    private(set) var sessions: [SessionID: Session] = [:]
    /// The newest of those that expired, oldest first: their clients may come back, and must be told.
    private(set) var expired: Deque<Expired> = []
    private var expiredTurns: [SessionID: Int] = [:]
    /// Up to this turn, sessions expired that are not remembered one by one any more.
    private(set) var forgottenTurn = 0
    let window: Int

    static let expiredLimit = 100_000

    init(window: Int) {
        self.window = window
    }

    func last(of id: SessionID) -> Int { sessions[id]?.last ?? 0 }

    mutating func answer(_ id: SessionID, _ outcome: Outcome) {
        sessions[id, default: Session()].append(outcome, window: planted(.outcomeForgotten) ? 1 : window)
    }

    /// The outcome of an input that has had its turn; nil if the client had confirmed it.
    func outcome(of sequence: Int, in id: SessionID) -> Outcome? {
        guard let outcomes = sessions[id]?.outcomes, let first = outcomes.first else { return nil }
        guard sequence >= first.sequence, sequence - first.sequence < outcomes.count else { return nil }
        return outcomes[sequence - first.sequence]
    }

    mutating func confirm(_ sequence: Int, in id: SessionID) {
        while let first = sessions[id]?.outcomes.first, first.sequence <= sequence { sessions[id]?.outcomes.removeFirst() }
    }

    /// The client has ended it, and will not come back.
    mutating func end(_ id: SessionID) {
        sessions[id] = nil
    }

    mutating func expire(_ id: SessionID, at turn: Int) {
        sessions[id] = nil
        remember(Expired(id: id, turn: turn))
    }

    private mutating func remember(_ session: Expired) {
        guard expiredTurns.updateValue(session.turn, forKey: session.id) == nil else { return }
        expired.append(session)
        guard expired.count > Self.expiredLimit, let oldest = expired.popFirst() else { return }
        expiredTurns[oldest.id] = nil
        forgottenTurn = max(forgottenTurn, oldest.turn)
    }

    /// Whether a session that is not known was known once. To welcome it at 1 could apply its inputs a second time.
    ///
    /// - Parameter witness: the newest turn that its client was told of; 0 if it was never welcomed, and so never sent.
    func hasExpired(_ id: SessionID, witness: Int) -> Bool {
        guard sessions[id] == nil else { return false }
        return expiredTurns[id] != nil || (witness > 0 && witness < forgottenTurn)
    }

    mutating func restore(expired list: [Expired], forgottenTurn turn: Int) {
        forgottenTurn = turn
        for session in list { remember(session) }
    }

    mutating func restore(_ id: SessionID, last: Int, outcomes: [Outcome]) {
        sessions[id] = Session(last: last, outcomes: Deque(outcomes))
    }
}
