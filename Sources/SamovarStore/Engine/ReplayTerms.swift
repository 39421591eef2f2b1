public import SamovarWire

/// How many messages a replay has applied, by what could be said of their commands, and of how many states.
public struct ReplayCounts: Equatable, Codable, Sendable {
    /// The command was held against the recorded one.
    public var compared = 0
    /// An older version of the program wrote the turn, so there was nothing to compare with.
    public var uncompared = 0
    /// The state was held against that of the store that served.
    public var states = 0
    /// The newest turn after which it was; 0 for none.
    public var newestState = 0

    public init() {}
}

/// What a replay puts up with, and where it stops to be looked at.
public struct ReplayTerms: Equatable, Sendable {
    /// Commands that are not the recorded ones and were accepted all the same: their hashes, by turn.
    public var accepted: [Int: Set<UInt64>] = [:]
    /// The replay ends at this turn with the command of it, whether that is the recorded one or not.
    public var shown: Int?

    public init() {}

    /// Whether this command was accepted, by this build or by one that had another hash for it.
    public func accepts(_ command: Divergence) -> Bool {
        guard let hashes = accepted[command.turn] else { return false }
        return hashes.contains(command.hash) || command.formerHashes.contains { hashes.contains($0) }
    }
}
