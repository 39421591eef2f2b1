/// Reads a journal from its beginning, a piece at a time, up to the end that it had when the check began: what a start from a
/// snapshot has not read.
public struct JournalCheck: Sendable {
    /// How many bytes of batches are a piece, unless a single one is larger.
    static let pieceSize = 512 << 10

    /// What a piece has come to.
    public enum Progress: Equatable, Sendable {
        /// There is more to read.
        case more
        /// Everything up to the end is sound.
        case end
        /// The journal is not reached, and nothing is known of the piece: it is to be read again, later.
        case away
    }

    /// The last turn to read.
    public let end: Int
    private var through: Int

    /// A check up to the present end.
    public init(of journal: some Journal) {
        end = journal.last
        through = journal.first - 1
    }

    /// Reads the next piece.
    ///
    /// - Throws: what is wrong with the batches that follow; they are not what was written, or cannot be read.
    public mutating func advance(in journal: some Journal) throws -> Progress {
        // What was trimmed meanwhile need not be read.
        through = max(through, journal.first - 1)
        guard through < end else { return .end }
        var size = 0
        do {
            try journal.read(from: through + 1) { batch in
                through = batch.last
                size += batch.bytes.count
                if size >= Self.pieceSize { throw Enough() }
            }
        } catch is Enough {
        } catch let error as JournalError where error.isAway {
            return .away
        } catch let error as JournalError where error.code == .missing && through < journal.first - 1 {
            // A trim whose answer was lost is found by who reads.
        }
        return through < end ? .more : .end
    }
}
