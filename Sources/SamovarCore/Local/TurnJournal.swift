/// Where a `LocalStore` writes its turns. A static parameter of the store, so one that does nothing costs nothing.
///
/// ```swift
/// struct Lines: TurnJournal {
///     var lines: [String] = []
///     mutating func append(_ message: Counter.Message, _ turn: Turn) { lines.append("\(turn.number) \(message)") }
/// }
/// ```
public protocol TurnJournal<Message> {
    associatedtype Message

    /// Takes a message that was applied. A group whose limits were passed is not told of.
    ///
    /// Turns are numbered from 1, the start of the program. Numbers that are missing here are refusals, and effects that were
    /// closed without a message.
    mutating func append(_ message: Message, _ turn: Turn)
}

/// Writes nothing down.
public struct NoJournal<Message>: TurnJournal {
    /// A journal that costs nothing.
    @inlinable
    public init() {}

    /// Does nothing.
    @inlinable
    public mutating func append(_ message: Message, _ turn: Turn) {}
}

/// Hands each message and its turn to a function.
public struct EachTurn<Message>: TurnJournal {
    @usableFromInline let write: (Message, Turn) -> Void

    /// A journal that calls this function for each turn, in order.
    @inlinable
    public init(_ write: @escaping (Message, Turn) -> Void) {
        self.write = write
    }

    /// Calls the function.
    @inlinable
    public mutating func append(_ message: Message, _ turn: Turn) {
        write(message, turn)
    }
}
