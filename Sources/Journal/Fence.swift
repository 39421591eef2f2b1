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

/// An append of which it is unknown whether it has happened, and what the fence says to that. It is read and not guessed.
///
/// | the fence has | so |
/// |---|---|
/// | an earlier epoch | it forgot that we have taken the journal, and what was told to be durable since |
/// | another epoch or nonce | somebody else has the journal |
/// | our end | the append has not happened; an earlier server process that would still commit it holds the row, and was waited for |
/// | the end behind the append | it has happened |
/// | an earlier end | what was told to be durable is gone |
/// | anything else | somebody has written who does not know the rules |
package enum Settlement: Equatable {
    case hasHappened
    case hasNotHappened
    case isFenced(epoch: Int)
    case isLost(last: Int)
    case isForeign(last: Int)

    /// - Parameters:
    ///   - known: the fence as it was before the append.
    ///   - next: the end behind the append.
    package init<End>(of found: Fence<End>, known: Fence<End>, next: End) {
        guard found.epoch >= known.epoch else {
            self = .isLost(last: found.end.last)
            return
        }
        guard found.epoch == known.epoch, found.nonce == known.nonce else {
            self = .isFenced(epoch: found.epoch)
            return
        }
        self =
            switch found.end {
            case next: .hasHappened
            case known.end: .hasNotHappened
            case let end where end.last < known.end.last: .isLost(last: end.last)
            default: .isForeign(last: found.end.last)
            }
    }
}
