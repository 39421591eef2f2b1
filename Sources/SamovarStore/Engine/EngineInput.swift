public import SamovarCore
public import SamovarWire

/// What is applied to a program: one group of turns begins with it. It cannot be copied, so its bytes are not counted on their way.
public enum EngineInput: ~Copyable {
    /// An input of a client, of which `accept` makes a message, or refuses it. A refusal takes a turn, too, and ends no session.
    case input([UInt8], Origin, Sender? = nil, endsSession: Bool = false)
    /// A message of a job or a subscription.
    case message(EngineMessage)
    /// All messages of a job as one group, the last of which closes the effect.
    case answer(MessageList, EffectID, Lease, root: Int)
    /// An effect that failed for good, of which `failed` may make a message: the end of the effect, unless it stays dead.
    case failure(Failure, EffectID, payload: [UInt8], root: Int, staysDead: Bool)
    /// What an operator did, of which `operated` may make a message.
    case operated(OperatorNotice, Sender? = nil)
}

/// What an operator did, with the program's types encoded.
public enum OperatorNotice: Equatable, Sendable {
    case requeued(EffectID, payload: [UInt8])
    case dropped(EffectID, payload: [UInt8])
    case controlled(Control)
}

/// A message from outside, and what it is for the effect of its origin.
public struct EngineMessage: ~Copyable {
    @usableFromInline let bytes: ArraySlice<UInt8>
    @usableFromInline let origin: Origin
    @usableFromInline let role: MessageRole
    /// Where the effect goes on, of a streamed message.
    @usableFromInline let checkpoint: [UInt8]?
    /// The turn that began the chain of the effect; 0 if the message begins one.
    @usableFromInline let root: Int
}

/// What came of an ``EngineInput``.
public enum EngineResult: Equatable, Sendable {
    case applied
    /// The input was refused or rejected, in a turn of its own unless the program has not started.
    case refused(Outcome.Verdict)
    /// Nothing was applied, because a message is not one of this program: why.
    case unreadable(String)
    /// Nothing was applied, because the program makes no message of this failure.
    case unhandled
    /// The engine was not asked: the input is given up, for what the store knows of it.
    case givenUp(String)
}
