/// The number that the journal gives a start is one that was used.
///
/// Leases of jobs and signs of life are told apart by it, so a store never serves with one twice.
public struct StartNumberError: Error, Equatable, Sendable, CustomStringConvertible {
    public var number: Int
    /// The greatest one in the journal.
    public var newest: Int

    public init(number: Int, newest: Int) {
        self.number = number
        self.newest = newest
    }

    public var description: String { "this start would be number \(number), and number \(newest) is in the journal" }
}
