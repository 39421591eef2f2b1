public import SamovarCore

/// What an owner of a journal shall do about its lease.
public enum LeaseAction: Equatable, Sendable {
    /// Renew the lease; `renewed` or `failed` follows.
    case renew
    /// Somebody wants the journal: drain, release it, end.
    case handOver
    /// Another store has it: end at once, and write nothing any more.
    case fenced(String)
    /// The database has lost turns that this store has told of: end at once.
    case lostTail(String)
}

/// The lease of the store that has a journal.
///
/// The idea: the lease does not keep others from writing, the epoch in each append does. It tells a standby that somebody is there, and
/// tells the owner when it may not be: without a renewal for some time it is in doubt and says nothing more to anybody, for another store
/// may speak by now. What counts is when the renewal that succeeded was *sent*: its answer may have been on its way for seconds, in
/// which the lease ran. Rejected: a lease that forbids writing (a process that is stopped between the look at its clock and the write
/// knows nothing of the time between), and a doubt that begins when a renewal fails (one lost packet would silence the store).
///
/// | state | `ticked` | `renewed` | `failed` | `hurry` |
/// |---|---|---|---|---|
/// | resting | renewing, once it is time: `.renew` | – | – | it is time |
/// | renewing | – | resting, for a shorter time without the lock; `.handOver` if it is wanted, once | resting, for a shorter time | – |
/// | | | ended, if the journal is another's, or turns are gone | | |
/// | ended | – | – | – | – |
///
/// Limits: one renewal at a time; one that is never answered leads to doubt, as one that failed.
public struct LeaseMachine: ~Copyable {
    enum State: Equatable {
        case resting(until: Timestamp)
        /// - Parameter durable: the newest turn on disk when it was sent.
        case renewing(sent: Timestamp, durable: Int)
        case ended
    }

    private let settings: LeaseSettings
    private let epoch: Int
    private(set) var state: State
    /// When the renewal was sent that has succeeded last.
    private var renewed: Timestamp
    private var isHandingOver = false

    /// - Parameters:
    ///   - epoch: with which this store has taken the journal.
    ///   - now: no later than when that was asked for.
    public init(_ settings: LeaseSettings = LeaseSettings(), epoch: Int, now: Timestamp) {
        self.settings = settings
        self.epoch = epoch
        renewed = now
        state = .resting(until: now)
    }

    /// Whether another store may have the journal by now, without this one having heard of it.
    public func isInDoubt(now: Timestamp) -> Bool { state == .ended || now >= doubt }

    private var doubt: Timestamp { renewed + settings.doubtAfter }

    /// When to call `ticked`, and to ask for doubt, again; nil if nothing comes but an answer.
    public func deadline(now: Timestamp) -> Timestamp? {
        let change = isInDoubt(now: now) ? nil : doubt
        guard case .resting(let end) = state else { return change }
        return change.map { min($0, end) } ?? end
    }

    /// - Parameter durable: the newest turn that the journal has confirmed.
    public mutating func ticked(durable: Int, now: Timestamp) -> LeaseAction? {
        guard case .resting(let end) = state, now >= end else { return nil }
        state = .renewing(sent: now, durable: durable)
        return .renew
    }

    /// The lease was renewed, unless the journal is another's.
    ///
    /// - Parameter found: its lock is free if it is not held by the session that has renewed. Then a former one has it that the server has
    ///   not seen end, or nobody, and a standby would take this store for gone.
    package mutating func renewed(_ found: JournalOwnership, now: Timestamp) -> LeaseAction? {
        guard case .renewing(let sent, let durable) = state else { return nil }
        guard found.epoch == epoch, found.isOwn else {
            state = .ended
            guard found.epoch >= epoch else {
                return .lostTail("its epoch is \(found.epoch), and this store has taken it with \(epoch)")
            }
            return .fenced("\(found.ownerName) has the journal; this one had it with epoch \(epoch)")
        }
        guard found.head >= durable else {
            state = .ended
            return .lostTail("it ends at turn \(found.head), and had confirmed turn \(durable)")
        }
        renewed = sent
        state = .resting(until: found.isLockFree ? now + settings.retryAfter : max(now, sent + settings.renewEvery))
        guard found.isWanted, !isHandingOver else { return nil }
        isHandingOver = true
        return .handOver
    }

    /// There is a reason to renew at once: the session of the lease has ended, and with it the lock that shows that this store lives; or a
    /// peer knows of turns that this store does not.
    public mutating func hurry(now: Timestamp) {
        guard case .resting(let end) = state else { return }
        state = .resting(until: min(end, now))
    }

    /// The renewal has failed, or it is unknown whether it has happened.
    public mutating func failed(now: Timestamp) {
        guard case .renewing = state else { return }
        state = .resting(until: now + settings.retryAfter)
    }
}
