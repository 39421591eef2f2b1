import Journal
import JournalChain

/// The row of a partition: who may append, and where. One statement compares and changes it with each batch, so that nobody has to ask
/// first whether he still may.
struct FenceRow: Equatable, Sendable {
    var epoch: Int
    /// Drawn by the process that has the journal, with the epoch.
    var nonce: [UInt8]
    var end: BatchChain
}

/// An append of which it is unknown whether it has happened, and what the row says to that. It is read and not guessed.
///
/// | the row has | so |
/// |---|---|
/// | an earlier epoch | it forgot that we have taken the journal, and what was told to be durable since |
/// | another epoch or nonce | somebody else has the journal |
/// | our end | the append has not happened; an earlier server process that would still commit it holds the row, and was waited for |
/// | the end behind the append | it has happened |
/// | an earlier end | what was told to be durable is gone |
/// | anything else | somebody has written who does not know the rules |
enum Settlement: Equatable {
    case hasHappened
    case hasNotHappened
    case isFenced(epoch: Int)
    case isLost(last: Int)
    case isForeign(last: Int)

    /// - Parameters:
    ///   - known: the row as it was before the append.
    ///   - next: the end behind the append.
    init(of row: FenceRow, known: FenceRow, next: BatchChain) {
        guard row.epoch >= known.epoch else {
            self = .isLost(last: row.end.last)
            return
        }
        guard row.epoch == known.epoch, row.nonce == known.nonce else {
            self = .isFenced(epoch: row.epoch)
            return
        }
        self =
            switch row.end {
            case next: .hasHappened
            case known.end: .hasNotHappened
            case let end where end.last < known.end.last: .isLost(last: end.last)
            default: .isForeign(last: row.end.last)
            }
    }
}
