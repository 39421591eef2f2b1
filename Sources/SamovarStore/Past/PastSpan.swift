/// Of which turns a journal can still tell the state, and from where it is computed.
public struct PastSpan: Equatable, Sendable {
    /// The turns whose states are known.
    public let known: ClosedRange<Int>
    /// The turns of snapshots among them, oldest first: from each, later states can be computed.
    public let snapshots: [Int]

    /// - Parameters:
    ///   - first: the first turn whose record is kept: 1, unless the journal was trimmed.
    ///   - last: the newest turn.
    ///   - snapshots: their turns, in any order.
    /// - Returns: nil if no state is known: there is no turn, or a trimmed journal has no snapshot that leads into it.
    public init?(first: Int, last: Int, snapshots: [Int]) {
        let usable = snapshots.filter { $0 > 0 && $0 <= last && $0 + 1 >= first }.sorted()
        // The record of turn 1 is that of `start`.
        guard let begin = first <= 1 ? 1 : usable.first, begin <= last else { return nil }
        known = begin...last
        self.snapshots = usable
    }

    /// Whether a state that was computed up to `turn` is the nearest beginning for a later one; if not, a snapshot is nearer, or the turn is over.
    public func goesOn(from turn: Int, to target: Int) -> Bool {
        guard turn > 0, turn <= target else { return false }
        return !snapshots.contains { $0 > turn && $0 <= target }
    }

    /// Pieces of the past up to `turn`, newest first, each from a state that is cheap to have: the turns after `from` up to `through`.
    public func pieces(through turn: Int) -> [(from: Int, through: Int)] {
        let begins = Set([known.lowerBound] + snapshots).filter { $0 < turn }.sorted()
        return zip(begins, begins.dropFirst() + [turn]).reversed().map { ($0, $1) }
    }
}
