/// The end of a journal, by which it can be told from another one with as many turns.
package protocol JournalEnd: Equatable, Sendable {
    /// The number of the last turn.
    var last: Int { get }

    /// The end behind the batch that follows here.
    ///
    /// - Throws: ``JournalError/Code/misuse`` if another one would.
    func behind(_ batch: Batch) throws(JournalError) -> Self
}

/// Who may append to a journal, and where. One step compares and changes it with each batch, so that nobody has to ask first whether he
/// still may.
package struct Fence<End: JournalEnd>: Equatable, Sendable {
    package var epoch: Int
    /// Drawn by the process that has the journal, with the epoch.
    package var nonce: [UInt8]
    package var end: End

    package init(epoch: Int, nonce: [UInt8], end: End) {
        self.epoch = epoch
        self.nonce = nonce
        self.end = end
    }
}

/// Why a process may not write, by what the row says.
package enum FenceProblem: Equatable, Sendable {
    case isNotTaken
    case hasChanged(epoch: Int, last: Int)
    case isUnsettled(Batch)
    case isFenced(epoch: Int)
    case hasLostEpoch(Int, taken: Int)
    case hasLostEnd(last: Int)
    case isForeign(last: Int)
}
