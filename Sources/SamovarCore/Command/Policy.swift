/// What happens when an effect is ordered while others with the same label are open. The store enforces it, over all workers
/// and across restarts.
///
/// ```swift
/// return .run(.search(text), id: "search", policy: .latest)
/// ```
///
/// Without a label, every effect runs by itself. A policy is that of the new order: what is open is not asked for its own.
public enum Policy: Hashable, Sendable {
    /// Nothing: they run side by side.
    case all
    /// The open ones are cancelled, and dead ones dropped; the newest counts.
    case latest
    /// The order is passed over; the oldest counts.
    case first
    /// They run one after the other, in order. At most `limit` of them are open at once; one more fails at once, with
    /// `Failure.Reason.crowded`. One that is dead is passed by.
    case serial(limit: Int)
    /// They begin in order, and so many of them run at once: `width`, from 1 to 1,000. The rest is as with `serial`, but for what a dead
    /// one does.
    case lane(width: Int = 1, limit: Int, behindDead: BehindDead = .goesOn)

    /// What becomes of a lane when one of its effects is dead.
    public enum BehindDead: Hashable, Sendable {
        /// The next takes its place.
        case goesOn
        /// It keeps its place until it is requeued or dropped. In a lane of width 1 nothing overtakes it; in a wider one it takes up one of
        /// the places. It counts to the limit.
        case stops
    }

    /// The widest lane.
    package static let widthLimit = 1_000
    /// How many may be open at once, at most.
    package static let limits = 1...1 << 32

    /// As the journal keeps it.
    var asKept: Policy {
        switch self {
        case .all, .latest, .first: self
        case .serial(let limit): .serial(limit: Self.bounded(limit))
        case .lane(let width, let limit, let behindDead):
            .lane(width: Self.bounded(width: width), limit: Self.bounded(limit), behindDead: behindDead)
        }
    }

    package static func bounded(_ limit: Int) -> Int { min(max(limits.lowerBound, limit), limits.upperBound) }

    package static func bounded(width: Int) -> Int { min(max(1, width), widthLimit) }

    /// How many may run at once, and how many be open; nil if they do not wait for each other.
    package var lane: (width: Int, limit: Int, stops: Bool)? {
        switch self {
        case .all, .latest, .first: nil
        case .serial(let limit): (1, max(1, limit), false)
        case .lane(let width, let limit, let behindDead):
            (Self.bounded(width: width), max(1, limit), behindDead == .stops)
        }
    }
}
