// swift-format-ignore-file
// The messages are read on one line.

// What a program lacks is said by name and with its signature. Without these the compiler infers the types of a program from the functions
// that are there, and when one is missing or misspelt, it asks for types that nobody has to declare.

/// Stands for a type that a program would have said by a function which it lacks. No value of it is ever made.
@_documentation(visibility: internal)
public struct Undeclared: Portable {}

extension Program {
    /// Missing in the program.
    @_documentation(visibility: internal)
    @available(*, unavailable, message: "write `static func start(_ seed: NoSeed, _ turn: Turn) -> Next<…>`: the first state of a new timeline")
    public static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { absent() }

    /// Missing in the program.
    @_documentation(visibility: internal)
    @available(*, unavailable, message: "write `static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message`, or make it an OpenProgram, whose inputs are its messages")
    public static func accept(_ input: Undeclared, _ state: State, _ turn: Turn) throws(Refusal) -> Message { absent() }

    /// Missing in the program.
    @_documentation(visibility: internal)
    @available(*, unavailable, message: "write `static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<…>`: what a message changes and orders")
    public static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> { absent() }

    /// Missing in the program.
    @_documentation(visibility: internal)
    @available(*, unavailable, message: "write `static func failed(_ effect: Effect, _ failure: Failure) -> Message?`: what the program hears of an effect that failed for good; nil leaves it to an operator")
    public static func failed(_ effect: Effect, _ failure: Failure) -> Message? { absent() }

    /// What is unavailable is never called.
    private static func absent() -> Never { preconditionFailure("a requirement of Program is missing") }
}

extension Program where ViewState == Undeclared {
    /// Missing in the program.
    @_documentation(visibility: internal)
    @available(*, unavailable, message: "write `static func view(_ state: State) -> …`: what outsiders see, or make it an OpenProgram, which shows its whole state")
    public static func view(_ state: State) -> ViewState { absent() }
}
