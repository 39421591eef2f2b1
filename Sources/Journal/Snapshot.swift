/// What a store knew right after `turn`, encoded by the host: a cache that spares the replay of the turns up to it.
public struct Snapshot: Equatable, Sendable {
    /// The last turn that went into the snapshot; 0 stands for the initial state.
    public let turn: Int
    public let bytes: [UInt8]

    public init(turn: Int, bytes: [UInt8]) {
        self.turn = turn
        self.bytes = bytes
    }
}

extension Snapshot {
    /// Checks that this snapshot may be saved in a journal that ends at `last`. Every journal begins `save` with it.
    ///
    /// A snapshot ahead of the journal would survive a lost tail and hide it.
    public func requireCovered(by last: Int) throws(JournalError) {
        guard turn >= 0, turn <= last else {
            throw JournalError(
                .misuse, "A snapshot of turn \(turn.grouped) cannot be saved in a journal that ends at turn \(last.grouped).")
        }
    }
}
