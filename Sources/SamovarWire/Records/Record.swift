import MessagePack
public import SamovarCore

/// One entry of the journal: a turn.
///
/// Only `applied` and `streamed` call `update`; the others keep what else the store must know after a restart. A replay consumes all of
/// them, in order, without a hole in the numbers.
public struct Record: Equatable, Sendable {
    public enum Event: Equatable, Sendable {
        /// The store started for the `number`th time; the first one calls `Program.start`.
        case started(number: Int, build: String, schema: Schema, seed: [UInt8])
        /// `update` took a message; `hash` is over the command that it returned. If it `closes`, the effect of its origin is done, or the
        /// client's session of its origin is over.
        case applied(message: [UInt8], hash: UInt64, closes: Bool)
        /// `update` took a message that a job sent before its end; its number is in the origin.
        case streamed(message: [UInt8], hash: UInt64, checkpoint: [UInt8]?)
        /// An input was turned away, by the program or because it could not be read.
        case refused(Outcome.Verdict)
        /// An attempt failed; the effect is tried again, not before the given time.
        case attemptFailed(EffectID, Failure.Reason, String, notBefore: Timestamp)
        /// An effect closed without a message.
        case done(EffectID)
        /// An effect failed for good, and the program made no message of it.
        case dead(EffectID, Failure)
        case requeued(EffectID)
        case dropped(EffectID)
        /// The item of the record's origin ended the store again and again, and is not taken; in words.
        case quarantined(String)
        case workerJoined(WorkerID)
        case workerLeft(WorkerID)
        case sessionExpired(SessionID)
        /// The store stopped in order; no job was left with a worker.
        case drained
        /// An operator accepted that this build orders something else at a turn than the journal says. What that turn
        /// ordered and is still open waits, dead, for an operator.
        case divergenceAccepted(turn: Int, hash: UInt64, build: String)
        /// An operator paused or resumed something, or set the rules of a queue.
        case controlled(Control)
        /// What the program's state was in the memory of the store that served, after the turn before: a digest, with which whoever replays the
        /// journal compares its own.
        case stateDigest(UInt64)
    }

    public var turn: Int
    public var time: Timestamp
    public var instance: Instance
    public var origin: Origin
    /// The key with which an input, a worker or an operator's request came; nil if none was needed.
    public var sender: Sender?
    /// The turn that began the chain of which this is a link.
    public var root: Int
    public var event: Event

    public init(
        turn: Int, time: Timestamp, instance: Instance = .main, origin: Origin = .store, sender: Sender? = nil, root: Int? = nil,
        event: Event
    ) {
        self.turn = turn
        self.time = time
        self.instance = instance
        self.origin = origin
        self.sender = sender
        self.root = root ?? turn
        self.event = event
    }
}

extension Record.Event {
    /// How the build of a start ends: in turns after it, up to the next start, a replay does as that build did.
    package static let mark = "; subscribes by label" + cancelsDead
    /// Its end alone, which is all of the mark of former builds: cancellations reach the dead. Before them there was none.
    package static let cancelsDead = "; cancels the dead"

    /// A build of a start as people know it.
    package static func name(ofBuild build: String) -> String {
        for mark in [mark, cancelsDead] where build.hasSuffix(mark) { return String(build.dropLast(mark.count)) }
        return build
    }
}

/// A record or a snapshot that could not be read, or that tells another story than the program does now.
public struct ReplayError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The turn at which reading stopped.
    public var turn: Int
    public var text: String
    /// The command that is not the recorded one, if that is the reason.
    public var divergence: Divergence?
    /// Whether only a newer build can read the record. That is no damage, where the digest says that the batch is what was written.
    package private(set) var isOfNewerBuild = false

    public init(turn: Int, _ text: String, _ divergence: Divergence? = nil) {
        self.turn = turn
        self.text = text.bounded()
        self.divergence = divergence
    }

    init(turn: Int, unknownKind kind: Int) {
        self.init(turn: turn, "the record is of kind \(kind), which only a newer build knows: run that one")
        isOfNewerBuild = true
    }

    public var description: String { "turn \(turn): \(text)" }
}
