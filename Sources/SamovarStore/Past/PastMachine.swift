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
    /// The version of the program that wrote the records at ``turn``; nil before it is known.
    private var author: Int?
    /// Called with the turn of each record before the program's code applies it, which may trap or never end, and with nil after that.
    public var mark: (Int?) -> Void = { _ in }
    /// What the turn ordered with which the last replay came to its limit.
    private var ordered: [LoggedOrder] = []

    /// - Parameters:
    ///   - engine: one that has seen no turn.
    ///   - terms: what the replay puts up with.
    public init(_ engine: any ProgramEngine, terms: ReplayTerms = ReplayTerms()) {
        self.engine = engine
        engine.terms = terms
    }

    /// The turn as of which the state is; 0 before the first.
    public var turn: Int { engine.head }

    /// Begins with what a snapshot says.
    ///
    /// - Throws: `MigrationError` for a version that this program cannot read; what reading throws: an older snapshot may do.
    public func restore(snapshot: [UInt8]) throws {
        let content = try StoreSnapshot.content(of: snapshot)
        try engine.restore(state: content.state, head: content.turn, writtenBy: content.author)
        author = content.author
    }

    /// Begins with a state that was computed before.
    public func restore(_ checkpoint: PastCheckpoint) throws {
        try engine.restore(state: checkpoint.state, head: checkpoint.turn, writtenBy: engine.schema.version)
        author = engine.schema.version
    }

    /// The state as a later beginning; nil where a replay cannot begin: inside a group, or among records of an older version of the program.
    public func checkpoint() throws -> PastCheckpoint? {
        guard author == engine.schema.version else { return nil }
        do throws(ReplayError) { try engine.requireEndOfGroup() } catch { return nil }
        return PastCheckpoint(turn: turn, state: try engine.state())
    }

    /// What the turn ordered with which the last replay came to its limit, for people; follow-ups are records of their own.
    public var orders: [MessagePackValue] { ordered.compactMap(\.shown) }

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
        ordered = []
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= limit else { return }
            mark(record.turn)
            do {
                defer { mark(nil) }
                try engine.replay(record, log: &log)
            }
            if case .started(_, _, let schema, _) = record.event { author = schema.version }
            // Nobody carries them out.
            log.takeOrders { if record.turn == limit { ordered.append($0) } }
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
