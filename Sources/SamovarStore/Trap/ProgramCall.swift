public import SamovarCore

/// One call into the program, so that a restart can say which of them the process did not survive.
public enum ProgramCall: Hashable, Sendable {
    /// `Program.start` of a new timeline.
    case start
    /// `accept` and `update` of an input, with all its follow-ups.
    case input(SessionID, sequence: Int)
    /// `update` with the answer of an effect. Without the lease: another attempt gives the same answer.
    case answer(EffectID)
    /// `failed` of an effect, and `update` with what it made.
    case failure(EffectID)
    /// `update` with the message of a subscription, named by its activation.
    case firing(EffectID)
    /// `operated` of what an operator did, and `update` with what it made. A number for the action.
    case operated(UInt64)
    case view
    /// Encoding the state.
    case state
    /// Decoding the state of a snapshot.
    case restore
    /// `subscriptions` of the state with which a store starts again.
    case subscriptions
    /// `start` or `update` with a turn of the journal.
    case replay(turn: Int)
    /// Replaying, encoding and decoding beside the service, on a thread of its own.
    case maintenance

    /// What it was doing, for a sentence with “while it”.
    var activity: String {
        switch self {
        case .start: "began the program"
        case .input(let session, let sequence): "took input \(sequence) of session \(session)"
        case .answer(let effect): "took the answer of effect \(effect)"
        case .failure(let effect): "took the failure of effect \(effect)"
        case .firing(let activation): "fired subscription \(activation)"
        case .operated: "took notice of what an operator did"
        case .view: "made a view"
        case .state: "encoded the state"
        case .restore: "read a snapshot"
        case .subscriptions: "asked for subscriptions"
        case .replay(let turn): "replayed turn \(turn)"
        case .maintenance: "made or checked a snapshot beside its service"
        }
    }
}

/// What is known of how a process died during a call.
public enum DeathEvidence: Hashable, Sendable {
    /// Nothing: somebody killed it, or it ran out of memory, or the power failed. This proves nothing against the call.
    case none
    /// The call raised this signal in its own thread.
    case signal(Int)
    /// The group broke a limit of this size.
    case limit(GroupLimit.Kind, Int)

    var isProof: Bool { self != .none }

    var text: String {
        switch self {
        case .none: "killed, or out of memory"
        case .signal(let number): "a trap, signal \(number)"
        case .limit(let kind, let limit): kind.text(limit)
        }
    }
}

// MARK: - In words of 64 bits

extension ProgramCall {
    /// Four words, the first of which is not zero.
    var words: (UInt64, UInt64, UInt64, UInt64) {
        switch self {
        case .start: (1, 0, 0, 0)
        case .input(let session, let sequence): (2, session.high, session.low, UInt64(bitPattern: Int64(sequence)))
        case .answer(let effect): (3, UInt64(bitPattern: Int64(effect.turn)), UInt64(bitPattern: Int64(effect.ordinal)), 0)
        case .failure(let effect): (4, UInt64(bitPattern: Int64(effect.turn)), UInt64(bitPattern: Int64(effect.ordinal)), 0)
        case .firing(let activation):
            (9, UInt64(bitPattern: Int64(activation.turn)), UInt64(bitPattern: Int64(activation.ordinal)), 0)
        case .view: (5, 0, 0, 0)
        case .state: (6, 0, 0, 0)
        case .restore: (7, 0, 0, 0)
        case .subscriptions: (10, 0, 0, 0)
        case .replay(let turn): (8, UInt64(bitPattern: Int64(turn)), 0, 0)
        case .maintenance: (11, 0, 0, 0)
        case .operated(let action): (12, action, 0, 0)
        }
    }

    /// Nil for words that are none of a call, whoever wrote them.
    init?(words: (UInt64, UInt64, UInt64, UInt64)) {
        let first = Int(truncatingIfNeeded: words.1)
        let second = Int(truncatingIfNeeded: words.2)
        switch words.0 {
        case 1: self = .start
        case 2: self = .input(UniqueID(high: words.1, low: words.2), sequence: Int(truncatingIfNeeded: words.3))
        case 3: self = .answer(EffectID(turn: first, ordinal: second))
        case 4: self = .failure(EffectID(turn: first, ordinal: second))
        case 5: self = .view
        case 6: self = .state
        case 7: self = .restore
        case 8: self = .replay(turn: first)
        case 9: self = .firing(EffectID(turn: first, ordinal: second))
        case 10: self = .subscriptions
        case 11: self = .maintenance
        case 12: self = .operated(words.1)
        default: return nil
        }
    }
}

extension DeathEvidence {
    /// The kind and a number.
    var words: (UInt64, UInt64) {
        switch self {
        case .none: (0, 0)
        case .signal(let number): (1, UInt64(truncatingIfNeeded: number))
        case .limit(let kind, let limit): (2 + UInt64(kind.rawValue), UInt64(truncatingIfNeeded: limit))
        }
    }

    init(words: (UInt64, UInt64)) {
        switch words.0 {
        case 1: self = .signal(Int(truncatingIfNeeded: words.1))
        case 2...32:
            guard let kind = GroupLimit.Kind(rawValue: Int(words.0) - 2) else { fallthrough }
            self = .limit(kind, Int(truncatingIfNeeded: words.1))
        default: self = .none
        }
    }
}
