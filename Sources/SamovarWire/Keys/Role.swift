/// What a key is for. A key may have several roles.
///
/// | | viewer | client | worker | operator |
/// |---|---|---|---|---|
/// | hears views, and asks for them | yes | yes | – | yes |
/// | sends inputs, reads outputs, waits for a turn to settle | – | yes | – | – |
/// | runs effects | – | – | yes | – |
/// | `status`, `effects` and the other requests of operators | – | – | – | yes |
public enum Role: String, Hashable, Sendable, CaseIterable {
    case viewer
    case client
    case worker
    case `operator`
}

/// Where a peer comes in: one of the sockets of a store that can be connected to. Their ports follow each other in this order.
public enum Door: String, Hashable, Sendable, CaseIterable {
    case front
    case work
    case view
    case admin

    /// Who has business there.
    public var roles: Set<Role> {
        switch self {
        case .front, .view: Self.readers
        case .work: Self.workers
        case .admin: Self.operators
        }
    }

    // Made once: they are asked for with each frame.
    private static let readers: Set<Role> = [.viewer, .client, .operator]
    private static let workers: Set<Role> = [.worker]
    private static let operators: Set<Role> = [.operator]
}
