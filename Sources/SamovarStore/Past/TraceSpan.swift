public import SamovarCore
public import SamovarWire

/// A piece of a chain of turns with a beginning and an end: a turn, which takes no time, or an effect, from its order to its end.
public struct TraceSpan: Equatable, Sendable {
    /// What a span is of, and by what others call it their parent.
    public enum Place: Hashable, Sendable {
        case turn(Int)
        case effect(EffectID)
        /// An effect that was dead and requeued, and has ended once more in a turn. It is nobody's parent.
        case again(EffectID, endedIn: Int)
        /// An attempt of an effect, by when it was handed out. It is nobody's parent.
        case attempt(EffectID, handedOut: Timestamp)
    }

    /// How an effect has ended.
    public enum End: String, Sendable {
        /// Its handler has returned a message.
        case answered
        /// Its handler has returned, without a message.
        case done
        /// It failed for good, and the program made a message of it.
        case failed
        /// It failed for good, and waits for an operator.
        case dead
        /// By `cancel`, by a policy, or because its subscription is over.
        case cancelled
        case dropped
    }

    public enum Content: Equatable, Sendable {
        /// A turn, and the effects that it has ordered.
        case turn(Record, ordered: [OpenEffect])
        /// - attempts: of which it is known that they have ended, since its newest checkpoint.
        case effect(OpenEffect, End, attempts: Int)
    }

    public let place: Place
    public let parent: Place?
    /// The turn that began the chain.
    public let root: Int
    public let begin: Timestamp
    public let end: Timestamp
    /// Why it is one of an error, in words; nil if it is not.
    public let failure: String?
    public let content: Content

    init(
        _ place: Place, _ parent: Place?, root: Int, from begin: Timestamp, to end: Timestamp, failure: String?, _ content: Content
    ) {
        self.place = place
        self.parent = parent
        self.root = root
        self.begin = min(begin, end)
        self.end = end
        self.failure = failure
        self.content = content
    }
}

// MARK: Identities

/// Hashes of the timeline and of what the span is of, so that whoever exports it again, anywhere, gives it the same.
extension TraceSpan {
    /// A span identity in eight bytes, never zero.
    public static func id(of place: Place, in timeline: Timeline) -> UInt64 {
        switch place {
        case .turn(let turn): hash(0, turn, in: timeline)
        case .effect(let effect): hash(1, effect.turn, effect.ordinal, in: timeline)
        case .again(let effect, let turn): hash(2, effect.turn, effect.ordinal, turn, in: timeline)
        case .attempt(let effect, let at): hash(5, effect.turn, effect.ordinal, Int(at.microseconds), in: timeline)
        }
    }

    /// The identity of a chain in sixteen bytes, never zero.
    public static func trace(of root: Int, in timeline: Timeline) -> (high: UInt64, low: UInt64) {
        (hash(3, root, in: timeline), hash(4, root, in: timeline))
    }

    private static func hash(_ kind: UInt8, _ numbers: Int..., in timeline: Timeline) -> UInt64 {
        var hash = KeyedHash(Secret(high: timeline.high, low: timeline.low))
        hash.combine(kind)
        for number in numbers { hash.combine(number) }
        return max(1, hash.finish())
    }
}
