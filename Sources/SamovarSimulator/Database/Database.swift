import Journal
import SamovarCore
import SamovarStore

/// The server of a database that keeps the journal of several stores: one row says who may append and where, and each statement is one
/// step.
///
/// It is as unkind as a real one. Statements are not answered, before or after they have happened; some happen after their client was
/// told of a failure, or is dead. The server is away for a while. Another one takes its place, which has all that was confirmed, or not
/// even that. Its replica is away, and what is committed meanwhile is there, and not confirmed.
///
/// Times are those of its own clock, which is another one on each server.
final class Database {
    /// A place between two batches. The number stands for the content of all batches before it.
    struct End: JournalEnd {
        var last = 0
        var digest: UInt64 = 0

        var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: digest >> (8 * $0)) } }

        func behind(_ batch: Batch) throws(JournalError) -> End {
            try batch.requireFollowing(last)
            var hash = (digest ^ 0xcbf2_9ce4_8422_2325) &* 0x100_0000_01b3
            for byte in batch.bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return End(last: batch.last, digest: hash ^ UInt64(batch.last))
        }
    }

    typealias Row = Fence<End>

    /// What becomes of a statement.
    enum Fate: CaseIterable {
        case done
        case lostBefore
        case lostAfter
        /// It happens some time after its client has given it up.
        case late
    }

    /// It is unknown whether a statement has happened; or it is known that it has not.
    struct Unanswered: Error {}

    /// What a server keeps.
    struct Contents {
        var row = Row(epoch: 0, nonce: [], end: End())
        var batches: [(batch: Batch, epoch: Int)] = []
        var snapshots: [Snapshot] = []
        var facts: [String: [UInt8]] = [:]
        var trimmed = 0
        /// Which store has the journal; nil if it is nobody's.
        var owner: Int?
        var isWanted = false
        var until: [Int: Instant] = [:]
    }

    static let lease = 10 * seconds

    private(set) var contents = Contents()
    /// What a replica has, and so outlives this server.
    private var replicated = Contents()
    /// Batches that are there and not confirmed yet, as the replica is away.
    private var unconfirmed: [(batch: Batch, epoch: Int, store: Int)] = []
    /// Which stores hold the lock of their lease, and since when the others do not.
    private var locks: Set<Int> = []
    /// How often a store has taken its lock.
    private var lockNumbers: [Int: Int] = [:]
    private var freeSince: [Int: Instant] = [:]
    /// When a lock was taken, and since when it had been free.
    private var held: [Int: (since: Instant, freeBefore: Instant?)] = [:]
    /// A lock that is held for less than this time may be free whenever a standby looks.
    private static let unseen = 500 * milliseconds
    /// When nobody had the journal for the last time.
    private var lastVacant: Instant = 0
    /// What the clock of this server is ahead.
    private var skew: Instant = 0
    /// Counts sessions: one that began on another server is no more.
    private(set) var server = 0

    // Faults.
    var isAway = false
    var cutOff: Set<Int> = []
    var isReplicaAway = false
    /// Draws what becomes of a statement of a store.
    var fate: (_ store: Int) -> Fate = { _ in .done }

    private let now: () -> Instant
    /// Makes a late statement happen.
    private let later: (@escaping () -> Void) -> Void
    /// A batch is confirmed, by this store.
    var confirmed: (Batch, _ epoch: Int, _ store: Int) -> Void = { _, _, _ in }
    /// A store has taken the journal; whether that was somebody's.
    var taken: (_ store: Int, _ epoch: Int, _ wasVacant: Bool) -> Void = { _, _, _ in }

    init(now: @escaping () -> Instant = { 0 }, later: @escaping (@escaping () -> Void) -> Void = { $0() }) {
        self.now = now
        self.later = later
    }

    private var clock: Instant { now() + skew }

    func isReached(by store: Int) -> Bool { !isAway && !cutOff.contains(store) }

    // MARK: Statements

    /// What a statement that was answered has changed. A warning says that nothing is known of the replica.
    struct Answer {
        var changed: Int
        var isWarning = false
    }

    /// Has the server do something for a store.
    func run(by store: Int, _ statement: @escaping (Database) -> Int) throws(Unanswered) -> Answer {
        guard isReached(by: store) else { throw Unanswered() }
        switch fate(store) {
        case .done: break
        case .lostBefore: throw Unanswered()
        case .lostAfter:
            _ = commit(statement)
            throw Unanswered()
        case .late:
            let server = server
            later { [unowned self] in
                // A server process dies with its server.
                if server == self.server, !isAway { _ = commit(statement) }
            }
            throw Unanswered()
        }
        let isWarning = isReplicaAway
        return Answer(changed: commit(statement), isWarning: isWarning)
    }

    private func commit(_ statement: (Database) -> Int) -> Int {
        let changed = statement(self)
        if !isReplicaAway { replicate() }
        return changed
    }

    /// The replica has all that there is.
    func replicate() {
        replicated = contents
        let batches = unconfirmed
        unconfirmed = []
        for (batch, epoch, store) in batches { confirmed(batch, epoch, store) }
    }

    /// Appends a batch, and moves the end, if the row is as its writer knows it.
    func append(_ batch: Batch, from known: Row, to next: End, by store: Int) -> Int {
        guard contents.row == known else { return 0 }
        contents.row.end = next
        contents.batches.append((batch, contents.row.epoch))
        unconfirmed.append((batch, contents.row.epoch, store))
        return 1
    }

    /// Takes the journal as somebody has seen it.
    func take(_ known: Row, as claim: Row, by store: Int) -> Int {
        guard contents.row == known else { return 0 }
        let wasVacant = contents.owner == store || isVacant || now() - lastVacant <= 3 * seconds
        (contents.row.epoch, contents.row.nonce) = (claim.epoch, claim.nonce)
        contents.owner = store
        contents.isWanted = false
        contents.until[store] = clock + Self.lease
        lock(store)
        taken(store, contents.row.epoch, wasVacant)
        return 1
    }

    /// Whether the row is the one of this epoch: for what is written without moving the end.
    func isFence(_ known: Row) -> Bool { contents.row.epoch == known.epoch && contents.row.nonce == known.nonce }

    func change(_ known: Row, _ body: (inout Contents) -> Void) -> Int {
        guard isFence(known) else { return 0 }
        body(&contents)
        return 1
    }

    // MARK: Leases

    private var isVacant: Bool {
        guard let owner = contents.owner else { return true }
        return isExpired(owner) || freeSince[owner].map { now() - $0 >= seconds } ?? false
    }

    private func isExpired(_ store: Int) -> Bool { contents.until[store].map { $0 < clock } ?? true }

    private func lock(_ store: Int) {
        locks.insert(store)
        lockNumbers[store, default: 0] += 1
        held[store] = (now(), freeSince[store])
        freeSince[store] = nil
    }

    func lockNumber(_ store: Int) -> Int { lockNumbers[store] ?? 0 }

    /// What a look at the row shows a store.
    func ownership(_ store: Int, _ names: (Int) -> String) -> JournalOwnership {
        if isVacant { lastVacant = now() }
        let owner = contents.owner
        return JournalOwnership(
            epoch: contents.row.epoch, head: contents.row.end.last, digest: contents.row.end.bytes,
            isOwn: owner == store, isReleased: owner == nil, isLockFree: owner.map { !locks.contains($0) } ?? true,
            isExpired: owner.map(isExpired) ?? false, isWanted: contents.isWanted, owner: owner.map(names) ?? "")
    }

    /// Renews the lease of a store, whether it has the journal or not.
    func renew(_ store: Int) {
        if isVacant { lastVacant = now() }
        contents.until[store] = clock + Self.lease
        if !locks.contains(store) { lock(store) }
        if !isReplicaAway { replicated.until[store] = contents.until[store] }
    }

    func want() {
        contents.isWanted = contents.owner != nil
        if !isReplicaAway { replicated.isWanted = contents.isWanted }
    }

    /// The process that has the lock is gone, or its session is.
    ///
    /// - Parameter number: of the lock that was theirs; a later one stays.
    func unlock(_ store: Int, ifStill number: Int? = nil) {
        guard number == nil || number == lockNumber(store) else { return }
        guard locks.remove(store) != nil else { return }
        let unseen = held[store].flatMap { now() - $0.since < Self.unseen ? $0.freeBefore : nil }
        freeSince[store] = unseen ?? now()
    }

    // MARK: Servers

    /// Another server takes its place.
    ///
    /// - Parameter losing: how many of the batches it does not have that were confirmed.
    func failOver(losing count: Int, skew: Instant) {
        server += 1
        self.skew = skew
        contents = replicated
        // What was not confirmed was never told, and its writer finds out.
        unconfirmed = []
        for _ in 0..<min(count, contents.batches.count) { contents.batches.removeLast() }
        if count > 0 { contents.row.end = Self.end(of: contents.batches.map(\.batch)) }
        let last = contents.row.end.last
        contents.snapshots.removeAll { $0.turn > last }
        isReplicaAway = false
        for store in Array(locks) { unlock(store) }
        replicated = contents
    }

    /// Somebody brings back what a server has lost.
    func restore(_ former: Contents) {
        server += 1
        contents = former
        unconfirmed = []
        replicated = contents
    }

    private static func end(of batches: [Batch]) -> End {
        var end = End()
        // They follow each other: each was appended here.
        for batch in batches { end = (try? end.behind(batch)) ?? end }
        return end
    }

    var hasUnconfirmed: Bool { !unconfirmed.isEmpty }

    func dropSnapshots() {
        contents.snapshots = []
        replicated.snapshots = []
    }

    /// The end behind the batches up to this turn, none of which was trimmed.
    func end(through turn: Int) -> End { Self.end(of: contents.batches.map(\.batch).filter { $0.last <= turn }) }

    /// The epochs under which the batches were written, in their order.
    var epochs: [Int] { contents.batches.map(\.epoch) }
}
