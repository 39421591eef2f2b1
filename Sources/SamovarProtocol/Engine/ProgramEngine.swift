public import SamovarCore

/// A program as the store sees it: bytes in, records and effects out. It hides the program's types, so that the store machine
/// is compiled once and tested without any program.
///
/// Used by one thread. Every group that is applied is written to a `TurnLog`; nothing is visible before the log is on disk.
public protocol ProgramEngine: AnyObject {
    var schema: Schema { get }
    /// The number of the newest turn.
    var head: Int { get }

    /// Counts a turn that does not call `update`, and returns its number.
    func skip() -> Int

    /// Begins a timeline: `Program.start` at turn 1, whose record the log already holds.
    ///
    /// - Throws: `SeedError` if the seed cannot be read or the program refuses it; `GroupLimit`.
    func start(seed: [UInt8], now: Timestamp, log: TurnLog) throws

    /// Decodes an input, asks `accept`, applies the message and its follow-ups. A refusal takes a turn, too.
    func take(_ input: [UInt8], now: Timestamp, origin: Origin, log: TurnLog) throws(GroupLimit) -> Outcome.Verdict

    /// Applies the messages of a job as one group; the last one closes the effect.
    ///
    /// - Throws: `UnreadableAnswer` if a message is not one of this program, and then nothing was applied; `GroupLimit`.
    func take(answer messages: [[UInt8]], effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog) throws

    /// Asks `failed` for a message and applies it; false if the program makes none of this failure.
    func take(failure: Failure, of effect: EffectID, payload: [UInt8], root: Int, now: Timestamp, log: TurnLog)
        throws(GroupLimit) -> Bool

    /// Applies a record of the journal again and compares what follows from it.
    ///
    /// - Throws: `ReplayError` if the message cannot be read or the command is another than it was.
    func replay(_ record: Record, log: TurnLog) throws(ReplayError)

    /// The current view, in MessagePack.
    func view() throws -> [UInt8]
    /// The current state, in MessagePack.
    func state() throws -> [UInt8]
    /// Sets state and head from a snapshot.
    func restore(state: [UInt8], head: Int) throws
}

/// A seed that the program cannot read or refuses.
public struct SeedError: Error, Equatable, Sendable, CustomStringConvertible {
    public let text: String
    public var description: String { text }
}

/// A worker's answer that is not a message of this program.
public struct UnreadableAnswer: Error, Equatable, Sendable, CustomStringConvertible {
    public let text: String
    public var description: String { text }
}

/// What groups of turns gave, in order: records for the journal and effects for the ledger.
///
/// A class, so that a batch that grows is never copied on its way through the engine. Used by one thread.
public final class TurnLog {
    public var batch: RecordBatch
    public var opened: [OpenEffect] = []

    public init(after turn: Int) {
        batch = RecordBatch(after: turn)
    }
}

/// An effect that was ordered and is not closed yet, with everything that survives a restart.
public struct OpenEffect: Equatable, Sendable {
    public let id: EffectID
    /// The turn that began the chain.
    public let root: Int
    public let instance: Instance
    public let queue: Queue
    public let retry: Retry
    public let timeout: Duration?
    /// The effect in MessagePack.
    public let payload: [UInt8]
    /// Attempts that failed, deaths of workers not counted.
    public var failures = 0
    /// Workers that died while they ran it.
    public var deaths = 0
    /// The newest lease whose attempt has failed; an answer under it, or an older one, was counted or came too late.
    public var failed: Lease?
    /// Not to be handed out earlier.
    public var notBefore: Timestamp

    public init(
        id: EffectID, root: Int, instance: Instance = .main, options: RunOptions = RunOptions(), payload: [UInt8], now: Timestamp
    ) {
        self.id = id
        self.root = root
        self.instance = instance
        queue = options.queue
        retry = options.retry
        timeout = options.timeout
        self.payload = payload
        notBefore = now + options.delay
    }
}
