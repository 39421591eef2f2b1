/// The unit of durability: the records of the turns `first...last`, packed into `bytes`.
///
/// A journal does not look into the bytes. Batches follow each other without a hole: each begins at the turn after the
/// last turn of the one before.
public struct Batch: Equatable, Sendable {
    /// The first turn of the batch; the first batch of a journal begins at turn 1.
    public let first: Int
    /// The last turn of the batch, itself included.
    public let last: Int
    public let bytes: [UInt8]

    public init(first: Int, last: Int, bytes: [UInt8]) {
        self.first = first
        self.last = last
        self.bytes = bytes
    }
}

extension Batch {
    /// Checks that this batch may be appended to a journal that ends at `turn`. Every journal begins `append` with it.
    public func requireFollowing(_ turn: Int) throws(JournalError) {
        guard first >= 1, last >= first else {
            throw JournalError(.misuse, "A batch cannot hold the turns \(first) to \(last).")
        }
        guard first - 1 == turn else {
            throw JournalError(.misuse, "A batch of \(turns) cannot follow turn \(turn.grouped).")
        }
    }

    /// `turn 7`, or `turns 1,000 to 1,999`.
    package var turns: String {
        first == last ? "turn \(first.grouped)" : "turns \(first.grouped) to \(last.grouped)"
    }
}

extension Int {
    /// `1,234,567`: turns are read by people, in every locale alike.
    package var grouped: String {
        let digits = String(magnitude)
        var text = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }
}
