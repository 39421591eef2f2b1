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
    /// - Throws: ``JournalError/Code/fenced`` if somebody has written or taken it since it was opened; ``JournalError/Code/unavailable``.
    mutating func beginWriting() throws(JournalError)
}
