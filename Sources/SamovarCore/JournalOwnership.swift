/// Who has a journal that several stores reach, as one look at its database has shown it.
package struct JournalOwnership: Equatable, Sendable {
    /// Of the journal: another one may be put in its place. Zero where there is never another.
    package var identity: UniqueID
    /// Of the store that has taken it last.
    package var epoch: Int
    /// The number of its newest turn.
    package var head: Int
    /// Over all turns up to there, by which it can be told from another one that is as long. Empty if it is not known.
    package var digest: [UInt8]
    /// It is the store that looks. The epoch alone does not say so: a database that has lost that it was taken gives the same number again.
    package var isOwn: Bool
    /// Nobody has it: it is new, or its owner has given it up.
    package var isReleased: Bool
    /// The lock that its owner holds as long as it is connected was free: its process has ended, or has lost its connection.
    package var isLockFree: Bool
    /// The lease of its owner was over, by the clock of the database.
    package var isExpired: Bool
    /// Somebody asks its owner for it.
    package var isWanted: Bool
    /// Where its owner is, for people. Empty if it is not known, or nobody is.
    package var owner: String

    package init(
        of identity: UniqueID = .zero, epoch: Int, head: Int, digest: [UInt8] = [], isOwn: Bool = false, isReleased: Bool = false,
        isLockFree: Bool = false, isExpired: Bool = false, isWanted: Bool = false, owner: String = ""
    ) {
        self.identity = identity
        self.epoch = epoch
        self.head = head
        self.digest = digest
        self.isOwn = isOwn
        self.isReleased = isReleased
        self.isLockFree = isLockFree
        self.isExpired = isExpired
        self.isWanted = isWanted
        self.owner = owner
    }

    /// Its owner, as a sentence names it.
    package var ownerName: String { owner.isEmpty ? "another store (epoch \(epoch))" : "the store at \(owner) (epoch \(epoch))" }
}
