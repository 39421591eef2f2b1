/// What goes wrong where two stores share a database, beside the faults of all worlds. Each is off in half of those worlds.
public enum DatabaseFault: Int, CaseIterable, Sendable {
    /// The machine of a store is gone with it: nobody closes its connections, and the lock of its lease stays.
    case powerLoss
    /// A store is stopped for longer than its lease.
    case longPause
    /// A store does not reach the database, and may be taken for dead.
    case databaseCut
    /// No peer reaches a store.
    case peersCut
    /// The store that waits asks for the journal.
    case handOver
    case databaseAway
    /// Another server takes over, which has all that was confirmed, and whose clock is another one.
    case failOver
    /// It does not have the newest batch.
    case lossyFailOver
    /// What is committed is not confirmed for a while.
    case replicaAway
    /// Statements are not answered: some have happened, some have not, some happen later.
    case answersLost

    /// Each is tried about so often, and some come to nothing: a loss has to be one that both stores know of. Nil for what is drawn for each statement.
    var interval: Instant? {
        switch self {
        case .handOver: 25 * seconds
        case .databaseCut, .replicaAway: 40 * seconds
        case .powerLoss, .longPause, .peersCut, .databaseAway, .failOver: 60 * seconds
        case .lossyFailOver: 15 * seconds
        case .answersLost: nil
        }
    }
}
