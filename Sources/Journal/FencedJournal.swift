/// A journal that several processes can reach, and of which one at a time may write: the one that has taken it last.
///
/// It needs no promise of the others. Each append compares the epoch of its writer with that of the journal, in the same step that makes it
/// durable. Every implementation passes `FencedJournalContract` of `SamovarTesting` beside `JournalContract`.
public protocol FencedJournal: Journal {
    /// Of the process that has taken the journal last, as far as this one knows. It never falls.
    var epoch: Int { get }

    /// Takes the journal, unless that was done: from here on, every write of the process that had it before throws
    /// ``JournalError/Code/fenced`` and changes nothing. The first write does the same.
    ///
    /// - Parameter number: the epoch rises beyond it, as it rises beyond the one before.
    /// - Returns: the epoch.
    /// - Throws: ``JournalError/Code/busy`` if somebody has written or taken it since it was opened or refreshed, in which case nothing has
    ///   happened; ``JournalError/Code/unavailable``.
    mutating func beginWriting(beyond number: Int) throws(JournalError) -> Int

    /// Reads what others have written since the journal was opened. Not once it was taken, for then nobody else writes.
    ///
    /// - Throws: ``JournalError/Code/damaged`` if what was there is not there any more; ``JournalError/Code/missing`` if what followed was
    ///   trimmed; ``JournalError/Code/unavailable``.
    mutating func refresh() throws(JournalError)
}
