/// What crosses a process or reaches the disk: it can be encoded, compared and handed to another thread.
public typealias Portable = Codable & Equatable & Sendable

/// A program in the sense of The Elm Architecture, run by Samovar as processes.
///
/// All requirements are static and pure: no clock, no randomness, no file, no socket. What they need from outside comes as a
/// `Turn` or as a message, and what they want from outside leaves as an effect, which a worker process executes.
///
/// ```swift
/// enum Counter: OpenProgram {
///     struct State: Portable { var count = 0 }
///     enum Message: Portable { case increment, reset }
///
///     static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Counter> { .state(State()) }
///
///     static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Counter> {
///         switch message {
///         case .increment: state.count += 1
///         case .reset: state.count = 0
///         }
///         return .none
///     }
/// }
/// ```
///
/// Every function runs in the store process, on one thread, and again, with the same arguments, in every replay. A trap in
/// one of them ends the store process, so keep them total.
public protocol Program<State, Message, Effect>: Sendable {
    /// What a new timeline starts from; a data folder remembers it.
    associatedtype Seed: Portable = NoSeed
    /// Owned by the store; changed by `update` and nothing else.
    associatedtype State: Portable
    /// A fact that can change the state. The journal keeps every one.
    associatedtype Message: Portable
    /// An order for a worker, as data.
    associatedtype Effect: Portable = Never
    /// What outsiders may send.
    associatedtype Input: Portable
    /// Why `accept` turns an input away.
    associatedtype Refusal: Error & Portable = Never
    /// What other programs may hear of.
    associatedtype Output: Portable = Never
    /// What outsiders may see.
    associatedtype ViewState: Portable = Undeclared

    /// The name and version that peers and data folders must agree on. Default: the type's name, version 1.
    static var schema: Schema { get }

    /// The first state of a new timeline, and what to do first. Throw to refuse a seed: nothing is created then.
    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<Self>

    /// Makes a message of an input, or refuses it by throwing; the refusal is journalled, so a retry gets the same answer.
    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message

    /// Applies a message to the state and says what shall happen next. It cannot fail: refuse in `accept`.
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self>

    /// The outside events that a state wants to hear of; looked at after each group of turns. Default: none.
    static func subscriptions(_ state: State) -> [Subscription<Self>]

    /// What outsiders see of a state. Called at most once per publication, not once per turn; but after each turn while somebody reads every
    /// view, and in a `TestStore`.
    static func view(_ state: State) -> ViewState

    /// The message for an effect that failed for good, or nil to leave the effect dead, for an operator to look at.
    ///
    /// The message closes the effect, unless its `retry` is one that is ``Retry/keepingDead``.
    static func failed(_ effect: Effect, _ failure: Failure) -> Message?

    /// The message for what an operator did with effects and queues of this program, or nil to take no notice. Default: nil.
    static func operated(_ action: OperatorAction<Self>) -> Message?

    /// What is true of every state, as far as the author can say it. Default: nothing. A store looks at them only with
    /// `--check-invariants`; a `TestStore` and `bisect` always do.
    static var invariants: [Invariant<Self>] { get }
}

/// A program that hides nothing: inputs are messages, and the whole state is the view.
///
/// Only here have `accept` and `view` defaults, so that a misspelt `view` can never publish a whole state unnoticed.
public protocol OpenProgram<State, Message, Effect>: Program where Input == Message, ViewState == State {}

extension Program {
    /// The name of the type, version 1.
    public static var schema: Schema { Schema(name: String(describing: Self.self), version: 1) }

    /// Nothing.
    @inlinable
    public static func operated(_ action: OperatorAction<Self>) -> Message? { nil }

    /// None.
    public static var invariants: [Invariant<Self>] { [] }

    /// None.
    @inlinable
    public static func subscriptions(_ state: State) -> [Subscription<Self>] { [] }
}

extension Program where Effect == Never {
    /// Never called: there are no effects.
    @inlinable
    public static func failed(_ effect: Effect, _ failure: Failure) -> Message? {}
}

extension OpenProgram {
    /// The input itself.
    @inlinable
    public static func accept(_ input: Message, _ state: State, _ turn: Turn) throws(Refusal) -> Message { input }

    /// The state itself.
    @inlinable
    public static func view(_ state: State) -> State { state }
}

/// The seed of a program that needs none.
public struct NoSeed: Portable {
    /// The one seed of this type.
    @inlinable
    public init() {}
}

/// The name of a program and the version of its types, agreed by every peer in HELLO and kept with the journal.
public struct Schema: Hashable, Codable, Sendable, CustomStringConvertible {
    /// Of the program.
    public let name: String
    /// From 1; a new one where old records cannot be read.
    public let version: Int

    /// The schema of a program.
    public init(name: String, version: Int) {
        self.name = name
        self.version = version
    }

    /// Such as “Counter version 1”.
    public var description: String { "\(name) version \(version)" }
}

/// The first state of a timeline and the first command.
public struct Next<P: Program>: Equatable, Sendable {
    /// The state after turn 1.
    public let state: P.State
    /// What shall happen then.
    public let command: Command<P>

    /// Begins with this state, and orders this.
    ///
    /// ```swift
    /// return .state(State(), .run(.load, retry: .times(3)))
    /// ```
    public static func state(_ state: P.State, _ command: Command<P> = .none) -> Self {
        Self(state: state, command: command)
    }
}
