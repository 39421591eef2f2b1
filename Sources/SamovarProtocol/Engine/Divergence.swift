public import SamovarCore

/// The command of a turn as a replay has computed it again, beside what the journal says of the one that was carried out; or the same of
/// the program's state.
///
/// The journal keeps a hash of each command and not the command, because its effects would take more room than its messages.
public struct Divergence: Equatable, Sendable {
    /// What the two hashes are of.
    public enum Subject: String, Codable, Sendable {
        case command
        /// The state after the turn before, of which a record tells that is a turn of its own.
        case state
    }

    public enum Order: Equatable, Sendable {
        case run(OpenEffect)
        /// A follow-up, in MessagePack.
        case then([UInt8])
        case cancel(Label)
        /// An output, in MessagePack.
        case emit([UInt8])
        case control(Control)
    }

    public let subject: Subject
    /// The turn whose command it is, or that tells of the state.
    public let turn: Int
    public let origin: Origin
    /// What `update` was given, in MessagePack; at turn 1 the seed.
    public let message: [UInt8]
    /// The hash that the journal has; 0 if nothing was ordered, nil at turn 1, whose record has none.
    public let recorded: UInt64?
    /// The hash of what is ordered now; as a former build wrote it, if the record has that.
    public let hash: UInt64
    /// What is ordered now.
    public let orders: [Order]

    init(
        _ subject: Subject = .command, turn: Int, origin: Origin, message: [UInt8], recorded: UInt64?, hash: UInt64, orders: [Order]
    ) {
        (self.subject, self.turn, self.origin, self.message) = (subject, turn, origin, message)
        (self.recorded, self.hash, self.orders) = (recorded, hash, orders)
    }
}

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
        return hashes.contains(command.hash) || hashes.contains(Divergence.formerHash(of: command.orders))
    }
}
