/// What became of an input of a `LocalStore`.
public enum LocalReceipt<P: Program>: Equatable, Sendable {
    /// It is in the state, with all that followed from it.
    case applied(turn: Int)
    /// The program turned it away.
    case refused(P.Refusal, turn: Int)
}

/// Every limit of a `LocalStore`.
public struct LocalStoreSettings: Hashable, Sendable {
    /// How large one group of turns may grow. Of turns and effects; its bytes count for nothing here.
    public var group = GroupLimits.default
    /// Effects that may be open; from then on inputs are turned away, as by the real store.
    public var openEffects = 1_000_000
    /// Outputs and cancellations that wait for the caller to take them.
    public var untaken = 65_536

    /// All limits as by default.
    public init() {}
}

/// Why a `LocalStore` takes nothing.
public enum LocalStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A group passed one of its limits. The state is beyond repair: make another store.
    case group(GroupLimit)
    /// So many effects are open, which is the limit: answer some of them first.
    case openEffects(Int)
    /// So many outputs and cancellations wait to be taken, which is the limit.
    case untaken(Int)

    /// What the matter is, and what to do.
    public var description: String {
        switch self {
        case .group(let limit): "\(limit); this store cannot be used any more"
        case .openEffects(let limit): "\(limit) effects are open; answer some of them first"
        case .untaken(let limit): "\(limit) outputs and cancellations wait; call takeOutputs() and takeCancelled() first"
        }
    }
}
