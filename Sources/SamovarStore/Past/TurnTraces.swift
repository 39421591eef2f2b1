import SamovarCore
public import SamovarWire

/// What the journal tells of the command of one turn beside its hash: the build that computed it, its follow-ups, which are
/// turns themselves, and what became of its effects.
///
/// Made by reading all records in order. Effects leave a trace only when something happens to them.
public struct TurnTraces: Equatable, Sendable {
    public let turn: Int
    /// Of the start before the turn.
    public private(set) var build = ""
    /// Their turns and messages, in order.
    public private(set) var followUps: [FollowUp] = []
    /// The newest trace of each effect, by ordinal.
    public private(set) var effects: [Int: Trace] = [:]

    public struct FollowUp: Codable, Equatable, Sendable {
        /// Its own.
        public let turn: Int
        /// In MessagePack.
        public let message: [UInt8]
    }

    public struct Trace: Equatable, Sendable {
        /// Such as `answered`.
        public let what: String
        /// The turn that tells of it.
        public let turn: Int
    }

    public init(of turn: Int) {
        self.turn = turn
    }

    public mutating func note(_ record: Record) {
        switch record.event {
        case .started(_, let build, _, _): if record.turn <= turn { self.build = Record.Event.name(ofBuild: build) }
        case .applied(let message, _, let closes): note(applied: record, message, closes: closes)
        case .streamed(let message, _, _): note(applied: record, message, closes: false)
        case .attemptFailed(let effect, let reason, _, _): note(effect, "an attempt ended (\(reason.rawValue))", record)
        case .done(let effect), .dead(let effect, _), .requeued(let effect), .dropped(let effect): note(effect, record.kind, record)
        default: break
        }
    }

    private mutating func note(applied record: Record, _ message: [UInt8], closes: Bool) {
        switch record.origin {
        case .followUp(let cause) where cause == turn:
            followUps.append(FollowUp(turn: record.turn, message: message))
        case .effect(let effect, _, _): note(effect, closes ? "answered" : "answered in part", record)
        case .failure(let effect): note(effect, "failed", record)
        default: break
        }
    }

    private mutating func note(_ effect: EffectID, _ what: String, _ record: Record) {
        if effect.turn == turn { effects[effect.ordinal] = Trace(what: what, turn: record.turn) }
    }
}
