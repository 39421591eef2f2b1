import DequeModule
import SamovarCore
import SamovarWire

/// What clients have sent and what became of it: state that the journal determines.
///
/// Numbers of a session are contiguous, so “which inputs were taken” is one number, whatever was sent twice. Outcomes are kept
/// until the client confirms them, and never more than a window, because a client cannot be further ahead.
struct SessionTable: Equatable, Sendable {
    struct Session: Equatable, Sendable {
        /// The key that opened it, by its name; nil if it needed none.
        let owner: KeyName?
        /// The number of the newest input that has a turn.
        var last = 0
        /// Outcomes of the newest inputs, ending with `last`.
        var outcomes: Deque<Outcome> = []

        fileprivate mutating func answer(_ outcome: Outcome, keeping window: Int) {
            last = outcome.sequence
            outcomes.append(outcome)
            if outcomes.count > window { outcomes.removeFirst() }
        }

        fileprivate mutating func confirm(_ sequence: Int) {
            while let first = outcomes.first, first.sequence <= sequence { outcomes.removeFirst() }
        }
    }

    private(set) var sessions: [SessionID: Session] = [:]
    /// Those that were silent for too long.
    private(set) var expired = EndedSessions()
    /// Those that their clients have ended.
    private(set) var closed = EndedSessions()
    let window: Int

    init(window: Int) {
        self.window = window
    }

    /// The number of the newest input that has a turn, also of a session that has ended with it.
    func last(of id: SessionID) -> Int { sessions[id]?.last ?? closed[id]?.last ?? 0 }

    /// It has ended with an input, so that its client may come back, and belonged to another name than this.
    func hasEnded(_ id: SessionID, ofOtherThan name: KeyName?) -> Bool {
        closed[id].map { $0.last > 0 && $0.owner != name } ?? false
    }

    /// What the journal alone determines of those that go on: whose they are, and how far they have come.
    var places: [SessionID: Session] { sessions.mapValues { Session(owner: $0.owner, last: $0.last) } }

    /// It is in the journal and goes on, so that its end has to be there, too.
    func isOpen(_ id: SessionID) -> Bool { sessions[id] != nil }

    /// - Parameter endsSession: it was applied, and there will be no other. Where it stands is all that is kept: a client sends such an
    ///   input when it has the outcomes of those before.
    mutating func answer(_ id: SessionID, _ outcome: Outcome, by sender: Sender?, endsSession: Bool = false) {
        if endsSession {
            let owner = if let session = sessions.removeValue(forKey: id) { session.owner } else { sender?.name }
            closed.append(id, at: outcome.turn, last: outcome.sequence, owner: owner)
        } else {
            sessions[id, default: Session(owner: sender?.name)].answer(outcome, keeping: window)
        }
    }

    /// The outcome of an input that has had its turn; nil if the client had confirmed it.
    func outcome(of sequence: Int, in id: SessionID) -> Outcome? {
        if let end = closed[id], end.last == sequence { return Outcome(sequence: sequence, turn: end.turn, verdict: .applied) }
        guard let outcomes = sessions[id]?.outcomes, let first = outcomes.first else { return nil }
        guard sequence >= first.sequence, sequence - first.sequence < outcomes.count else { return nil }
        return outcomes[sequence - first.sequence]
    }

    mutating func confirm(_ sequence: Int, in id: SessionID) {
        sessions[id]?.confirm(sequence)
    }

    /// Its client has said goodbye.
    ///
    /// - Parameter sequence: of the record, which counts as one more input. Earlier builds wrote the number of the last input and
    ///   remembered nothing, in their snapshots neither; a replay of such a record does as they did.
    mutating func close(_ id: SessionID, sequence: Int, at turn: Int) {
        if sequence > last(of: id) { closed.append(id, at: turn) }
        sessions[id] = nil
    }

    mutating func expire(_ id: SessionID, at turn: Int) {
        sessions[id] = nil
        expired.append(id, at: turn)
    }

    /// How a session that is not known has ended, if it was known once. To welcome it at 1 could apply its inputs a second time.
    ///
    /// Who expired may come back with unanswered inputs, so a session that may be a forgotten one of these is not welcomed. Who has said
    /// goodbye breaks the protocol by coming back, and many more do say it: that rule would send away who was quiet and never sent.
    ///
    /// Who has sent an input that ends its session may not have its outcome yet. So it is welcomed to a session that has ended with one,
    /// which takes nothing more, and not to one that may be a forgotten one of these.
    ///
    /// - Parameters:
    ///   - witness: the newest turn that its client was told of; 0 if it was never welcomed, and so never sent.
    ///   - mayHaveEnded: its client has sent an input that ends it.
    func end(of id: SessionID, witness: Int, mayHaveEnded: Bool = false) -> SessionEnd? {
        guard sessions[id] == nil else { return nil }
        if let end = closed[id] { return mayHaveEnded && end.last > 0 ? nil : .closed }
        if expired[id] != nil || (witness > 0 && witness < expired.forgottenTurn) { return .expired }
        return mayHaveEnded && witness > 0 && witness < closed.forgottenTurn ? .forgotten : nil
    }

    mutating func restore(expired: EndedSessions, closed: EndedSessions) {
        self.expired = expired
        self.closed = closed
    }

    mutating func restore(_ id: SessionID, owner: KeyName?, last: Int, outcomes: [Outcome]) {
        sessions[id] = Session(owner: owner, last: last, outcomes: Deque(outcomes))
    }
}
