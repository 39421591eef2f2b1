public import SamovarCore
public import SamovarWire

/// The sockets through which peers reach the store. What a peer with a key may do there, the key says; see `Access`.
public enum Listener: Int, Hashable, Sendable, CaseIterable {
    case front
    case work
    case admin
}

/// The way back to one connection of one peer. It dies with the connection, and is never an identity.
public struct Route: Hashable, Comparable, Sendable {
    public let listener: Listener
    /// The routing id that the ROUTER socket gave.
    public let id: [UInt8]
    /// Whether it came over the network, where other sockets give out the ids.
    public let isRemote: Bool

    public init(listener: Listener, id: [UInt8], isRemote: Bool = false) {
        self.listener = listener
        self.id = id
        self.isRemote = isRemote
    }

    public static func < (a: Route, b: Route) -> Bool {
        if a.listener != b.listener { return a.listener.rawValue < b.listener.rawValue }
        return a.isRemote == b.isRemote ? a.id.lexicographicallyPrecedes(b.id) : b.isRemote
    }
}

/// What the host of a store shall do; it decides nothing.
public enum StoreAction: Equatable, Sendable {
    case send(Envelope, to: Route)
    /// On the view socket, under the topic of the frame's instance.
    case publish(Envelope, of: Instance)
    /// Give this batch to the journal; `committed(through:now:)` follows when it is on disk.
    case append(first: Int, last: Int, bytes: [UInt8])
    /// Keep this snapshot; the journal holds its turn. `snapshotSaved(bytes:)` follows.
    case save(turn: Int, bytes: [UInt8])
    /// Make a snapshot as of this turn from the journal, beside the service; `snapshotSaved(bytes:)` follows.
    case snapshot(through: Int)
    /// Copy the journal up to this turn into a new folder, beside the service; `exportCopied(through:)` and
    /// `exportEnded(_:)` follow.
    ///
    /// The copy gets a snapshot of its last turn, unless the program does not survive that: so it is what an orderly stop leaves.
    case export(through: Int, folder: String, withSnapshot: Bool)
    /// Read the batches behind this turn, none beyond `through`: at most 512 KiB, but at least one; or, for nil, where a reader can begin.
    /// `historyRead(_:)` follows, for one action after the other.
    case readHistory(after: Int?, through: Int)
    /// End the connections of those who hear views over the network, and take new ones: some may not any more, and one alone cannot be ended.
    case reopenViews
    /// Read the table of keys again; `keysRead(_:now:)` follows.
    case readKeys
    /// Measure this process, for operators who ask for metrics; `processMeasured(_:now:)` follows.
    case measureProcess
    /// Renew the lease of the journal at once: a peer proves a turn that this store does not have, so another may have the journal.
    /// `leaseIsRenewed()` follows, or the store is fenced.
    case renewLease
    /// Tell those who observe it.
    case backlog([QueueBacklog])
    case stop(StopReason)
    case note(Note)
}

/// A line for the log, of at most 1,000 characters.
public struct Note: Equatable, Sendable {
    public enum Level: Sendable { case info, warning, error }
    public var level: Level
    public var text: String

    public init(_ level: Level, _ text: String) {
        self.level = level
        self.text = text.bounded()
    }
}

/// Why a store ends.
public enum StopReason: Error, Equatable, Sendable, CustomStringConvertible {
    /// It was asked to, and everything is on disk.
    case drained
    /// A peer proves that turns are missing from the end of the journal.
    case lostTail(String)
    /// A peer proves that another store goes on with the journal, which several can reach.
    case superseded(String)
    /// A group of turns passed a limit; nothing of it was kept.
    case groupLimit(GroupLimit)

    /// The next start knows what ended this one, and goes on without it.
    public var isCuredByRestart: Bool {
        switch self {
        case .groupLimit, .superseded: true
        case .drained, .lostTail: false
        }
    }

    public var description: String {
        switch self {
        case .drained: "stopped in order"
        case .lostTail(let evidence):
            """
            the journal has lost its tail: \(evidence). Put the newer journal back; or go on with this one as a new timeline: \
            journal export, then journal import
            """
        case .superseded(let evidence): "another store has taken over: \(evidence)"
        case .groupLimit(let limit): "\(limit)"
        }
    }
}

func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
