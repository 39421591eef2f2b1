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
    }

    private(set) var sessions: [SessionID: Session] = [:]
    let window: Int

    init(window: Int) {
        self.window = window
    }

    func last(of id: SessionID) -> Int { sessions[id]?.last ?? 0 }

    mutating func answer(_ id: SessionID, _ outcome: Outcome) {
        sessions[id, default: Session()].last = outcome.sequence
        sessions[id]?.outcomes.append(outcome)
        if let count = sessions[id]?.outcomes.count, count > window { sessions[id]?.outcomes.removeFirst() }
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

    mutating func end(_ id: SessionID) {
        sessions[id] = nil
    }

    mutating func restore(_ id: SessionID, last: Int, outcomes: [Outcome]) {
        sessions[id] = Session(last: last, outcomes: Deque(outcomes))
    }
}
