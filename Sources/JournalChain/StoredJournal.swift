package import Journal
package import SamovarCore

/// A journal whose batches are stored in a chain: what a store and the commands on journals need of it beside ``Journal``.
///
/// It may be used from any thread; calls from several at once are taken one after the other.
package protocol StoredJournal: AnyObject, Journal, Sendable {
    /// Of the journal: another than its timeline's, and the same for all copies of it.
    var identity: UniqueID { get }
    /// What a person should know about the journal as it was found, in sentences.
    var warnings: [String] { get }

    /// What is wrong with a journal that is open for examination, by what can be told without reading it all.
    var findings: [JournalError] { get }
    /// The last turn that anything beside the batches told of when the journal was opened: later than ``last`` if its end is lost.
    var witnessed: Int { get }
    /// Whether something beside the batches named their end when the journal was opened, so that nothing after it is lost.
    var isWitnessed: Bool { get }
    /// Whether timeline, secret and the other facts are what was written.
    var hasSoundFacts: Bool { get }

    /// From here on the journal is written; nothing happens if it is already.
    func beginWriting() throws(JournalError)

    /// Writes the end of the journal into memory, too, from now on: a witness that outlives the process.
    ///
    /// - Parameter page: of at least ``MarkedEnd/offset`` + ``MarkedEnd/byteCount`` bytes; nil before it is gone.
    func mark(in page: UnsafeMutableRawPointer?)

    /// Every fact that was recorded, by name; not what the journal keeps for itself.
    func facts() throws(JournalError) -> [(name: String, value: [UInt8])]

    /// The place behind the last batch that ends with this turn or before; nil for where the batches begin that are kept.
    func chain(behind turn: Int?) throws(JournalError) -> BatchChain

    /// Takes note of what others have written since the journal was opened; nothing happens where nobody else can.
    func refresh() throws(JournalError)

    /// Hands over, in order, every batch up to the first that is damaged.
    ///
    /// - Parameter turn: begins at the batch after the last one that ends with this turn or before; nil begins at the beginning.
    /// - Returns: what is wrong with the next one, in which case nothing after it can be believed; nil at a sound end.
    /// - Throws: what `body` throws; an error that is no damage.
    func examine(behind turn: Int?, _ body: (Batch) throws -> Void) throws -> JournalError?

    // A reference does not change when what it refers to does.
    func append(_ batch: Batch) throws(JournalError)
    func save(_ snapshot: Snapshot) throws(JournalError)
    func record(_ value: [UInt8], as name: String) throws(JournalError)
    func close() throws(JournalError)
}

/// Of a journal of which there is nothing to say, and which nobody marks.
extension StoredJournal {
    package var warnings: [String] { [] }
    package var findings: [JournalError] { [] }
    package func mark(in page: UnsafeMutableRawPointer?) {}
    package func refresh() throws(JournalError) {}
}

/// A copy of a journal that is under way: no journal before ``finish()``, and nothing is left of it after ``discard()``.
package protocol JournalDraft: AnyObject {
    /// The last turn that was put in.
    var last: Int { get }
    func record(_ value: [UInt8], as name: String) throws(JournalError)
    func append(_ batches: [Batch]) throws(JournalError)
    func save(_ snapshot: Snapshot) throws(JournalError)
    /// Makes it durable and whole.
    func finish() throws(JournalError)
    /// Puts it in its place once it is finished, unless that is its owner's business.
    ///
    /// - Returns: where the journal is that was there; nil if there was none.
    func install() throws(JournalError) -> String?
    func discard() throws(JournalError)
}

/// Whose journal a copy is.
package enum DraftIdentity: Sendable {
    /// Another copy of the same journal.
    case same
    /// A journal of its own, which begins with the turns of the other.
    case new
}
