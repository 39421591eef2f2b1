/// Something that is true of a program after each turn, with a name for people.
///
/// ```swift
/// static var invariants: [Invariant<Shop>] {
///     [Invariant("no negative stock") { state in state.stock >= 0 }]
/// }
/// ```
///
/// `bisect "no negative stock"` finds the turn that broke it, and a `TestStore` reports it at the call that did.
public struct Invariant<P: Program>: Sendable {
    /// What is true, in a few words; no two of one program have the same.
    public let name: String
    /// Whether it is, of a state.
    public let holds: @Sendable (P.State) -> Bool

    /// - Parameter holds: as pure as `update`, and as total.
    public init(_ name: String, holds: @escaping @Sendable (P.State) -> Bool) {
        self.name = name
        self.holds = holds
    }
}
