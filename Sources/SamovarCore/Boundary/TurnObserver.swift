/// Hears of each turn: for metrics, logs, an audit. It cannot change what a turn gives.
///
/// ```swift
/// static var observers: [TurnObserver<Guestbook>] {
///     [
///         TurnObserver { message, state, turn in
///             if case .signed(let name) = message { "\(turn.number): \(name) is guest \(state.guests.count)" } else { nil }
///         } deliver: { line in
///             audit.write(line)
///         }
///     ]
/// }
/// ```
///
/// It has two halves, since nothing may tell of a turn that is not on disk yet:
///
/// 1. `observe` is called right after `update`, for each turn in order, follow-ups included, and for each observer in the order
///    of the list. It sees the message, the state after it, and the turn, and makes an event of them or nil.
/// 2. `deliver` gets the event when the turn is on disk: in the order of turns, and of the list within one turn.
///
/// Both run in the store process, on its one thread. Inputs that were refused or rejected apply nothing, so they are not seen,
/// and neither is the start of a program. A replay calls neither half. A store that is killed between a commit and its
/// deliveries does not deliver afterwards: each event is delivered at most once. For something that must not be lost, let
/// `update` order an effect.
///
/// `deliver` must not wait, as it holds up the store. Neither half shall keep the state: a copy of it makes the next turn copy
/// what it changes.
public struct TurnObserver<P: Program>: Sendable {
    /// Sees a turn; what it returns delivers the event.
    package let observe: @Sendable (_ message: P.Message, _ state: P.State, _ turn: Turn) -> (@Sendable () -> Void)?

    /// An observer of two halves.
    ///
    /// - Parameters:
    ///   - observe: makes an event of a turn, or nil to pass over it.
    ///   - deliver: gets the event when the turn is on disk.
    public init<Event: Sendable>(
        observe: @escaping @Sendable (_ message: P.Message, _ state: P.State, _ turn: Turn) -> Event?,
        deliver: @escaping @Sendable (Event) -> Void
    ) {
        self.observe = { message, state, turn in
            guard let event = observe(message, state, turn) else { return nil }
            return { deliver(event) }
        }
    }
}
