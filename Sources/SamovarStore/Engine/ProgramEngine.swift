public import SamovarCore
public import SamovarWire

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
    func start(seed: [UInt8], now: Timestamp, log: inout TurnLog) throws

    /// Applies what comes from outside, and its follow-ups. It is the only way in to `update`, but for replays.
    ///
    /// - Throws: `GroupLimit`; the engine is then beyond repair.
    func apply(_ input: borrowing EngineInput, now: Timestamp, log: inout TurnLog) throws(GroupLimit) -> EngineResult

    /// Logs what the state wants to hear of, changed or not: a start is the moment for a new build to say so.
    func resubscribe(now: Timestamp, log: inout TurnLog)

    /// What `replay` puts up with. Set it before.
    var terms: ReplayTerms { get set }
    /// Of how many messages a replay has compared the commands.
    var replayed: ReplayCounts { get }

    /// Applies a record of the journal again and compares what follows from it.
    ///
    /// - Throws: `ReplayError` if the message cannot be read or the command is another than it was, with that command.
    func replay(_ record: Record, log: inout TurnLog) throws(ReplayError)

    /// Whether inputs are messages, so that the journal has the input of which `accept` made a message.
    var inputsAreMessages: Bool { get }
    /// Goes on behind a turn of any number, once the program has started: it is the ``head`` then.
    func skip(to turn: Int)
    /// Applies what never was so, with its follow-ups, and holds nothing against the journal.
    ///
    /// - Parameter followUp: the number and the message of a follow-up, by the message and the turn that ordered it.
    /// - Returns: what `accept` makes of an input; gates are not asked.
    /// - Throws: `ReplayError` for a message that cannot be read; `GroupLimit`. The engine is then beyond repair.
    func suppose(
        _ turn: SupposedTurn, log: inout TurnLog,
        followUp: (_ message: [UInt8], _ cause: Int) -> (number: Int, message: [UInt8])
    ) throws -> SupposedEnd

    /// - Throws: `ReplayError` if what was replayed ordered follow-ups that have not come.
    func requireEndOfGroup() throws(ReplayError)

    /// The current view, in MessagePack.
    func view() throws -> [UInt8]
    /// The current state, in MessagePack.
    func state() throws -> [UInt8]
    /// The same with −0.0 as 0.0 and every NaN as one NaN, of which digests are taken and states compared: so a state is what it is whether it
    /// began with a snapshot of a build that wrote floats in this way, or with a replay.
    func comparableState() throws -> [UInt8]
    /// A value in MessagePack as such a build wrote it.
    func asFormerly(_ bytes: [UInt8], _ kind: RecordedValue) -> [UInt8]
    /// Sets state and head from a snapshot that a version of the program wrote.
    ///
    /// - Throws: `MigrationError` for a version that this one cannot read; what reading throws.
    func restore(state: [UInt8], head: Int, writtenBy version: Int) throws

    /// The oldest version of the program whose journal can be read.
    var oldestReadableVersion: Int { get }

    /// An effect that a version of the program ordered, as this one encodes it.
    func migrated(effect: [UInt8], from version: Int) throws(MigrationError) -> [UInt8]

    /// The names of the program's invariants, in its order.
    var invariants: [String] { get }
    /// Whether the current state keeps the invariant at a place among ``invariants``; before the program has started, it does.
    func keeps(invariant index: Int) -> Bool
}

/// What a journal or a snapshot has of a program's types, beside the state.
public enum RecordedValue: Sendable {
    case message, effect, output
}

/// A seed that the program cannot read or refuses, or a start whose number is used.
public struct SeedError: Error, Equatable, Sendable, CustomStringConvertible {
    public let text: String
    public var description: String { text }

    init(text: String) {
        self.text = text.bounded()
    }
}
