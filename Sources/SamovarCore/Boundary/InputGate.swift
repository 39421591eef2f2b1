/// A check that each input passes before `accept`: validation that is no concern of the program, a rate limit, a list of those
/// who may send.
///
/// ```swift
/// static var gates: [InputGate<Guestbook>] {
///     [
///         .rateLimit(20, per: .seconds(1)),
///         InputGate("length") { input, _, _ in
///             if case .sign(let name) = input, name.count > 100 { "a name has at most 100 characters" } else { nil }
///         },
///     ]
/// }
/// ```
///
/// Gates run in the store process, on its one thread, in the order of their list; the first one that gives a reason ends the
/// matter, and neither the gates after it nor `accept` see the input. They are asked about inputs only, never about answers of
/// workers, follow-ups and timers.
///
/// What a gate says is journalled as a rejection and takes a turn, so an input that is sent again gets the same answer, and a
/// replay does not ask. For this reason a gate, unlike the program, may have a state of its own, which begins anew when the
/// store does. What a gate must not do is wait: it holds up the store.
public struct InputGate<P: Program>: Sendable {
    /// Why an input is rejected, in a sentence for whoever sent it; nil lets it pass.
    ///
    /// The state is that before the input. The turn is the one that the input would be; its `origin` says whose it is.
    public typealias Check = (_ input: P.Input, _ state: P.State, _ turn: Turn) -> String?

    /// Stands before the reason in the rejection.
    public let name: String
    private let make: @Sendable () -> Check

    /// A gate without a state of its own.
    public init(_ name: String, _ check: @escaping @Sendable (P.Input, P.State, Turn) -> String?) {
        self.init(name, making: { check })
    }

    /// A gate with a state of its own.
    ///
    /// - Parameter make: called once by each store that starts; what it returns is called on one thread and may keep and change
    ///   what it captures.
    public init(_ name: String, making make: @escaping @Sendable () -> Check) {
        self.name = name
        self.make = make
    }

    /// The check of a store that starts, with the whole text of a rejection as its result.
    package func opened() -> Check {
        let check = make()
        return { [name] input, state, turn in
            check(input, state, turn).map { "\(name): \($0)".bounded() }
        }
    }
}
