import Journal
import JournalChain
import SamovarCore
import SamovarHost
import Synchronization

/// A journal that another store has, as a standby sees it.
final class FollowedJournal: SharedJournal {
    /// What reading on finds.
    private let trouble: JournalError
    /// No store has begun its timeline.
    private let isNew: Bool
    /// So many readings find that what follows was trimmed.
    private let trims: Mutex<Int>
    /// Is read before the trouble.
    private let beginning: Batch?
    /// Its owner has more turns than there were when it was opened.
    private let lease: FollowedLease

    let identity: UniqueID
    let first = 1
    /// What there was when it was opened.
    let last: Int
    let epoch = 1
    let witnessed = 0
    let isWitnessed = true
    let hasSoundFacts = true

    init(
        trouble: JournalError = JournalError(.unavailable, "Nobody reads on."), last: Int = 0, isNew: Bool = false, trims: Int = 0,
        beginning: Batch? = nil
    ) {
        (self.trouble, self.last, self.isNew, self.beginning) = (trouble, last, isNew, beginning)
        self.trims = Mutex(trims)
        identity = UniqueID(high: 1, low: 2)
        lease = FollowedLease(JournalOwnership(of: identity, epoch: 1, head: 5))
    }

    var end: BatchChain { BatchChain() }
    func lease(address: String) -> any JournalLease { lease }

    func refresh() throws(JournalError) { throw trouble }

    func fact(_ name: String) throws(JournalError) -> [UInt8]? {
        name == "timeline" && !isNew ? [UInt8](repeating: 1, count: 16) : nil
    }

    func facts() throws(JournalError) -> [(name: String, value: [UInt8])] { [] }
    func chain(behind turn: Int?) throws(JournalError) -> BatchChain { BatchChain() }

    func examine(behind turn: Int?, _ body: (Batch) throws -> Void) throws -> JournalError? {
        try requireUntrimmed()
        return nil
    }

    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {
        try requireUntrimmed()
        if let beginning { try body(beginning) }
        if turn <= last { throw trouble }
    }

    private func requireUntrimmed() throws(JournalError) {
        let left = trims.withLock { trims in
            trims -= 1
            return trims
        }
        guard left < 0 else { throw JournalError(.missing, "What follows was trimmed.") }
    }

    func snapshots() throws(JournalError) -> [Int] { [] }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot { throw JournalError(.missing, "There is none.") }

    func close() throws(JournalError) {}

    // MARK: What only an owner does

    private static let foreign = JournalError(.fenced, "Another store has the journal.")

    func beginWriting(beyond number: Int) throws(JournalError) -> Int { throw Self.foreign }
    func append(_ batch: Batch) throws(JournalError) { throw Self.foreign }
    func save(_ snapshot: Snapshot) throws(JournalError) { throw Self.foreign }
    func record(_ value: [UInt8], as name: String) throws(JournalError) { throw Self.foreign }
    func trim(through turn: Int) throws(JournalError) -> Bool { throw Self.foreign }
}

/// Where such a journal is.
final class FollowedPlace: FencedJournalPlace {
    private let journal: (any SharedJournal)?
    private let trouble: JournalError
    private let archived = Mutex(0)

    var description: String { "followed" }

    private static let unused = JournalError(.misuse, "A standby has no use for that.")

    /// - Parameters:
    ///   - journal: nil if it cannot be opened.
    ///   - trouble: what keeps it from being replaced.
    init(_ journal: (any SharedJournal)?, trouble: JournalError = FollowedPlace.unused) {
        (self.journal, self.trouble) = (journal, trouble)
    }

    var archives: Int { archived.withLock(\.self) }
    var location: JournalLocation {
        get throws { try location(in: "/nowhere") }
    }

    func location(in folder: String) throws -> JournalLocation {
        try JournalLocation("followed:", dataFolder: folder, kinds: [JournalKind(schemes: ["followed"]) { _ in self }])
    }

    func open(_ access: JournalAccess) throws(JournalError) -> any SharedJournal {
        guard let journal else { throw JournalError(.unavailable, "The database is away.") }
        return journal
    }

    func create(for role: String?) throws(JournalError) -> Bool { throw Self.unused }
    func requireIdle() throws(JournalError) { throw Self.unused }

    func archive() throws(JournalError) -> String {
        archived.withLock { $0 += 1 }
        return "archive"
    }

    func draft(
        from source: any StoredJournal, as identity: DraftIdentity, behind turn: Int?
    ) throws(JournalError) -> any JournalDraft { throw trouble }
}

/// What the database of such a journal says of its owner, whether that is asked for the journal, and how often it was given up.
final class FollowedLease: JournalLease {
    private let owner: JournalOwnership
    private let asked = Mutex<[Bool]>([])
    private let released = Mutex(0)

    init(_ owner: JournalOwnership) {
        self.owner = owner
    }

    /// Wishes and their ends, in order.
    var wishes: [Bool] { asked.withLock { $0 } }

    var releases: Int { released.withLock(\.self) }

    let hasEnded = false

    func look() throws(JournalError) -> JournalOwnership { owner }
    func renew(for duration: Duration) throws(JournalError) -> JournalOwnership { owner }
    func want(from epoch: Int) throws(JournalError) { asked.withLock { $0.append(true) } }
    func withdraw() throws(JournalError) { asked.withLock { $0.append(false) } }
    func durability() throws(JournalError) -> Durability { .none }
    func release() throws(JournalError) { released.withLock { $0 += 1 } }
}
