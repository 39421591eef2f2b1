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
    /// What former builds may have written as the hash of the same orders.
    package let formerHashes: [UInt64]
    /// What is ordered now.
    public let orders: [Order]

    package init(
        _ subject: Subject = .command, turn: Int, origin: Origin, message: [UInt8], recorded: UInt64?, hash: UInt64,
        formerHashes: [UInt64] = [], orders: [Order]
    ) {
        (self.subject, self.turn, self.origin, self.message) = (subject, turn, origin, message)
        (self.recorded, self.hash, self.formerHashes, self.orders) = (recorded, hash, formerHashes, orders)
    }
}
