public import MessagePack
import SamovarCore
public import SamovarWire

/// A program's state as of a turn that is over, moved forward along the records of a journal.
///
/// It knows no books of effects, sessions or workers, and no files: its host hands it a snapshot, or nothing, and then batches. It holds one
/// state, computed from records alone, and never refers to that of a running store.
///
/// Used by one thread.
public final class PastMachine {
    private let engine: any ProgramEngine
    private let version: Int
    /// The version of the program that wrote the records at ``turn``; nil before it is known.
    public private(set) var author: Int?
    /// Called with the turn of each record before the program's code applies it, which may trap or never end, and with nil after that.
    public var mark: (Int?) -> Void = { _ in }
    /// What the turn ordered with which the last replay came to its limit, for people; follow-ups are records of their own.
    public package(set) var orders: [MessagePackValue] = []

    /// - Parameters:
    ///   - engine: one that has seen no turn.
    ///   - terms: what the replay puts up with.
    public init(_ engine: any ProgramEngine, terms: ReplayTerms = ReplayTerms()) {
        self.engine = engine
        version = engine.schema.version
        engine.terms = terms
    }

    /// The turn as of which the state is; 0 before the first.
    public var turn: Int { engine.head }

    /// Turns of an older version were computed since the snapshot.
    private var hasComputedOlder = false

    /// Whether an older version of the program wrote what was computed since the snapshot, or what comes next. What this one makes of it need not
    /// be what that made, so the next snapshot says more than the state does.
    public var followsOlder: Bool { hasComputedOlder || author.map { $0 < version } ?? false }

    /// Begins with what a snapshot says.
    ///
    /// - Throws: `MigrationError` for a version that this program cannot read; what reading throws: an older snapshot may do.
    public func restore(snapshot: [UInt8]) throws {
        let content = try StoreSnapshot.content(of: snapshot)
        try engine.restore(state: content.state, head: content.turn, writtenBy: content.author)
        author = content.author
        hasComputedOlder = false
    }

    /// Begins with a state that was computed before.
    public func restore(_ checkpoint: PastCheckpoint) throws {
        try engine.restore(state: checkpoint.state, head: checkpoint.turn, writtenBy: version)
        author = version
        hasComputedOlder = false
    }

    /// The state as a later beginning; nil where a replay cannot begin: inside a group, or behind turns of an older version of the program.
    public func checkpoint() throws -> PastCheckpoint? {
        guard author != nil, !followsOlder else { return nil }
        do throws(ReplayError) { try engine.requireEndOfGroup() } catch { return nil }
        return PastCheckpoint(turn: turn, state: try engine.state())
    }

    /// Applies the records of a stored batch that are not applied yet.
    ///
    /// - Parameters:
    ///   - limit: the last turn to apply.
    ///   - each: hears of each record when the state is that after it; what it throws ends the replay behind that turn and is passed on.
    /// - Throws: `ReplayError`, naming the turn.
    public func replay(
        first: Int, last: Int, bytes: [UInt8], through limit: Int = .max, each: (Record) throws -> Void = { _ in }
    ) throws {
        var log = TurnLog(ofReplayAfter: turn)
        let known = turn
        orders = []
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= limit else { return }
            mark(record.turn)
            do {
                defer { mark(nil) }
                try engine.replay(record, log: &log)
            }
            if case .started(_, _, let schema, _) = record.event { author = schema.version }
            hasComputedOlder = followsOlder
            // Nobody carries them out.
            log.takeOrders { if record.turn == limit, let shown = $0.shown { orders.append(shown) } }
            try each(record)
        }
    }

    /// The state in MessagePack.
    public func state() throws -> [UInt8] { try engine.state() }

    /// What outsiders saw of it, in MessagePack.
    public func view() throws -> [UInt8] { try engine.view() }

    /// Whether the state keeps the program's invariant at this place.
    public func keeps(invariant index: Int) -> Bool { engine.keeps(invariant: index) }
}
