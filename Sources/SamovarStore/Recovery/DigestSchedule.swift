public import SamovarCore

/// When the store writes down what its state is, so that whoever follows the journal can compare.
///
/// The idea: the digest is a turn of its own and tells of the state as of the turn before it. So nobody has to agree on turns, and it may be
/// taken whenever it is cheap. To encode a state costs its size, and the machine has no clock: the host tells what the last one has cost.
///
/// | state | `saw` | `wrote` | `took` | `failed` |
/// |---|---|---|---|---|
/// | nothing is due | due after a pause, with a new turn | – | – | – |
/// | due | – | nothing is due | the next pause is a hundred times that | off |
/// | off | – | – | – | – |
///
/// Of an idle store one digest is written and no more: its own turn is nothing new. A state that is too dear to be encoded between two
/// inputs waits until none has come for a while.
struct DigestSchedule {
    struct Written: Equatable {
        /// Whose state it is.
        let turn: Int
        let time: Timestamp
    }

    private(set) var written: Written?
    /// The newest turn, and when it was first seen.
    private var newest = 0
    private var quietSince = Timestamp(microseconds: 0)
    /// Of the last one.
    private var cost: Duration = .zero
    /// None can be made any more in this start.
    private var isOff = false

    /// Whether there are turns of which no digest tells. The turn of a digest is the one after that of which it tells.
    func isBehind(_ head: Int) -> Bool { !isOff && head > (written.map { $0.turn + 1 } ?? 0) }

    /// When the next one shall be written; nil if nothing is due.
    ///
    /// - Parameter snapshotBytes: the size of the newest snapshot, which tells of the first digest what it may cost.
    func dueTime(head: Int, snapshotBytes: Int, _ settings: StoreSettings) -> Timestamp? {
        guard isBehind(head) else { return nil }
        let isDear = written == nil ? snapshotBytes > settings.snapshotInlineBytes : cost > settings.digestCost
        let pause = max(settings.digestInterval, cost * settings.digestCostFactor)
        let next = written.map { $0.time + pause } ?? Timestamp(microseconds: .min)
        return isDear ? max(next, quietSince + settings.digestInterval) : next
    }

    mutating func saw(_ head: Int, now: Timestamp) {
        guard head > newest else { return }
        (newest, quietSince) = (head, now)
    }

    /// - Parameter turn: the newest one that it tells of.
    mutating func wrote(_ turn: Int, now: Timestamp) { written = Written(turn: turn, time: now) }

    mutating func took(_ cost: Duration) { self.cost = max(.zero, cost) }

    mutating func failed() { isOff = true }
}

/// Digests of the state.
extension StoreMachine {
    /// When the next digest is due; nil if none is.
    var digestDue: Timestamp? {
        let (phase, isFollowed) = (phase, isFollowed)
        let due = digests.dueTime(head: head, snapshotBytes: snapshots.size, settings)
        return phase == .serving && isFollowed ? due : nil
    }

    /// Whether `writeDigest` shall be called now. The host times that call and tells the cost, because the machine has no clock.
    public func digestIsDue(now: Timestamp) -> Bool {
        guard turns.canTake, let due = digestDue else { return false }
        return due <= time(now)
    }

    /// Writes what the state is, as a turn of its own.
    public mutating func writeDigest(now: Timestamp) { writeDigest(at: time(now)) }

    /// - Parameter now: the store's own time.
    mutating func writeDigest(at now: Timestamp) {
        guard turns.quarantine.verdict(on: .state) == nil else { return digests.failed() }
        let turn = head
        do {
            try turns.writeDigest(now: now, &out)
            digests.wrote(turn, now: now)
        } catch {
            digests.failed()
            out.note(.error, "nobody who follows can compare, the state cannot be encoded: \(error)")
        }
    }

    public mutating func digestTook(_ cost: Duration) { digests.took(cost) }
}
