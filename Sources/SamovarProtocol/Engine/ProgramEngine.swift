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
    func take(answer messages: MessageList, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog) throws

    /// The same for an answer of one message, as nearly all are.
    func take(only message: ArraySlice<UInt8>, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog) throws

    /// Applies a message that a job sent before its end.
    ///
    /// - Throws: `UnreadableAnswer` if it is not one of this program, and then nothing was applied; `GroupLimit`.
    func take(
        streamed message: [UInt8], checkpoint: [UInt8]?, origin: Origin, root: Int, now: Timestamp, log: TurnLog) throws

    /// Applies the message of a subscription that fired.
    ///
    /// - Throws: `UnreadableAnswer` if the message cannot be read, and then nothing was applied; `GroupLimit`.
    func take(firing message: [UInt8], origin: Origin, now: Timestamp, log: TurnLog) throws

    /// Logs what the state wants to hear of, changed or not: a start is the moment for a new build to say so.
    func resubscribe(now: Timestamp, log: TurnLog)

    /// Asks `failed` for a message and applies it; false if the program makes none of this failure.
    func take(failure: Failure, of effect: EffectID, payload: [UInt8], root: Int, now: Timestamp, log: TurnLog)
        throws(GroupLimit) -> Bool

    /// What `replay` puts up with. Set it before.
    var terms: ReplayTerms { get set }

    /// Applies a record of the journal again and compares what follows from it.
    ///
    /// - Throws: `ReplayError` if the message cannot be read or the command is another than it was, with that command.
    func replay(_ record: Record, log: TurnLog) throws(ReplayError)

    /// - Throws: `ReplayError` if what was replayed ordered follow-ups that have not come.
    func requireEndOfGroup() throws(ReplayError)

    /// The current view, in MessagePack.
    func view() throws -> [UInt8]
    /// The current state, in MessagePack.
    func state() throws -> [UInt8]
    /// Sets state and head from a snapshot that a version of the program wrote.
    ///
    /// - Throws: `MigrationError` for a version that this one cannot read; what reading throws.
    func restore(state: [UInt8], head: Int, writtenBy version: Int) throws

    /// The oldest version of the program whose journal can be read.
    var oldestReadableVersion: Int { get }

    /// An effect that a version of the program ordered, as this one encodes it.
    func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8]

    /// The journal holds every turn up to this one: observers may be told.
    func committed(through turn: Int)
}

extension ProgramEngine {
    public func take(
        only message: ArraySlice<UInt8>, effect: EffectID, lease: Lease, root: Int, now: Timestamp, log: TurnLog
    ) throws {
        try take(answer: MessageList(message), effect: effect, lease: lease, root: root, now: now, log: log)
    }

    public var oldestReadableVersion: Int { schema.version }
    public func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8] { effect }
    public func committed(through turn: Int) {}
}

/// A seed that the program cannot read or refuses.
public struct SeedError: Error, Equatable, Sendable, CustomStringConvertible {
    public let text: String
    public var description: String { text }

    init(text: String) {
        self.text = text.bounded()
    }
}

/// A worker's answer that is not a message of this program.
public struct UnreadableAnswer: Error, Equatable, Sendable, CustomStringConvertible {
    public let text: String

    @usableFromInline
    init(text: String) {
        self.text = text.bounded()
    }

    public var description: String { text }
}
