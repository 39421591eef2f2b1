import SamovarCore
import SamovarWire

/// What shall have been otherwise: the question of a `whatif`.
public struct Supposition: Equatable, Sendable {
    /// Turns that shall not have happened.
    public var removed: Set<Int>
    /// What came instead, in MessagePack: an input where one came or was refused, elsewhere a message.
    public var replaced: [Int: [UInt8]]
    /// Inputs that came after a turn and all that followed from it, in their order.
    public var inserted: [Int: [[UInt8]]]

    public init(removed: Set<Int> = [], replaced: [Int: [UInt8]] = [:], inserted: [Int: [[UInt8]]] = [:]) {
        (self.removed, self.replaced, self.inserted) = (removed, replaced, inserted)
    }

    /// The first turn that may not be as it was; nil if nothing shall have been otherwise.
    public var first: Int? { [removed.min(), replaced.keys.min(), inserted.keys.min().map { $0 + 1 }].compactMap { $0 }.min() }

    /// The last turn that it speaks of.
    public var last: Int? { [removed.max(), replaced.keys.max(), inserted.keys.max()].compactMap { $0 }.max() }

    /// Why a turn cannot be what is supposed of it; nil if it can.
    func objection(to record: Record) -> SuppositionError? {
        let (isRemoved, isReplaced) = (removed.contains(record.turn), replaced[record.turn] != nil)
        guard isRemoved || isReplaced else { return nil }
        if isRemoved && isReplaced { return SuppositionError(turn: record.turn, "it cannot be both removed and replaced") }
        if case .followUp(let cause) = record.origin {
            return SuppositionError(turn: record.turn, "it follows from turn \(cause), and is derived again: change that one")
        }
        switch record.event {
        case .applied, .streamed: return nil
        case .refused:
            if case .client = record.origin { return nil }
        case .attemptFailed, .done, .dead, .requeued, .dropped, .controlled, .quarantined: if isRemoved { return nil }
        case .started, .workerJoined, .workerLeft, .sessionExpired, .drained, .divergenceAccepted, .stateDigest: break
        }
        return SuppositionError(
            turn: record.turn,
            "it is no input and no message (\(record.kind)): it cannot be \(isRemoved ? "removed" : "replaced")")
    }
}

/// Something that cannot be supposed.
public struct SuppositionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The turn that it speaks of.
    public let turn: Int
    public let text: String

    init(turn: Int, _ text: String) {
        (self.turn, self.text) = (turn, text)
    }

    public var description: String { "turn \(turn): \(text)" }
}
