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
    /// The open ones are cancelled; the newest counts.
    case latest
    /// The order is passed over; the oldest counts.
    case first
    /// They run one after the other, in order. At most `limit` of them are open at once; one more fails at once, with
    /// `Failure.Reason.crowded`.
    case serial(limit: Int)
}
