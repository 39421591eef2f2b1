package import Journal
package import SamovarCore

/// A kind of journal that a program can keep in place of the one in its data folder, such as one in a database.
///
/// A program names the kinds that it wants, and links nothing of the others:
///
/// ```swift
/// static var journals: [JournalKind] { [.postgreSQL] }
/// ```
public struct JournalKind: Sendable {
    /// With which its addresses begin.
    package let schemes: [String]
    /// Reads an address; the error repeats nothing of it, as it may have a secret where none belongs.
    package let place: @Sendable (_ address: String) throws(JournalError) -> any FencedJournalPlace

    package init(
        schemes: [String], place: @escaping @Sendable (_ address: String) throws(JournalError) -> any FencedJournalPlace
    ) {
        self.schemes = schemes
        self.place = place
    }
}

/// A journal that several stores reach, and of which one at a time writes.
package protocol SharedJournal: FencedJournal, StoredJournal {
    // A reference does not change when what it refers to does.
    func beginWriting(beyond number: Int) throws(JournalError) -> Int
    func refresh() throws(JournalError)
    /// Where the journal ends, as far as this one knows.
    var end: BatchChain { get }
    /// A lease for the store that has opened this journal to write, and is at this address.
    func lease(address: String) -> any JournalLease
}

extension SharedJournal {
    package func beginWriting() throws(JournalError) { _ = try beginWriting(beyond: 0) }
}

/// Where a ``SharedJournal`` is.
package protocol FencedJournalPlace: CustomStringConvertible, Sendable {
    /// Whether this is the place that has described itself so, be it to somebody who comes there in another way.
    func isNamed(by description: String) -> Bool

    /// Makes an empty journal, by a role that may do so.
    ///
    /// - Parameter role: gets what a store needs, and no more; nil if the store uses the role that makes it.
    /// - Returns: false if there is a journal already, which stays as it is.
    func create(for role: String?) throws(JournalError) -> Bool

    /// Opens the journal. It is not changed before ``StoredJournal/beginWriting()``.
    func open(_ access: JournalAccess) throws(JournalError) -> any SharedJournal

    /// - Throws: ``JournalError/Code/busy`` if a store has the journal.
    func requireIdle() throws(JournalError)

    /// Begins a journal that takes this place when it is finished; the one that is there is archived then.
    func draft(
        from source: any StoredJournal, as identity: DraftIdentity, behind turn: Int?
    ) throws(JournalError) -> any JournalDraft

    /// Archives the journal and makes an empty one in its place.
    ///
    /// - Returns: where it is.
    func archive() throws(JournalError) -> String
}

extension FencedJournalPlace {
    package func isNamed(by description: String) -> Bool { description == self.description }
}

/// The session by which a store says that it lives, and sees who has the journal. It is no fence: the epoch is.
///
/// Used by one thread. Its calls block, for a few seconds at most.
package protocol JournalLease: AnyObject, Sendable {
    /// Who has the journal.
    func look() throws(JournalError) -> JournalOwnership
    /// Holds the lease for so long from here on, for a store that is about to take the journal or has it. Of one that has it, the answer
    /// says that the lock is free also while the session that renews does not hold it, whoever does.
    func renew(for duration: Duration) throws(JournalError) -> JournalOwnership
    /// Whether the session is over, and the next call begins another.
    var hasEnded: Bool { get }
    /// Asks the owner of an epoch for the journal.
    func want(from epoch: Int) throws(JournalError)
    /// Takes that back, unless somebody else has asked since.
    func withdraw() throws(JournalError)
    /// What the journal outlives by now: a place may have become another since it was opened.
    func durability() throws(JournalError) -> Durability
    /// Gives the journal up, if it is still this store's.
    func release() throws(JournalError)
}
